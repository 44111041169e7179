/*
 * histories.c: runs the real code of the recipes over the simulated ZooKeeper, in many histories
 * with faults.
 *
 *     histories [--recipe NAME] [--seeds N] [--from S]    seeds S (1) to S + N - 1, at random
 *     histories [--recipe NAME] --small                   all small histories, see small.h
 *     histories [--recipe NAME] --seed S                  one, with its trace
 *     histories --recipe NAME --shape TEXT                one, with its trace, see shape_text.h
 *     histories --first ...                               exit at the first violation
 *
 * The seed decides everything: the number of servers and processes, what the users do, and which
 * faults happen when. After some time the faults stop; then all attempts must end. The rules are in
 * oracle.h and in the file of each recipe.
 */
#include "budget.h"
#include "shape.h"
#include "shape_text.h"
#include "small.h"

static const struct recipe *const recipes[] = {
    &lock_recipe,     &unfair_recipe,    &rwlock_recipe, &semaphore_recipe,
    &election_recipe, &worker_id_recipe, NULL,
};

static void try_seed(const struct recipe *recipe, uint64_t seed)
{
    char name[80];
    struct shape shape = shape_of(seed);
    snprintf(name, sizeof(name), "--recipe %s --seed %llu", recipe->name, (unsigned long long)seed);
    try_history(recipe, &shape, name);
}

struct wish {
    const char *recipe;   /* null: all */
    uint64_t seed, seeds; /* seeds 0: recipe->histories */
    bool small;
    struct shape shape; /* the shape to run, if it has processes */
};

static void try_recipe(const struct recipe *recipe, const struct wish *wish)
{
    uint64_t seeds = wish->seeds > 0 ? wish->seeds : recipe->histories;
    begin_tally();
    if (wish->shape.processes > 0)
        try_history(recipe, &wish->shape, NULL);
    else if (wish->small)
        try_small(recipe);
    else
        for (uint64_t i = 0; i < seeds; i++)
            try_seed(recipe, wish->seed + i);
    try_budget(recipe);
    tell_tally(recipe);
}

/* ---- Main ---------------------------------------------------------------------------------- */

/* False: not an option. */
static bool read_option(struct wish *wish, const char *option, const char *value)
{
    if (strcmp(option, "--recipe") == 0)
        wish->recipe = value;
    else if (strcmp(option, "--shape") == 0)
        return tracing = read_shape(value, &wish->shape);
    else if (strcmp(option, "--seeds") == 0)
        wish->seeds = strtoull(value, NULL, 10);
    else if (strcmp(option, "--from") == 0)
        wish->seed = strtoull(value, NULL, 10);
    else if (strcmp(option, "--seed") == 0)
        wish->seed = strtoull(value, NULL, 10), wish->seeds = 1, tracing = true;
    else
        return false;
    return true;
}

static bool read_flag(struct wish *wish, const char *flag)
{
    bool small = strcmp(flag, "--small") == 0, first = strcmp(flag, "--first") == 0;
    wish->small = wish->small || small;
    first_only = first_only || first;
    return small || first;
}

int main(int count, char **words)
{
    struct wish wish = {.seed = 1};
    for (int i = 1; i < count; i++) {
        if (read_flag(&wish, words[i]))
            continue;
        if (i + 1 == count || !read_option(&wish, words[i], words[i + 1])) {
            fprintf(stderr, "histories: what is %s?\n", words[i]);
            return 2;
        }
        i++;
    }
    expect_crashes();
    for (int i = 0; recipes[i] != NULL; i++)
        if (wish.recipe == NULL || strcmp(recipes[i]->name, wish.recipe) == 0)
            try_recipe(recipes[i], &wish);
    printf("%d passed, %d failed\n", passed, failed);
    return failed > 0 || passed == 0;
}
