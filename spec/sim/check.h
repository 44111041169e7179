#ifndef ZR_SPEC_CHECK_H
#define ZR_SPEC_CHECK_H

/* check.h: what the tests of the simulated world share: counting, and a world with two clients. */

#include "probe.h"
#include "sim/sim.h"

#define SECOND INT64_C(1000000)
#define TIMEOUT_MS 10000

#define CHECK(condition) check((condition), #condition, __LINE__)

/* Counts the check, and prints it if it fails. */
void check(bool condition, const char *text, int line);

struct test {
    const char *name;
    void (*run)(void);
};

/* Runs all tests, or the one with this name. Returns the exit status of the program. */
int run_tests(const struct test *tests, size_t count, const char *only);

/* A world with two clients, for most tests. */
struct pair {
    struct zr_sim_world *world;
    struct probe a, b;
};

/* Makes the world and connects both clients. If TRACE is in the environment, the world writes its
   trace to stderr. */
void setup(struct pair *pair, int servers);

/* Frees everything, and checks that no memory is left. */
void teardown(struct pair *pair);

/* Closes the client if its session has not ended, and frees it. */
void drop(struct probe *probe);

/* True if the client was told this event: "kind path". */
bool told(struct probe *probe, const char *event);

#endif
