#include "recipes/election/successor.h"

#include <string.h>

#include "core/names.h"
#include "recipes/hold.h"

/* "\0next-<ten digits>" */

#define NEXT "\0next-"
#define NEXT_LENGTH (sizeof(NEXT) - 1 + ZR_SEQUENCE_DIGITS)

int64_t zr_successor_in(struct zr_bytes data)
{
    char number[ZR_SEQUENCE_DIGITS + 1] = "";
    if (data.at == NULL || data.length < NEXT_LENGTH)
        return -1;
    const char *mark = data.at + data.length - NEXT_LENGTH;
    if (memcmp(mark, NEXT, sizeof(NEXT) - 1) != 0)
        return -1;
    memcpy(number, mark + sizeof(NEXT) - 1, sizeof(number) - 1);
    return zr_sequence(number, "");
}

struct zr_bytes zr_without_successor(struct zr_bytes data)
{
    if (zr_successor_in(data) >= 0)
        data.length -= NEXT_LENGTH;
    return data;
}

/* ---- As a word ----------------------------------------------------------------------------- */

int64_t zr_successor_word(int64_t number)
{
    return ZR_SAYS_OWN(number + 1);
}

static int64_t read_word(const struct zr_request *answer)
{
    return zr_successor_word(zr_successor_in(answer->data_reply));
}

bool zr_named_behind(const struct zr_task *task, int64_t word)
{
    int64_t place = ZR_HOLDER(task, const struct zr_hold, task)->seat.sequence;
    return place < ZR_SAID_OWN(word) - 1;
}

const struct zr_stem zr_candidate_stem = {.text = "latch-", .read_word = read_word};
