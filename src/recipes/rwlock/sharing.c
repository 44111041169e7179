#include "recipes/rwlock/sharing.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/alloc.h"

/* ---- The mark ------------------------------------------------------------------------------ */

/* "__SHARED__<16 hexadecimal digits>"; if the user's data are not null, then ':' and these data. */

#define WORD "__SHARED__"
#define LENGTH (sizeof(WORD) - 1 + 16)

static void write_mark(char *to, int64_t czxid)
{
    snprintf(to, LENGTH + 1, WORD "%016" PRIx64, (uint64_t)czxid);
}

struct zr_bytes zr_mark_data(struct zr_bytes data, int64_t czxid)
{
    size_t length = LENGTH + (data.at != NULL ? 1 + data.length : 0);
    char *marked = zr_alloc(length + 1);
    if (marked == NULL)
        return (struct zr_bytes){NULL, 0};
    write_mark(marked, czxid);
    if (data.at != NULL) {
        marked[LENGTH] = ':';
        memcpy(marked + LENGTH + 1, data.at, data.length);
    }
    return (struct zr_bytes){marked, length};
}

bool zr_marked(struct zr_bytes data, int64_t czxid)
{
    char mark[LENGTH + 1];
    if (data.at == NULL || data.length < LENGTH)
        return false;
    write_mark(mark, czxid);
    return memcmp(data.at, mark, LENGTH) == 0 && (data.length == LENGTH || data.at[LENGTH] == ':');
}

struct zr_bytes zr_unmarked(struct zr_bytes data, int64_t czxid)
{
    if (!zr_marked(data, czxid))
        return data;
    if (data.length == LENGTH)
        return (struct zr_bytes){NULL, 0};
    return (struct zr_bytes){data.at + LENGTH + 1, data.length - LENGTH - 1};
}

/* ---- As a word ----------------------------------------------------------------------------- */

static int64_t read_word(const struct zr_request *answer)
{
    return zr_marked(answer->data_reply, answer->stat.czxid) ? ZR_SAYS_SHARES : 0;
}

static bool says_shares(int64_t word)
{
    return (word & ZR_SAYS_SHARES) != 0;
}

static bool always_shares(int64_t word)
{
    (void)word;
    return true;
}

bool zr_sharing_is_enough(const struct zr_task *task, int64_t word)
{
    (void)task;
    return says_shares(word);
}

/* ---- The stems ----------------------------------------------------------------------------- */

static struct zr_bytes user_data(const struct zr_request *answer)
{
    return zr_unmarked(answer->data_reply, answer->stat.czxid);
}

static const struct zr_meaning writer = {.shares = says_shares,
                                         .user_data = user_data,
                                         .downgrade = zr_downgrade_start},
                               reader = {.shares = always_shares, .downgrade = zr_downgrade_start};

const struct zr_stem zr_writer_stem = {.text = "__WRIT__",
                                       .read_word = read_word,
                                       .meaning = &writer},
                     zr_reader_stem = {.text = "__READ__", .prompt = true, .meaning = &reader};
