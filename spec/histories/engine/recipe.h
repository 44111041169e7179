#ifndef ZR_SPEC_RECIPE_H
#define ZR_SPEC_RECIPE_H

/*
 * recipe.h: what the histories must know of a recipe: how to use it, and which rules it keeps. Each
 * recipe has a file of its own that fills in one struct recipe (lock.c is the model); histories.c
 * lists them. oracle.h has most of the rules ready.
 */

#include <stdbool.h>
#include <stdint.h>

#include "core/zk.h"

struct contender;
struct process;
struct zr_args;
struct zr_hold;
struct zr_seat;
struct zr_task;

#define MOST_MODES 4

/* What a contender of the small histories does. */
struct script {
    int mode;
    int64_t limit_us; /* negative: no limit */
    bool gives_up;
};

struct recipe {
    const char *name;
    uint64_t histories; /* default number of random histories */
    const char *dir;    /* the recipe's directory; it must be empty in the end ... */
    const char *queue;  /* ... but for this directory, which may be left: servers keep a container
                           that never had a child; null: none */

    /* ---- How it is used. Dice: roll(). */

    /* Called when a history begins; or null. */
    void (*begin)(void);
    /* Creates process->object. */
    enum zr_status (*make)(struct process *process);
    /* The number of ways to acquire it, for example as a reader and as a writer. contender->mode is
       one of them. */
    int modes;
    /* Starts an attempt in contender->mode; sets contender->task. args->at[0] is the time limit. */
    enum zr_status (*start)(struct contender *contender, struct zr_args *args);
    /* Starts another operation on the hold: sets contender->question. Null: there is none. */
    enum zr_status (*other)(struct contender *contender);
    void (*other_ended)(const struct contender *contender, enum zr_status status);
    /* Takes the end of a task that the recipe has started by itself. False: it is not its own. Or
       null. */
    bool (*reported)(struct zr_task *task);
    const char *cancel;           /* name of the object's method that ends all attempts; or null */
    const char *release;          /* name of the hold's method */
    bool excludes[MOST_MODES];    /* a holder in this mode is alone, and may write */
    const struct script *scripts; /* of the small histories */
    int script_count;
    int three; /* this many scripts, from the first, also run in three processes */

    /* ---- The rules; a violation calls wrong(). */

    /* Called once for each grant. */
    void (*granted)(const struct contender *contender, const struct zr_hold *hold);
    /* Called after each transaction and each dispatch with all contenders whose hold is valid. */
    void (*held)(struct contender *const *holders, int count);
    /* True if a try in this mode may fail now. `own`, the seat of the try (null: none yet), is not
       counted. */
    bool (*may_fail)(int mode, const struct zr_seat *own);
    /* True if the attempt may end with this status. */
    bool (*may_end_with)(const struct contender *contender, enum zr_status status);
    /* The most requests for an attempt, its end and the creation of its directory; two more for
       each contender are allowed. */
    int requests;
    /* Checks the exact number of requests without faults; see budget.h. */
    void (*spend)(void);
};

extern const struct recipe lock_recipe, unfair_recipe, rwlock_recipe, semaphore_recipe,
    election_recipe, worker_id_recipe;

#endif
