#ifndef ZR_STATUS_H
#define ZR_STATUS_H

/* status.h: how a call can end. One list (status.def) makes the enum, the words and the texts. */

enum zr_status {
#define ZR_STATUS(name, word, text) ZR_##name,
#include "core/status.def"
#undef ZR_STATUS
    ZR_STATUS_COUNT
};

/* The stable word for it ("timeout"); static storage. */
const char *zr_status_word(enum zr_status status);

/* A clause for people ("the time limit passed"); static storage. */
const char *zr_status_text(enum zr_status status);

#endif
