#include "recipes/meaning.h"

const struct zr_meaning *zr_meaning_of(const struct zr_stem *stem)
{
    static const struct zr_meaning none = {.shares = NULL};
    return stem != NULL && stem->meaning != NULL ? stem->meaning : &none;
}

bool zr_shares(const struct zr_stem *stem, int64_t word)
{
    const struct zr_meaning *meaning = zr_meaning_of(stem);
    return meaning->shares != NULL && meaning->shares(word);
}
