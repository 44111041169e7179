#include "process.h"

/* ---- Its session --------------------------------------------------------------------------- */

static void open_session(struct process *process)
{
    struct zr_session_options options = {.hosts = {"sim:1", 5},
                                         .namespace = {"/n", 2},
                                         .timeout_us = now.shape.timeout_ms * MS,
                                         .tick_us = now.shape.tick_ms * MS,
                                         .request_timeout_us = -1,
                                         .strict = roll(4) == 0};
    if (process->session == NULL &&
        zr_session_open(process->engine, &zr_session_class, &options, &process->session) != ZR_OK)
        process->session = NULL;
    else if (process->object == NULL && now.recipe->make(process) != ZR_OK)
        process->object = NULL;
}

void close_session(struct process *process)
{
    struct zr_args args = {0};
    args.at[0].given = roll(2) == 0;
    args.at[0].integer = some_time();
    say("%d closes its session", process->number);
    process->close_us = NEVER;
    if (process->object != NULL)
        let_go(process->object);
    if (process->session != NULL) {
        start(&process->session->object, "close", &args, &process->closing);
        let_go(&process->session->object);
    }
    process->object = NULL;
    process->session = NULL;
}

#define ALL_CONNECTED (5 * MS)

static int64_t begins_after(const struct process *process)
{
    int64_t apart_us = now.shape.apart_us;
    return apart_us > 0 ? ALL_CONNECTED + process->number * apart_us : some_time();
}

void open_process(struct process *process, int number)
{
    *process = (struct process){.number = number, .count = now.shape.contenders};
    process->zk = zr_sim_zk(now.world);
    zr_engine_new(process->zk, zr_recipes, &process->engine);
    zr_engine_seed(process->engine, now.shape.seed + (uint64_t)number);
    process->close_us =
        now.shape.closes && roll(2) == 0 ? clock_us() + roll(now.shape.faults_us + 1) : NEVER;
    open_session(process);
    for (int i = 0; i < process->count; i++) {
        struct contender *contender = &process->contenders[i];
        *contender = (struct contender){.process = process, .number = i};
        contender->attempts = now.shape.attempts;
        after(contender, IDLE, begins_after(process));
    }
}

/* ---- Its turn ------------------------------------------------------------------------------ */

static void hand_out(struct process *process)
{
    struct zr_task *task;
    while ((task = zr_engine_next_reported(process->engine)) != NULL) {
        bool known = task == process->closing;
        if (known) {
            process->closing = NULL;
            zr_task_drop(task, true);
        } else {
            EACH_CONTENDER(c, process)
            known = known || reported(c, task);
            if (!known && now.recipe->reported != NULL)
                known = now.recipe->reported(task);
        }
        if (!known)
            wrong("a task was reported that nobody waits for");
    }
}

static void dispatch(struct process *process)
{
    int few = now.shape.stop_at > 0 ? 1 : roll(3) == 0 ? 1 + (int)roll(3) : 256;
    zr_engine_dispatch(process->engine, few);
    check_grants();
    check_holds();
    watch_tries();
    hand_out(process);
}

bool all_done(const struct process *process)
{
    for (int i = 0; i < process->count; i++)
        if (process->contenders[i].part != DONE)
            return false;
    return true;
}

/* Lets the users of the process act. Each action may end a wait of another contender, so the rules
   are checked each time. */
static void act_all(struct process *process)
{
    EACH_CONTENDER(c, process)
    if (c->due_us <= clock_us()) {
        act(c);
        check_holds();
    }
    if (process->over || process->closing != NULL)
        return;
    if (process->close_us <= clock_us())
        close_session(process);
    if (process->session == NULL || process->object == NULL)
        open_session(process);
}

/* Counts the steps for which the first contender waits; stops it at the step that the shape names.
 */
static void stop_in_time(struct process *process)
{
    struct contender *first = &process->contenders[0];
    if (process->number != now.shape.stops || first->part != WAITING || now.stopped ||
        ++process->steps < now.shape.stop_at)
        return;
    now.stopped = true;
    stop(first, now.shape.stop_how);
    check_holds();
}

void attend(struct process *process)
{
    if (zr_sim_paused(process->zk))
        return;
    if (zr_sim_ready(process->zk) || zr_engine_timeout_us(process->engine) == 0)
        dispatch(process);
    if (now.shape.stop_at > 0)
        stop_in_time(process);
    if (zr_engine_timeout_us(process->engine) != 0)
        check_told(process);
    act_all(process);
}

int64_t next_due(struct process *process)
{
    if (zr_sim_paused(process->zk))
        return clock_us() + 10 * MS;
    int64_t timeout_us = zr_engine_timeout_us(process->engine);
    int64_t due_us = timeout_us < 0 ? NEVER : clock_us() + timeout_us;
    EACH_CONTENDER(c, process)
    due_us = c->due_us < due_us ? c->due_us : due_us;
    if (!process->over && (process->session == NULL || process->object == NULL))
        return clock_us() + MS;
    return process->closing == NULL && process->close_us < due_us ? process->close_us : due_us;
}

