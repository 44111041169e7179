#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/alloc.h"
#include "core/names.h"
#include "recipes/election/rank.h"
#include "recipes/meaning.h"

/*
 * What the directory's data say, as text. (A seat's data: value.h.)
 *
 *   <seat>                           this seat leads as long as its znode exists
 *   <seat> <heir> <token> <since>    also: the heir follows it ("-": none does). The write that
 *                                    decided had this zxid (hexadecimal) and time (milliseconds).
 */

#define NOBODY "-"
#define STEM "-rank-"

/* ---- Names --------------------------------------------------------------------------------- */

/* Moves behind these digits; false if there is none. */
static bool skip(const char **at, const char *digits)
{
    size_t length = strspn(*at, digits);
    *at += length;
    return length > 0;
}

/* Moves behind our tag; false if there is none: then no candidate has this name. */
static bool skip_tag(const char **at)
{
    size_t length = zr_tag_length(*at);
    *at += length;
    return length > 0;
}

static bool skip_rank(const char **at)
{
    *at += **at == '-';
    return skip(at, "0123456789");
}

static bool is_seat(const char *name)
{
    const char *start = name;
    if (!skip_tag(&name) || !skip_rank(&name) || strncmp(name, STEM, sizeof(STEM) - 1) != 0)
        return false;
    bool fits = strlen(start) < ZR_RANK_NAME;
    name += sizeof(STEM) - 1;
    return fits && skip(&name, "0123456789") && *name == '\0';
}

/* ---- The directory ------------------------------------------------------------------------- */

static bool read_all(char *text, struct zr_named *named)
{
    char *rest = text, *end;
    const char *leader = strsep(&rest, " "), *heir = strsep(&rest, " ");
    const char *token = strsep(&rest, " "), *since = rest;
    if (!is_seat(leader))
        return false;
    strcpy(named->leader, leader);
    if (heir == NULL)
        return true;
    if (strlen(heir) >= ZR_RANK_NAME || token == NULL || since == NULL)
        return false;
    named->token = (int64_t)strtoull(token, &end, 16);
    bool good = end != token && *end == '\0';
    named->since_ms = strtoll(since, &end, 10);
    if (strcmp(heir, NOBODY) != 0)
        strcpy(named->heir, heir);
    return good && end != since && *end == '\0';
}

struct zr_named zr_named_read(const struct zr_request *answer)
{
    const struct zr_named nobody = {.token = answer->stat.mzxid, .since_ms = answer->stat.mtime_ms};
    struct zr_named named = nobody;
    const struct zr_bytes data = answer->data_reply;
    char text[ZR_NAMED_TEXT];
    if (data.at == NULL || data.length >= sizeof(text))
        return nobody;
    memcpy(text, data.at, data.length);
    text[data.length] = '\0';
    return strlen(text) == data.length && read_all(text, &named) ? named : nobody;
}

struct zr_bytes zr_named_write(const struct zr_named *named, char text[static ZR_NAMED_TEXT])
{
    int length = snprintf(text, ZR_NAMED_TEXT, "%s %s %016" PRIx64 " %" PRId64, named->leader,
                          named->heir[0] != '\0' ? named->heir : NOBODY, (uint64_t)named->token,
                          named->since_ms);
    return (struct zr_bytes){text, (size_t)length};
}

/* ---- What the candidates of a handle say --------------------------------------------------- */

struct zr_rank_say *zr_rank_say_new(struct zr_bytes data)
{
    struct zr_rank_say *say = zr_alloc(sizeof(*say) + data.length + 1);
    if (say == NULL)
        return NULL;
    say->refs = 1;
    say->length = data.length;
    memcpy(say->text, data.at, data.length);
    zr_rank_read((struct zr_bytes){say->text, say->length}, &say->rank);
    return say;
}

void zr_rank_say_unref(struct zr_rank_say *say)
{
    if (say != NULL && --say->refs == 0)
        zr_free(say);
}

void zr_rank_say_put(struct zr_rank_say **place, struct zr_rank_say *say)
{
    struct zr_rank_say *before = *place;
    if (say != NULL)
        say->refs++;
    *place = say;
    zr_rank_say_unref(before);
}

/* ---- The stem ------------------------------------------------------------------------------ */

/* Of the candidates, the one with the number of the seat that the directory names leads. */
static bool leads(struct zr_bytes dir_data, int64_t sequence, int64_t taken)
{
    (void)taken;
    const struct zr_request answer = {.data_reply = dir_data};
    const struct zr_named named = zr_named_read(&answer);
    return named.leader[0] != '\0' && zr_sequence(named.leader, "rank-") == sequence;
}

static const struct zr_meaning meaning = {.fits = leads};

void zr_rank_note_write(int64_t rank, char note[static ZR_RANK_NOTE])
{
    snprintf(note, ZR_RANK_NOTE, "%" PRId64 "-", rank);
}

/* In front of the stem there is our tag and the rank, and nothing else: other names are not those
   of candidates. */
static int read_note(const char *name, size_t length, int64_t *rank)
{
    const char *at = name, *digits;
    char *end;
    if (!skip_tag(&at) || at >= name + length)
        return -1;
    digits = at;
    if (!skip_rank(&at) || *at != '-' || at + 1 != name + length)
        return -1;
    if ((size_t)(at + 1 - digits) >= ZR_RANK_NOTE)
        return -1;
    *rank = strtoll(digits, &end, 10);
    return (int)(at + 1 - digits);
}

/* Curator has no such recipe. */
const struct zr_stem zr_rank_stem = {.text = "rank-", .read_note = read_note, .meaning = &meaning};
