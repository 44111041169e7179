#include "recipes/election/successor.h"

#include "recipes/election/value.h"
#include "recipes/hold.h"

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
