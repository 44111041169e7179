/*
 * histories.c: the recipes' own code over the simulated ZooKeeper, in many histories with faults.
 *
 *     histories [--recipe NAME] [--seeds N] [--seed S] [--small] [--trace]
 *
 * A seed decides everything: how many servers and processes there are, what their users do, which
 * faults there are and when. After a while the faults end; then everything must come to an end.
 * What must hold meanwhile is in oracle.h and in the file of each recipe. --small goes through all
 * histories of two processes with one fault, of each kind, at each request.
 */
#include "lock.h"
#include "semaphore.h"
#include "shape.h"
#include "small.h"

static const struct recipe *const recipes[] = {&lock_recipe, &semaphore_recipe, NULL};

static void try_seed(const struct recipe *recipe, uint64_t seed)
{
    char name[80];
    struct shape shape = shape_of(seed);
    snprintf(name, sizeof(name), "--recipe %s --seed %llu", recipe->name, (unsigned long long)seed);
    try_history(recipe, &shape, name);
}

static void try_recipe(const struct recipe *recipe, uint64_t seed, uint64_t seeds, bool small)
{
    grants = lost = timeouts = 0;
    try_budget(recipe);
    for (int servers = 1; small && servers <= 3; servers += 2)
        try_all_small(recipe, servers);
    for (uint64_t end = seed + seeds; !small && seed < end; seed++)
        try_seed(recipe, seed);
    printf("%s: %lld grants, %lld losses, %lld time limits\n", recipe->name, (long long)grants,
           (long long)lost, (long long)timeouts);
}

/* ---- Main ---------------------------------------------------------------------------------- */

int main(int count, char **words)
{
    uint64_t seed = 1, seeds = 0;
    const char *only = NULL;
    bool small = false;
    for (int i = 1; i < count; i++) {
        const char *value = i + 1 < count ? words[i + 1] : "0";
        tracing = tracing || strcmp(words[i], "--trace") == 0;
        small = small || strcmp(words[i], "--small") == 0;
        if (strcmp(words[i], "--recipe") == 0)
            only = value;
        if (strcmp(words[i], "--seeds") == 0)
            seeds = strtoull(value, NULL, 10);
        if (strcmp(words[i], "--seed") == 0) {
            seed = strtoull(value, NULL, 10);
            seeds = 1;
        }
    }
    for (int i = 0; recipes[i] != NULL; i++)
        if (only == NULL || strcmp(recipes[i]->name, only) == 0)
            try_recipe(recipes[i], seed, seeds > 0 ? seeds : recipes[i]->histories, small);
    printf("%d passed, %d failed\n", passed, failed);
    return failed > 0 || passed == 0;
}
