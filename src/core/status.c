#include "core/status.h"

static const char *const words[] = {
#define ZR_STATUS(name, word, text) word,
#include "core/status.def"
#undef ZR_STATUS
};

static const char *const texts[] = {
#define ZR_STATUS(name, word, text) text,
#include "core/status.def"
#undef ZR_STATUS
};

const char *zr_status_word(enum zr_status status)
{
    return words[status];
}

const char *zr_status_text(enum zr_status status)
{
    return texts[status];
}
