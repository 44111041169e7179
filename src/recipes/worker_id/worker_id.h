#ifndef ZR_WORKER_ID_H
#define ZR_WORKER_ID_H

/* worker_id.h: what the files of this folder share. Thread: the host's, except of pure functions.
 */

#include "recipes/contest_object.h"
#include "recipes/count_note.h"
#include "recipes/hold.h"

struct zr_worker_id {
    struct zr_contest contest; /* first; its dir has the numbers */
    int32_t max;               /* only numbers below it; at least 1 */
    char *queue;               /* the directory of those that wait, with the namespace */
};

/* One attempt, and, once it has succeeded, the hold. */
struct zr_worker_attempt {
    struct zr_hold hold;      /* first; its seat is the znode of a number */
    struct zr_seat turn;      /* in the queue, while it waits */
    char note[ZR_COUNT_NOTE]; /* of its max, in the name of its turn */
    char *number;             /* the path of the hold's seat, with the namespace; or null */
    struct zr_watch *watch;   /* followed: on the directory of the numbers; or null */
    int64_t events;           /* at the watch, before the last read */
    int pauses;               /* in a row, because a number was claimed */
};

/* ---- Which number (numbers.c) --------------------------------------------------------------- */

enum zr_numbers {
    ZR_NUMBER_FREE,    /* there is one */
    ZR_NUMBERS_TAKEN,  /* all are taken */
    ZR_NUMBER_CLAIMED, /* none is free but such that another attempt of this session asks for */
};

/*
 * Finds the smallest free number below the attempt's max. FREE: the hold's seat is that of the
 * number, and empty. The seat must be empty before. borrows: names, of the directory; null: there
 * is no directory. Sets `found`. Errors: ZR_NO_MEMORY.
 */
enum zr_status zr_number_choose(struct zr_worker_attempt *attempt, const struct zr_names *names,
                                enum zr_numbers *found);

/* The number that this name is; -1: it is none. Pure. */
int64_t zr_number_read(const char *name);

/* ---- An attempt (acquire.c) ----------------------------------------------------------------- */

/* Of the turns. The note is the max of the attempt. */
extern const struct zr_stem zr_turn_stem;

enum zr_status zr_worker_id_acquire(struct zr_object *self, struct zr_args *args,
                                    struct zr_task **task);

#endif
