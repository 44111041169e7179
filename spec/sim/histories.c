/*
 * histories.c: the fair lock's own code over the simulated ZooKeeper, in many histories with
 * faults.
 *
 *     histories [--seeds N] [--seed S] [--small] [--trace]
 *
 * A seed decides everything: how many servers and processes there are, what their users do, which
 * faults there are and when. After a while the faults end; then everything must come to an end.
 * What must hold meanwhile is in oracle.h. --small goes through all histories of two processes with
 * one fault, of each kind, at each request.
 */
#include "budget.h"
#include "shape.h"
#include "small.h"

static void try_seed(uint64_t seed)
{
    char name[40];
    struct shape shape = shape_of(seed);
    snprintf(name, sizeof(name), "--seed %llu", (unsigned long long)seed);
    try_history(&shape, name);
}

/* ---- Main ---------------------------------------------------------------------------------- */

int main(int count, char **words)
{
    uint64_t seed = 1, seeds = 1000;
    bool small = false;
    for (int i = 1; i < count; i++) {
        const char *value = i + 1 < count ? words[i + 1] : "0";
        tracing = tracing || strcmp(words[i], "--trace") == 0;
        small = small || strcmp(words[i], "--small") == 0;
        if (strcmp(words[i], "--seeds") == 0)
            seeds = strtoull(value, NULL, 10);
        if (strcmp(words[i], "--seed") == 0) {
            seed = strtoull(value, NULL, 10);
            seeds = 1;
        }
    }
    try_budget();
    for (int servers = 1; small && servers <= 3; servers += 2)
        try_all_small(servers);
    for (uint64_t end = seed + seeds; !small && seed < end; seed++)
        try_seed(seed);
    printf("%lld grants, %lld losses, %lld time limits\n", (long long)grants, (long long)lost,
           (long long)timeouts);
    printf("%d passed, %d failed\n", passed, failed);
    return failed > 0;
}
