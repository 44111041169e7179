/*
 * Implements the functions of zk.h for one simulated process. The host takes messages and waits;
 * while it waits, the whole world runs.
 */
#include "core/alloc.h"
#include "sim/process.h"
#include "sim/world.h"
#include "sim/world_alloc.h"

/* A wait without a limit ends after this time, as if by a signal. Otherwise the world would run
   forever for a host that waits forever. */
#define LONGEST_WAIT_US (3600 * INT64_C(1000000))

static int64_t now_us(struct zr_zk *zk)
{
    return zr_sim_process_of(zk)->world->now_us;
}

static enum zr_status open_handle(struct zr_zk *zk, const struct zr_zk_config *config, void *owner,
                                  struct zr_handle **handle)
{
    *handle = zr_sim_handle_new(zr_sim_process_of(zk), config, owner);
    return *handle != NULL ? ZR_OK : ZR_NO_MEMORY;
}

static int64_t lease_us(struct zr_handle *handle)
{
    return handle->closed ? 0 : handle->lease.deadline_us;
}

static int64_t proof_us(struct zr_handle *handle)
{
    return zr_sim_report_proof_us(handle);
}

static void take(struct zr_zk *zk, struct zr_list *messages)
{
    zr_sim_process_of(zk)->woken = false;
    zr_list_move(messages, &zr_sim_process_of(zk)->inbox);
}

static void free_notice(struct zr_zk *zk, struct zr_notice *notice)
{
    (void)zk;
    zr_free(notice);
}

static void wake(struct zr_zk *zk)
{
    zr_sim_process_of(zk)->woken = true;
}

static int fd(struct zr_zk *zk)
{
    (void)zk;
    return -1;
}

int64_t zr_sim_paused_us(const struct zr_zk *zk)
{
    const struct zr_sim_process *process = (const struct zr_sim_process *)zk;
    int64_t left_us = process->paused_until_us - process->world->now_us;
    return left_us > 0 ? left_us : 0;
}

bool zr_sim_paused(const struct zr_zk *zk)
{
    return zr_sim_paused_us(zk) > 0;
}

bool zr_sim_ready(const struct zr_zk *zk)
{
    const struct zr_sim_process *process = (const struct zr_sim_process *)zk;
    return (process->woken || !zr_list_empty(&process->inbox)) && !zr_sim_paused(zk);
}

static int64_t next_us(const struct zr_sim_world *world)
{
    return zr_sim_next_event(&world->agenda)->at_us;
}

/* A paused process cannot return from a wait before its pause ends. */
static void wait(struct zr_zk *zk, int64_t timeout_us)
{
    struct zr_sim_world *world = zr_sim_process_of(zk)->world;
    bool limited = timeout_us >= 0 && timeout_us < LONGEST_WAIT_US;
    int64_t until_us = world->now_us + (limited ? timeout_us : LONGEST_WAIT_US);
    while (!zr_sim_ready(zk) && (next_us(world) <= until_us || zr_sim_paused(zk)))
        zr_sim_step(world);
    if (!zr_sim_ready(zk) && world->now_us < until_us)
        world->now_us = until_us;
}

struct zr_sim_process *zr_sim_process_ref(struct zr_sim_process *process)
{
    process->refs++;
    return process;
}

void zr_sim_process_unref(struct zr_sim_process *process)
{
    if (--process->refs == 0)
        zr_sim_release(process);
}

static void drop_inbox(struct zr_sim_process *process)
{
    struct zr_link *link;
    while ((link = zr_list_shift(&process->inbox)) != NULL) {
        struct zr_message *message = ZR_HOLDER(link, struct zr_message, link);
        if (message->kind != ZR_MSG_REPLY)
            zr_free(message);
    }
}

static void free_zk(struct zr_zk *zk)
{
    struct zr_sim_process *process = zr_sim_process_of(zk);
    struct zr_sim_world *world = process->world;
    struct zr_link *link;
    while ((link = zr_list_first(&process->handles)) != NULL)
        zr_sim_handle_free(ZR_HOLDER(link, struct zr_handle, link));
    drop_inbox(process);
    zr_sim_plans_fini(process);
    zr_sim_cancel(&world->agenda, &process->resume);
    zr_unlink(&process->link);
    zr_sim_process_unref(process);
    zr_sim_world_free(world);
}

static const struct zr_zk table = {
    .now_us = now_us,
    .open = open_handle,
    .submit = zr_sim_handle_submit,
    .close = zr_sim_handle_close,
    .free_handle = zr_sim_handle_free,
    .lease_us = lease_us,
    .proof_us = proof_us,
    .take = take,
    .free_notice = free_notice,
    .wake = wake,
    .fd = fd,
    .wait = wait,
    .free = free_zk,
};

struct zr_zk *zr_sim_zk(struct zr_sim_world *world)
{
    struct zr_sim_process *process = zr_sim_alloc(sizeof(*process));
    process->table = table;
    process->refs = 1;
    process->world = world;
    process->preferred = -1;
    zr_list_init(&process->inbox);
    zr_list_init(&process->handles);
    zr_list_init(&process->plans);
    zr_list_append(&world->processes, &process->link);
    world->refs++;
    return &process->table;
}
