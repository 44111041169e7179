#include "core/stem.h"

#include <string.h>

#include "core/names.h"

/* ---- Reading ------------------------------------------------------------------------------- */

/* The stem whose text ends these bytes; null: none. */
static const struct zr_stem *ending(const struct zr_recipe *const *recipes, const char *name,
                                    size_t length)
{
    for (; *recipes != NULL; recipes++)
        for (const struct zr_stem *const *stem = (*recipes)->stems; stem != NULL && *stem != NULL;
             stem++) {
            size_t text = strlen((*stem)->text);
            if (text <= length && memcmp(name + length - text, (*stem)->text, text) == 0)
                return *stem;
        }
    return NULL;
}

/* The stem that the name ends with, and its number; null: none. */
static const struct zr_stem *find(const struct zr_recipe *const *recipes, const char *name,
                                  int64_t *sequence)
{
    size_t length = strlen(name);
    *sequence = length > ZR_SEQUENCE_DIGITS ? zr_digits(name + length - ZR_SEQUENCE_DIGITS) : -1;
    return *sequence >= 0 ? ending(recipes, name, length - ZR_SEQUENCE_DIGITS) : NULL;
}

/* How many bytes stand before the stem's text. */
static size_t head_of(const char *name, const struct zr_stem *stem)
{
    return strlen(name) - ZR_SEQUENCE_DIGITS - strlen(stem->text);
}

static int read_note(const char *name, const struct zr_stem *stem, int64_t *note)
{
    *note = 0;
    return stem->read_note != NULL ? stem->read_note(name, head_of(name, stem), note) : 0;
}

bool zr_stem_read(const struct zr_recipe *const *recipes, const char *name,
                  struct zr_seat_name *read)
{
    read->name = name;
    read->stem = find(recipes, name, &read->sequence);
    return read->stem != NULL && read_note(name, read->stem, &read->note) >= 0;
}

int64_t zr_stem_word(const struct zr_recipe *const *recipes, const struct zr_request *answer)
{
    int64_t sequence;
    const struct zr_stem *stem = find(recipes, answer->path, &sequence);
    return stem != NULL && stem->read_word != NULL ? stem->read_word(answer) : 0;
}

/* ---- Usual names --------------------------------------------------------------------------- */

static size_t span(const char **at, const char *characters)
{
    size_t length = strspn(*at, characters);
    *at += length;
    return length;
}

static bool dash(const char **at)
{
    bool found = **at == '-';
    *at += found;
    return found;
}

#define NUMERALS "0123456789"
#define HEXADECIMAL NUMERALS "abcdef"

/* Behind "<16 hexadecimal digits>-<number>-"; null: the name does not begin so. */
static const char *behind_our_tag(const char *at)
{
    if (span(&at, HEXADECIMAL) != 16 || !dash(&at) || span(&at, NUMERALS) == 0 || !dash(&at))
        return NULL;
    return at;
}

/* "_c_<UUID>-". Some clients write the UUID without dashes. */
static bool is_curators_tag(const char *at, const char *end)
{
    if (strncmp(at, "_c_", 3) != 0)
        return false;
    at += 3;
    size_t length = span(&at, HEXADECIMAL "-");
    return at == end && length >= 33 && length <= 37 && end[-1] == '-';
}

size_t zr_tag_length(const char *name)
{
    const char *end = behind_our_tag(name);
    return end != NULL ? (size_t)(end - name) : 0;
}

bool zr_is_usual(const struct zr_recipe *const *recipes, const char *name)
{
    int64_t ignored;
    const struct zr_stem *stem = find(recipes, name, &ignored);
    int note = stem != NULL ? read_note(name, stem, &ignored) : -1;
    if (note < 0)
        return false;
    const char *end = name + head_of(name, stem), *own = behind_our_tag(name);
    return end == name || own == end || own == end - note || is_curators_tag(name, end);
}

bool zr_is_foreign(const struct zr_recipe *const *recipes, const char *name)
{
    for (; *recipes != NULL; recipes++)
        for (const struct zr_stem *const *stem = (*recipes)->stems; stem != NULL && *stem != NULL;
             stem++)
            if ((*stem)->is_foreign != NULL && (*stem)->is_foreign(name))
                return true;
    return false;
}
