#ifndef ZR_HOLD_H
#define ZR_HOLD_H

/*
 * hold.h: what every recipe that grants something gives to its user: a seat at the head of its
 * queue, with the fencing token, the guarded writes and the release. Locks use it unchanged.
 * Thread: the host's.
 */

#include "core/seat.h"
#include "core/task.h"
#include "recipes/guarded.h"
#include "recipes/hold_lost.h"
#include "recipes/meaning.h"

enum zr_hold_state { ZR_ACQUIRING, ZR_HELD, ZR_LET_GO };

struct zr_hold;

/* What a recipe adds to its holds. Static. */
struct zr_hold_more {
    void (*fini)(struct zr_hold *hold);   /* frees what the recipe has added */
    void (*depart)(struct zr_task *task); /* the first step after a release; ends in zr_hold_clean,
                                             or with the seat gone; null: zr_hold_clean */
    /* For recipes where the data of the directory say who holds, and not the znode alone; or null:
       the version of the directory when its data were last seen to name this hold, and whether this
       answer to a get of the directory names it. */
    int32_t (*version)(const struct zr_hold *hold);
    bool (*names)(struct zr_hold *hold, const struct zr_request *answer);
};

/*
 * One attempt, and, once it has succeeded, the hold. The task acquires first and releases later, so
 * that a release needs no memory.
 */
struct zr_hold {
    struct zr_object object;
    struct zr_session *session; /* used */
    struct zr_object *owner;    /* the lock; counted */
    struct zr_task task;
    struct zr_seat seat;
    enum zr_hold_state state : 8;
    enum zr_status why : 8; /* let go: ZR_OK released, ZR_LOST, ZR_CLOSED */
    bool waited;            /* the recipe's: it was not granted at its first look */
    int32_t permits;   /* set by the recipe: how many it asks for, or holds; 0: it counts none */
    struct zr_tie tie; /* to the session, while held */
    struct zr_signal over; /* fires when it is let go */
    union {
        struct zr_task guard;       /* while held: watches the node for `lost` */
        struct zr_watch *announced; /* the recipe's, while it acquires, or null: where the contender
                                       ahead would announce its end (announce.h) */
    };
    bool guarded;
    bool only_try;     /* the recipe's: do not wait */
    bool next_in_line; /* the recipe's: only the holder is ahead */
    bool numbered;     /* the recipe's: the name of its node is the number that it holds */
    int32_t position;  /* set by the recipe: how many contenders were ahead at the last look; -1: it
                          has not looked */
    int64_t since_us;  /* when it began to wait, or, once granted, to hold */
    const struct zr_hold_more *more; /* the recipe's, or null */
};

extern const struct zr_class zr_hold_class;

/* The word of a hold's node (stem.h), in every recipe. ZR_SAYS_HEAD: no contender was ahead when it
   was granted. It is or-ed with ZR_SAYS_OWN of the recipe's own number, which is not negative. A
   waiter of another recipe may see the word. */
#define ZR_SAYS_HEAD 1
#define ZR_SAYS_OWN(number) ((int64_t)(number)*2)
#define ZR_SAID_OWN(word) ((word) / 2)

/* The methods of a hold's class. A recipe with another name for its holds declares its own class
   with these functions; its struct is still struct zr_hold. */
enum zr_status zr_hold_release(struct zr_object *self, struct zr_args *args, struct zr_sink *sink);
enum zr_status zr_hold_valid(struct zr_object *self, struct zr_args *args, struct zr_sink *sink);
/* For how many seconds it certainly stays valid; 0 if it is not. */
enum zr_status zr_hold_left(struct zr_object *self, struct zr_args *args, struct zr_sink *sink);
/* True if it is not held and never will be again. When its lease has ended, a hold is invalid; it
   is over as soon as the session notices. */
enum zr_status zr_hold_over(struct zr_object *self, struct zr_args *args, struct zr_sink *sink);
#define ZR_HOLD_METHODS                                                                            \
    {.name = "valid", .args = "", .call = zr_hold_valid},                                          \
        {.name = "left", .args = "", .call = zr_hold_left},                                        \
        {.name = "over", .args = "", .call = zr_hold_over, .inner = true},                         \
        {.name = "lost", .args = "t?i?", .start = zr_hold_start_lost}, ZR_GUARDED_METHODS
extern const struct zr_property zr_hold_properties[];
void zr_hold_forget(struct zr_object *self);
void zr_hold_free(struct zr_object *self);

/* The task kind of an attempt. `method` is its name; `clean_up` ends in zr_hold_clean. */
#define ZR_HOLD_KIND(method, clean_up)                                                             \
    {                                                                                              \
        .name = (method), .clean = (clean_up), .bound = true, .results = zr_hold_results,          \
        .still = zr_hold_still, .discard = zr_hold_discard, .free = zr_hold_free_task              \
    }

/*
 * gives: a hold in the state ZR_ACQUIRING, with the reference of its task, which the recipe
 * starts with a ZR_HOLD_KIND. size: of struct zr_hold, or of a struct whose first member is the
 * hold; the rest is zeroed, see `more`. keeps: owner (counted), dir, data (the owner's), stem
 * (static). Null: memory is exhausted.
 */
struct zr_hold *zr_hold_new(size_t size, struct zr_session *session, struct zr_object *owner,
                            const char *dir, const struct zr_stem *stem, struct zr_bytes data);

/* For a recipe's step, as its last act: grants the hold. */
void zr_hold_grant(struct zr_hold *hold);

/* The hold whose task this is. */
struct zr_hold *zr_hold_of(struct zr_task *task);

void zr_hold_clean(struct zr_task *task);
void zr_hold_results(struct zr_task *task, struct zr_sink *sink);
enum zr_status zr_hold_still(const struct zr_task *task);
void zr_hold_discard(struct zr_task *task);
void zr_hold_free_task(struct zr_task *task);

/* The server said that the hold's node is gone: the hold is lost. Nothing if it is not held. */
void zr_hold_lost(struct zr_hold *hold);

/* Another one may hold, though the hold's node is there: the hold is lost, and its node is deleted.
   Nothing if it is not held. */
void zr_hold_deposed(struct zr_hold *hold);

#endif
