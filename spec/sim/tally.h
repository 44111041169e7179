#ifndef ZR_SPEC_TALLY_H
#define ZR_SPEC_TALLY_H

/* tally.h: runs histories, counts them, and tells of those that failed; of the first one with all
   that happened. */

#include <signal.h>
#include <unistd.h>

#include "run.h"

/* ---- Counting and telling ------------------------------------------------------------------ */

static int passed, failed;
static int64_t grants, lost, timeouts;
static bool tracing;
static bool first_only; /* the first violation ends all */

/* ---- What never comes back ----------------------------------------------------------------- */

#define LIMIT_S 20 /* of the real time, for one history */

static const char *running; /* its name */

static inline void tell_first(const char *name, const char *what)
{
    char line[400];
    int length =
        snprintf(line, sizeof(line), "after %d histories: %s: %s\n", passed + 1, name, what);
    _exit(write(STDOUT_FILENO, line, (size_t)length) == length ? 1 : 2);
}

static inline void never_ended(int number)
{
    tell_first(running, number == SIGALRM ? "does not come back" : "crashes");
}

static inline void expect_crashes(void)
{
    static const int numbers[] = {SIGALRM, SIGABRT, SIGSEGV, SIGBUS, SIGFPE};
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        signal(numbers[i], never_ended);
}

/* ---- One history --------------------------------------------------------------------------- */

static inline void try_history(const struct recipe *recipe, const struct shape *shape,
                               const char *name)
{
    running = name;
    alarm(tracing ? 0 : LIMIT_S);
    bool right = run_history(recipe, shape, tracing ? stdout : NULL);
    passed += right;
    failed += !right;
    grants += now.grants;
    lost += now.lost;
    timeouts += now.timeouts;
    if (right)
        return;
    if (first_only)
        tell_first(name, now.wrong);
    printf("%s: %s\n", name, now.wrong);
    if (!tracing && failed <= 1)
        run_history(recipe, shape, stdout);
    fflush(stdout);
}

#endif
