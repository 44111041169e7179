#ifndef ZR_SPEC_RECIPE_H
#define ZR_SPEC_RECIPE_H

/*
 * recipe.h: what the histories must know of a recipe: how it is used, and what must hold. Each
 * recipe fills one in, in a file of its own (lock.c is the model); histories.c lists them. Most of
 * it can be composed of what oracle.h offers.
 */

#include <stdbool.h>
#include <stdint.h>

#include "core/zk.h"

struct contender;
struct process;
struct zr_args;
struct zr_hold;
struct zr_seat;

#define MOST_MODES 4

/* What a contender of the small histories does. */
struct script {
    int mode;
    int64_t limit_us; /* negative: none */
    bool gives_up;
};

struct recipe {
    const char *name;
    uint64_t histories; /* at random, unless somebody says how many */
    const char *dir;    /* the znode under which it lives; empty in the end */

    /* ---- How it is used. Dice: roll(). */

    /* A history begins; or null. */
    void (*begin)(void);
    /* Makes process->object. */
    enum zr_status (*make)(struct process *process);
    /* It can be acquired in so many ways, for a reader and for a writer for example;
       contender->mode says which it is. */
    int modes;
    /* Starts an attempt in contender->mode: contender->task. Its time limit is args->at[0]. */
    enum zr_status (*start)(struct contender *contender, struct zr_args *args);
    /* What else a holder asks of its hold: starts contender->question. Null: nothing. */
    enum zr_status (*other)(struct contender *contender);
    void (*other_ended)(const struct contender *contender, enum zr_status status);
    const char *cancel;           /* the method of the object that ends all attempts; or null */
    const char *release;          /* the method of the hold */
    bool excludes[MOST_MODES];    /* whoever holds it in this mode is alone, and may write */
    const struct script *scripts; /* of the small histories */
    int script_count;
    int three; /* so many of them, the first ones, are done by three processes too */

    /* ---- What must hold; if not: wrong(). */

    /* A grant is seen for the first time. */
    void (*granted)(const struct contender *contender, const struct zr_hold *hold);
    /* These are valid at one instant: asked after each transaction and each dispatch. */
    void (*held)(struct contender *const *holders, int count);
    /* A try in this mode that began now could fail; `own` (null: none yet) is not in its way. */
    bool (*may_fail)(int mode, const struct zr_seat *own);
    /* An attempt may end like this. */
    bool (*may_end_with)(const struct contender *contender, enum zr_status status);
    /* So many requests are enough for an attempt, its end and the directory it needs, beside two
       for each contender. */
    int requests;
    /* What it sends when nothing disturbs it; see budget.h. */
    void (*spend)(void);
};

extern const struct recipe lock_recipe, unfair_recipe, rwlock_recipe, semaphore_recipe,
    election_recipe;

#endif
