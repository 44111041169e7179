#ifndef ZR_SAYS_H
#define ZR_SAYS_H

/*
 * says.h: what a term says about itself in its node: its value, its rank, whether it is ready, and
 * the successor that it names (value.h). Thread: the host's.
 */

#include "recipes/hold.h"

/* A value that a term says, or said. */
struct zr_said {
    char *at; /* null: that of the election */
    size_t length;
    int64_t number; /* which one of the term's; 0: that of the election */
};

/* The hold of an attempt to lead, and then of the term. */
struct zr_term {
    struct zr_hold hold; /* first */
    struct zr_said value;
    int64_t changes;         /* how many there were of the value */
    struct zr_list changing; /* the calls that have changed it, and have not ended (tell.c) */
    int64_t successor;       /* its number; -1: none is named */
    bool ready;
    bool resigned; /* its user has resigned */
};

struct zr_term *zr_term_of(struct zr_hold *hold);

/* Makes a term of a new hold that has room for it. */
void zr_term_init(struct zr_hold *hold);

/* The `fini` of the hold's `more`; a recipe that sets another one calls it there. */
void zr_term_fini(struct zr_hold *hold);

/* The term names the successor with this number from now on; -1: none. It is not written yet, but
   candidates of this session know it. */
void zr_says_name(struct zr_term *term, int64_t number);

/* Writes what the term says now, if its node still exists. */
void zr_says_write(struct zr_task *task, struct zr_term *term, struct zr_next next);

/* As zr_says_write, for a task that goes on if the request cannot be made: then it returns why
   (ZR_NO_MEMORY, ZR_TOO_LARGE), and the verb has not begun. */
enum zr_status zr_says_try_write(struct zr_task *task, struct zr_term *term, struct zr_next next);

/* For the step after such a write: its outcome. ZR_LOST: the node is gone, and so is the term.
   ZR_CONNECTION_LOSS: the outcome is not known; writing twice does no harm. ZR_TOO_LARGE: it was
   lost so often that the data are probably too large. losses: answers lost; counted here. */
enum zr_status zr_says_written(struct zr_task *task, struct zr_term *term, int *losses);

/* The answer to such a write was lost. True if it was lost so often that the data are probably too
   large. losses: as above. */
bool zr_says_too_large(const struct zr_task *task, int *losses);

/* The answer to such a write. True if the node is gone; then the term is lost. */
bool zr_says_gone(const struct zr_task *task, struct zr_term *term);

/* Ends the term, if it is not over; from now on it may say nothing. */
void zr_term_resign(struct zr_term *term);

/* True if the term certainly leads. */
bool zr_term_valid(const struct zr_term *term);

#endif
