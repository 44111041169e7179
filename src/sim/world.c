/*
 * A world is an agenda of events, and a clock that moves from one event to the next. The seed and
 * the actions of the clients decide everything: no decision depends on threads, real time or
 * addresses.
 */
#include <string.h>

#include "sim/world.h"

#include "sim/world_alloc.h"

#define LEADER "leader:"
#define EPOCH_ZXID INT64_C(0x100000000)     /* the first zxid of a first epoch */
#define BEGINNING_US INT64_C(1000000000000) /* not 0, which means "none" in many places */
#define WALL_MS INT64_C(1700000000000)      /* the servers' clock then */

int64_t zr_sim_latency_us(struct zr_sim_world *world)
{
    return world->options.latency_us +
           zr_sim_random_below(&world->random, world->options.jitter_us);
}

int64_t zr_sim_wall_ms(const struct zr_sim_world *world)
{
    return WALL_MS + (world->now_us - BEGINNING_US) / 1000;
}

void zr_sim_trace(const struct zr_sim_world *world, const char *format, ...)
{
    va_list arguments;
    if (world->options.trace == NULL)
        return;
    if (world->options.leader_only && strncmp(format, LEADER, strlen(LEADER)) != 0)
        return;
    int64_t us = world->now_us - BEGINNING_US;
    fprintf(world->options.trace, "%6lld.%06d  ", (long long)(us / 1000000), (int)(us % 1000000));
    va_start(arguments, format);
    vfprintf(world->options.trace, format, arguments);
    va_end(arguments);
    fputc('\n', world->options.trace);
}

void zr_sim_trace_to(struct zr_sim_world *world, FILE *to)
{
    world->options.trace = to;
}

void zr_sim_trace_leader_only(struct zr_sim_world *world)
{
    world->options.leader_only = true;
}

/* ---- Beginning and end --------------------------------------------------------------------- */

static void set_options(struct zr_sim_world *world, const struct zr_sim_options *options)
{
    struct zr_sim_options *set = &world->options;
    *set = *options;
    set->servers = set->servers > 0 ? set->servers : 3;
    set->tick_ms = set->tick_ms > 0 ? set->tick_ms : 2000;
    set->least_ms = set->least_ms > 0 ? set->least_ms : 2 * set->tick_ms;
    set->reap_ms = set->reap_ms > 0 ? set->reap_ms : 60000;
    set->latency_us = set->latency_us > 0 ? set->latency_us : 200;
    set->jitter_us = set->jitter_us > 0 ? set->jitter_us : set->jitter_us < 0 ? 0 : 400;
    set->late_us = set->late_us > 0 ? set->late_us : set->jitter_us;
}

/* The top byte is the number of a server, from 1 to 254, so half of the ids are negative. */
static int64_t first_session(struct zr_sim_world *world)
{
    uint64_t server = 1 + (uint64_t)zr_sim_random_below(&world->random, 254);
    uint64_t time = zr_sim_random_next(&world->random) & 0xffffffffffu;
    return (int64_t)(server << 56 | time << 16);
}

struct zr_sim_world *zr_sim_world_new(const struct zr_sim_options *options)
{
    struct zr_sim_world *world = zr_sim_alloc(sizeof(*world));
    world->refs = 1;
    world->now_us = BEGINNING_US;
    world->zxid = EPOCH_ZXID;
    set_options(world, options);
    world->random.state = options->seed;
    world->dice.state = ~options->seed;
    world->last_session = first_session(world);
    zr_list_init(&world->log);
    zr_list_init(&world->sessions);
    zr_list_init(&world->processes);
    world->server_count = (size_t)world->options.servers;
    world->servers = zr_sim_alloc(world->server_count * sizeof(*world->servers));
    for (size_t i = 0; i < world->server_count; i++)
        zr_sim_server_init(&world->servers[i], world, (int)i);
    zr_sim_tick_start(world);
    return world;
}

static void end_world(struct zr_sim_world *world)
{
    struct zr_link *link;
    for (size_t i = 0; i < world->server_count; i++)
        zr_sim_server_fini(&world->servers[i]);
    while ((link = zr_list_shift(&world->log)) != NULL)
        zr_sim_txn_free(ZR_HOLDER(link, struct zr_sim_txn, link));
    zr_sim_sessions_fini(world);
    zr_sim_agenda_fini(&world->agenda);
    zr_sim_release(world->servers);
    zr_sim_release(world);
}

void zr_sim_world_free(struct zr_sim_world *world)
{
    if (--world->refs == 0)
        end_world(world);
}

/* ---- Time ---------------------------------------------------------------------------------- */

int64_t zr_sim_now_us(const struct zr_sim_world *world)
{
    return world->now_us;
}

void zr_sim_step(struct zr_sim_world *world)
{
    struct zr_sim_event *event = zr_sim_next_event(&world->agenda);
    if (event->at_us > world->now_us)
        world->now_us = event->at_us;
    zr_sim_cancel(&world->agenda, event);
    event->happen(event);
}

static bool any_ready(const struct zr_sim_world *world)
{
    ZR_LIST_EACH (link, &world->processes)
        if (zr_sim_ready(&ZR_HOLDER(link, struct zr_sim_process, link)->table))
            return true;
    return false;
}

static bool step_until(struct zr_sim_world *world, int64_t until_us)
{
    if (zr_sim_next_event(&world->agenda)->at_us <= until_us) {
        zr_sim_step(world);
        return true;
    }
    if (world->now_us < until_us)
        world->now_us = until_us;
    return false;
}

void zr_sim_advance(struct zr_sim_world *world, int64_t us)
{
    int64_t until_us = world->now_us + us;
    while (step_until(world, until_us))
        continue;
}

bool zr_sim_run(struct zr_sim_world *world, int64_t until_us)
{
    bool ready;
    while (!(ready = any_ready(world)) && step_until(world, until_us))
        continue;
    return ready;
}
