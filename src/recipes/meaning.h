#ifndef ZR_MEANING_H
#define ZR_MEANING_H

/*
 * meaning.h: what a contender's node means to users. Every hold and every list of contenders shows
 * it, but only the recipe that made the node can read it. So the node's stem (core/stem.h) names
 * its meaning, and the code that all recipes share knows no recipe. Pure functions. Any thread,
 * except downgrade: the host's.
 */

#include "core/stem.h"

/* Static. note, word: as the stem has read them. */
struct zr_meaning {
    /* True if the contender shares what it holds. Null: it wants it alone. */
    bool (*shares)(int64_t word);
    /* The user's part of the node's data. Points into the answer. borrows: answer, of a get of the
       node. Null: all of the data. */
    struct zr_bytes (*user_data)(const struct zr_request *answer);
    /* True if a contender with this sequence number holds; its note is the number of its permits.
       dir_data: of the directory. taken: the permits of all contenders up to it, its own included.
       Null: the note is no number of permits, and the first in the queue holds. */
    bool (*fits)(struct zr_bytes dir_data, int64_t sequence, int64_t taken);
    /* The method hold:downgrade. Null: such a hold cannot be downgraded. */
    enum zr_status (*downgrade)(struct zr_object *self, struct zr_args *args,
                                struct zr_task **task);
};

/* Never null. stem: may be null. */
const struct zr_meaning *zr_meaning_of(const struct zr_stem *stem);

/* True if a contender whose node has this stem and this word shares what it holds. */
bool zr_shares(const struct zr_stem *stem, int64_t word);

#endif
