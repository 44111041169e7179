#ifndef ZR_STEM_H
#define ZR_STEM_H

/*
 * stem.h: the names of contenders. A stem is what stands before the number in such a name. The
 * recipe that makes the nodes defines it, and alone knows what they say: to the core both the note
 * in a name and the word of a node are just a number. Pure functions. Any thread.
 */

#include "core/object.h"

/* Static. The texts are Curator's where it has the recipe, so that its contenders and ours
   understand each other. */
struct zr_stem {
    const char *text; /* "lock-" */
    /* Reads the note that the recipe has put into the name in front of the text, and returns its
       length; -1: without a note it is no contender's name. borrows: name, of which `length` bytes
       stand before the text. Null: there are no notes; the note is 0. */
    int (*read_note)(const char *name, size_t length, int64_t *note);
    /* The word of the node that this get has read, for those who wait for it (zr_enough in task.h).
       borrows: answer. Null: it has none; the word is 0. */
    int64_t (*read_word)(const struct zr_request *answer);
    /* The answer to the create is handed over at once, not together with the listing's behind it.
     */
    bool prompt;
};

/* A contender's name, read. */
struct zr_seat_name {
    int64_t sequence; /* the number at its end */
    const char *name; /* borrowed */
    const struct zr_stem *stem;
    int64_t note;
};

/* `recipes`: whose stems count, as of zr_engine_new. False: it is no contender's name. */
bool zr_stem_read(const struct zr_recipe *const *recipes, const char *name,
                  struct zr_seat_name *read);

/* The word of the node that this get has read, by the stem of its name; 0 for all other nodes. */
int64_t zr_stem_word(const struct zr_recipe *const *recipes, const struct zr_request *answer);

/* True when a recipe of ours or Curator's may have given a contender this name: before the stem
   stands nothing, our tag ("<16 hexadecimal digits>-<number>-", perhaps with the stem's note behind
   it), or Curator's ("_c_<UUID>-"). False for all other names, also those that are no
   contender's. */
bool zr_is_usual(const struct zr_recipe *const *recipes, const char *name);

/* True when kazoo's Lock, ReadLock or WriteLock gives a contender this name:
   "<32 hexadecimal digits>__lock__<ten digits>", or __rlock__. */
bool zr_is_kazoos(const char *name);

#endif
