#ifndef ZR_STEM_H
#define ZR_STEM_H

/*
 * stem.h: the names of contenders. A stem is the text in front of the number in such a name. The
 * recipe that makes the nodes defines it, and only the recipe knows what its nodes say: for the
 * core, the note in a name and the word of a node are just numbers. Pure functions. Any thread.
 */

#include "core/object.h"

struct zr_meaning;

/* Static. If Curator has the recipe, the text is Curator's, so that its contenders and ours see
   each other. */
struct zr_stem {
    const char *text; /* "lock-" */
    /* Reads the note that the recipe has put into the name in front of the text, and returns its
       length; -1: the name has no note, so it is no contender's. borrows: name, of which `length`
       bytes are in front of the text. Null: there are no notes; the note is 0. */
    int (*read_note)(const char *name, size_t length, int64_t *note);
    /* The word of the node that this get has read, for tasks that wait for the node (zr_enough in
       task.h). borrows: answer. Null: its nodes have no word; the word is 0. */
    int64_t (*read_word)(const struct zr_request *answer);
    /* Deliver the answer to the create at once, not together with the answer to the listing behind
       it. */
    bool prompt;
    /* True if another program, which does not see our contenders, gives this name to its own. The
       core asks it about names in all directories that are no contender's of ours. Null: none is
       known. */
    bool (*is_foreign)(const char *name);
    /* For the recipes, which show it to users (recipes/meaning.h); the core does not look at it. */
    const struct zr_meaning *meaning;
};

/* A contender's name, read. */
struct zr_seat_name {
    int64_t sequence; /* the number at its end */
    const char *name; /* borrowed */
    const struct zr_stem *stem;
    int64_t note;
};

/* recipes: the list given to zr_engine_new; only its stems count. False: no contender's name. */
bool zr_stem_read(const struct zr_recipe *const *recipes, const char *name,
                  struct zr_seat_name *read);

/* The word of the node that this get has read, by the stem of its name; 0 for all other nodes. */
int64_t zr_stem_word(const struct zr_recipe *const *recipes, const struct zr_request *answer);

/* True if one of our recipes or of Curator's may have given a contender this name. In front of the
   stem there is nothing, our tag ("<16 hexadecimal digits>-<number>-", maybe followed by the stem's
   note), or Curator's ("_c_<UUID>-"). False for all other names, also for those of no contender. */
bool zr_is_usual(const struct zr_recipe *const *recipes, const char *name);

/* The length of our tag at the beginning of the name, with the dash behind it; 0: there is none. */
size_t zr_tag_length(const char *name);

/* True if a stem of one of the recipes says that the name is foreign. */
bool zr_is_foreign(const struct zr_recipe *const *recipes, const char *name);

#endif
