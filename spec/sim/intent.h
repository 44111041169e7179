#ifndef ZR_SPEC_INTENT_H
#define ZR_SPEC_INTENT_H

/*
 * intent.h: random requests for model_test.c. An intent describes a request by numbers. From it
 * model_test.c makes one request for the simulated server and one for the real server.
 */

#include <stddef.h>

#include "probe.h"
#include "sim/random.h"

#define MOST_PARTS 4
#define LINE 400

/* The test sets these first. */
extern struct zr_sim_random dice;
extern char top[40]; /* the znode below which all requests act */

struct intent {
    enum zr_op op;
    int path, data, acl;
    int32_t version;
    enum zr_mode mode;
    int64_t ttl_ms;
    bool watch;
    int part_count;
    struct intent *parts;
};

/* A random number from 0 to below - 1. */
int roll(int below);

/* Random: an operation; a request of this operation; a multi, with its parts in `parts`. */
enum zr_op any_op(void);
struct intent any_intent(enum zr_op op);
struct intent any_multi(struct intent parts[MOST_PARTS]);

/* gives: the request for one side, with all of its parts. */
struct ask *ask_for(const struct intent *intent);

/* takes: ask, with all of its parts. */
void forget(struct ask *ask);

/* Appends to `line`, which has LINE bytes. */
void add(char *line, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Writes the intent into the line, and returns the line. */
const char *name_of(const struct intent *intent, char *line);

#endif
