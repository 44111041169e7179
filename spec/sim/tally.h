#ifndef ZR_SPEC_TALLY_H
#define ZR_SPEC_TALLY_H

/* tally.h: runs histories, counts them, and tells of those that failed; of the first one with all
   that happened. */

#include "run.h"

/* ---- Counting and telling ------------------------------------------------------------------ */

static int passed, failed;
static int64_t grants, lost, timeouts;
static bool tracing;

static inline void try_history(const struct recipe *recipe, const struct shape *shape,
                               const char *name)
{
    bool right = run_history(recipe, shape, tracing ? stdout : NULL);
    passed += right;
    failed += !right;
    grants += now.grants;
    lost += now.lost;
    timeouts += now.timeouts;
    if (right)
        return;
    printf("%s: %s\n", name, now.wrong);
    if (!tracing && failed <= 1)
        run_history(recipe, shape, stdout);
    fflush(stdout);
}

#endif