/* ---- Faults -------------------------------------------------------------------------------- */

static void trouble_process(struct process *process)
{
    int64_t timeout_us = now.shape.timeout_ms * MS;
    switch (roll(6)) {
    case 0:
        zr_sim_cut(process->zk, 0, roll(2) == 0);
        break;
    case 1:
        zr_sim_link(process->zk, roll(2) == 0);
        break;
    case 2:
        zr_sim_partition(process->zk, (unsigned)roll(4));
        break;
    case 3:
        zr_sim_pause(process->zk, roll(timeout_us * (1 + roll(2))));
        break;
    case 4:
        zr_sim_prefer(process->zk, (int)roll(now.shape.servers));
        zr_sim_cut(process->zk, 0, true);
        break;
    case 5:
        if (now.shape.kills && process->session != NULL)
            zr_sim_expire(now.world, process->session->id);
    }
}

void use_up(void)
{
    const char *path = now.recipe->queue != NULL ? now.recipe->queue : now.recipe->dir;
    struct zr_stat dir;
    if (!zr_sim_stat(now.world, path, &dir) || dir.czxid == now.used_up)
        return;
    zr_sim_set_counter(now.world, path, (int32_t)(INT64_C(2147483647) - (1 << 20) - roll(5)));
    now.used_up = dir.czxid;
    say("the numbers are near their end");
}

/* A random znode of the recipe. */
struct choice {
    int left;
    char path[200];
    int64_t czxid;
};

static void choose(void *with, const struct zr_sim_view *view)
{
    struct choice *choice = with;
    if (strlen(view->path) == strlen(now.recipe->dir) || choice->left-- != 0)
        return;
    snprintf(choice->path, sizeof(choice->path), "%s", view->path);
    choice->czxid = view->stat.czxid;
}

/* True if this may be a holder's znode: the oldest one; if there is a queue, any that is not in
   it. */
static bool may_be_held(const struct choice *choice)
{
    const char *queue = now.recipe->queue;
    if (queue != NULL)
        return strncmp(choice->path, queue, strlen(queue)) != 0 ||
               strlen(choice->path) == strlen(queue);
    struct census census = {NULL, "", choice->czxid, 0};
    zr_sim_walk(now.world, now.recipe->dir, count_node, &census);
    return census.count == 0;
}

/* Another client writes to a contender's znode, or deletes it unless it may be a holder's. */
static void meddle(void)
{
    size_t count = zr_sim_count(now.world, now.recipe->dir);
    if (count == 0)
        return;
    now.meddled++;
    struct choice choice = {.left = (int)roll((int64_t)count)};
    zr_sim_walk(now.world, now.recipe->dir, choose, &choice);
    if (roll(2) == 0)
        zr_sim_touch(now.world, choice.path);
    else if (!may_be_held(&choice) && now.removed_count < MOST_REMOVED) {
        now.removed[now.removed_count++] = choice.czxid;
        zr_sim_remove(now.world, choice.path);
    }
}

/* No client reaches a server, and one server stops before it has told the leader which sessions it
   has heard from. */
static void black_out(int server)
{
    zr_sim_stop(now.world, server, true);
    EACH_PROCESS(p)
    zr_sim_link(p->zk, false);
    now.chaos_us = clock_us() + now.shape.timeout_ms * MS * 3 / 2;
}

static void light_up(void)
{
    for (int i = 0; i < now.shape.servers; i++)
        zr_sim_stop(now.world, i, false);
    EACH_PROCESS(p)
    zr_sim_link(p->zk, true);
}

static void trouble_servers(void)
{
    int server = (int)roll(now.shape.servers);
    switch (roll(7)) {
    case 0:
        zr_sim_lag(now.world, server, roll(300 * MS));
        break;
    case 1:
        if (server > 0)
            zr_sim_isolate(now.world, server, roll(2) == 0);
        break;
    case 2:
        zr_sim_stop(now.world, server, roll(2) == 0);
        break;
    case 3:
        zr_sim_rename(now.world,
                      now.processes[0].session != NULL ? now.processes[0].session->id : 0);
        break;
    case 4:
        if (roll(3) == 0)
            use_up();
        break;
    case 5:
        if (server > 0)
            black_out(server);
        break;
    case 6:
        light_up();
    }
}

void trouble(void)
{
    now.chaos_us = clock_us() + roll(now.shape.timeout_ms * MS);
    int64_t whose = roll(6);
    if (whose < 2)
        trouble_servers();
    else if (whose == 2)
        meddle();
    else
        trouble_process(&now.processes[roll(now.shape.processes)]);
}

void heal(void)
{
    say("faults end");
    now.chaos_us = NEVER;
    zr_sim_set_faults(now.world, NULL);
    for (int i = 0; i < now.shape.servers; i++) {
        zr_sim_isolate(now.world, i, false);
        zr_sim_stop(now.world, i, false);
    }
    EACH_PROCESS(p)
    {
        zr_sim_partition(p->zk, 0);
        zr_sim_link(p->zk, true);
    }
}
