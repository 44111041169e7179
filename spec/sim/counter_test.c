/*
 * Tests the end of the counter of a lock's directory. ZooKeeper's sequence numbers stop at
 * 2147483647; after that every contender gets the same number. The lock must notice this long
 * before, wait until its directory is empty, create it again, and never have two holders meanwhile.
 *
 * Four processes share the lock over the simulated ZooKeeper. The counter is set just below our own
 * limit, just below ZooKeeper's limit, and at its end.
 */
#include <stdio.h>
#include <string.h>

#include "core/dispatch.h"
#include "core/names.h"
#include "core/session.h"
#include "core/task.h"
#include "recipes/hold.h"
#include "recipes/lock.h"
#include "plain/session_class.h"
#include "recipes/recipes.h"
#include "sim/sim.h"

#define PROCESSES 4
#define ROUNDS 6
#define HOLD_US 3000

struct process {
    struct zr_engine *engine;
    struct zr_session *session;
    struct zr_object *lock;
    struct zr_task *task;
    struct zr_hold *hold;
    int64_t until_us;
    int rounds;
};

static struct zr_sim_world *world;
static struct process processes[PROCESSES];
static int passed, failed, holders;
static int64_t last_token;

static void check(bool good, const char *what)
{
    passed += good;
    failed += !good;
    if (!good)
        printf("FAILED: %s\n", what);
}

static const struct zr_method *method(const struct zr_class *class, const char *name)
{
    const struct zr_method *at = class->methods;
    while (strcmp(at->name, name) != 0)
        at++;
    return at;
}

static void ignore_boolean(struct zr_sink *sink, const char *key, bool value)
{
    (void)sink;
    (void)key;
    (void)value;
}

static void open_process(struct process *process)
{
    struct zr_session_options options = {
        .hosts = {"sim:1", 5}, .timeout_us = 10000000, .tick_us = -1, .request_timeout_us = -1};
    const struct zr_lock_options choice = {0};
    struct zr_args args = {.at[0] = {.given = true, .bytes = {"/l", 2}}, .options = &choice};
    check(zr_engine_new(zr_sim_zk(world), zr_recipes, &process->engine) == ZR_OK, "an engine");
    zr_engine_seed(process->engine, (uint64_t)(process - processes) + 1);
    check(zr_session_open(process->engine, &zr_session_class, &options, &process->session) == ZR_OK,
          "a session");
    check(zr_recipes[0]->make(process->session, &args, &process->lock) == ZR_OK, "a lock");
}

static void acquire(struct process *process)
{
    struct zr_args none = {.misuse = NULL};
    method(process->lock->class, "acquire")->start(process->lock, &none, &process->task);
}

static void granted(struct process *process, int64_t now_us)
{
    check(process->task->status == ZR_OK, "every acquire ends in a grant");
    process->hold = zr_hold_of(process->task);
    zr_object_ref(&process->hold->object);
    zr_task_drop(process->task, true);
    process->task = NULL;
    process->until_us = now_us + HOLD_US;
    check(++holders == 1, "one holder at a time");
    check(process->hold->seat.czxid > last_token, "tokens grow");
    check(process->hold->seat.sequence < ZR_SEQUENCE_LIMIT, "no grant on a number past the limit");
    last_token = process->hold->seat.czxid;
}

static void release(struct process *process)
{
    struct zr_args none = {.misuse = NULL};
    struct zr_sink sink = {.boolean = ignore_boolean};
    holders--;
    method(&zr_hold_class, "release")->call(&process->hold->object, &none, &sink);
    zr_object_unref(&process->hold->object);
    process->hold = NULL;
    process->rounds++;
}

/* Lets the process do what it can now. Returns when to call it again at the latest. */
static int64_t go_on(struct process *process, int64_t now_us)
{
    while (zr_engine_dispatch(process->engine, 64) > 0)
        continue;
    if (zr_engine_next_reported(process->engine) != NULL)
        granted(process, now_us);
    if (process->hold != NULL && now_us >= process->until_us)
        release(process);
    if (process->hold == NULL && process->task == NULL && process->rounds < ROUNDS)
        acquire(process);
    int64_t wait_us = zr_engine_timeout_us(process->engine);
    int64_t due_us = wait_us < 0 ? INT64_MAX : now_us + wait_us;
    return process->hold != NULL && process->until_us < due_us ? process->until_us : due_us;
}

static bool all_done(void)
{
    bool done = true;
    for (int i = 0; i < PROCESSES; i++)
        done = done && processes[i].rounds == ROUNDS;
    return done;
}

/* Runs all processes until done() is true or the time is over. */
static void run(bool (*done)(void), int64_t limit_us)
{
    int64_t end_us = zr_sim_now_us(world) + limit_us;
    while (!done() && zr_sim_now_us(world) < end_us) {
        int64_t due_us = end_us;
        for (int i = 0; i < PROCESSES; i++) {
            int64_t wants_us = go_on(&processes[i], zr_sim_now_us(world));
            due_us = wants_us < due_us ? wants_us : due_us;
        }
        zr_sim_run(world, due_us);
    }
    check(done(), "every contender gets its turns");
}

static bool all_ended(void)
{
    bool ended = true;
    for (int i = 0; i < PROCESSES; i++)
        ended = ended && zr_engine_ended(processes[i].engine);
    return ended;
}

static void close_process(struct process *process)
{
    zr_object_unref(process->lock);
    zr_session_class.forget(&process->session->object);
    zr_object_unref(&process->session->object);
}

static void test(int32_t counter)
{
    struct zr_sim_options options = {.seed = 1, .reap_ms = 3600000};
    memset(processes, 0, sizeof(processes));
    holders = 0;
    last_token = 0;
    world = zr_sim_world_new(&options);
    for (int i = 0; i < PROCESSES; i++)
        open_process(&processes[i]);
    processes[0].rounds = ROUNDS - 1; /* the first attempt creates the directory */
    for (int i = 1; i < PROCESSES; i++)
        processes[i].rounds = ROUNDS;
    run(all_done, 60000000);
    check(zr_sim_set_counter(world, "/l", counter), "the counter is set");
    for (int i = 0; i < PROCESSES; i++)
        processes[i].rounds = 0;
    run(all_done, 600000000);
    for (int i = 0; i < PROCESSES; i++)
        close_process(&processes[i]);
    run(all_ended, 60000000);
    check(zr_sim_count(world, "/l") <= 1, "no contender is left");
    for (int i = 0; i < PROCESSES; i++)
        zr_engine_unref(processes[i].engine);
    zr_sim_world_free(world);
}

int main(void)
{
    const int32_t counters[] = {(int32_t)ZR_SEQUENCE_LIMIT - 3, (int32_t)ZR_SEQUENCE_LIMIT,
                                2147483600, 2147483645, 2147483647};
    for (size_t i = 0; i < sizeof(counters) / sizeof(counters[0]); i++)
        test(counters[i]);
    printf("%d passed, %d failed\n", passed, failed);
    return failed > 0;
}
