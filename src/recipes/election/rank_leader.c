#include <string.h>

#include "core/alloc.h"
#include "core/names.h"
#include "recipes/election/rank.h"

/*
 * Which candidate leads by rank, for any caller; as leader.c, whose places this takes:
 * 1. Read the seat that led at the last look: one request. If it exists, it leads: the directory
 *    has named it, and its znode never comes back.
 * 2. Otherwise read the directory, and the seat that it names.
 * 3. If it names none, or one that is gone, there was no leader when it was read. A znode that is
 * not ephemeral is no leader, though candidates report it (rank.c) and do not pass it.
 *
 * The token and the time are those of the write that has decided, not of the seat.
 */

static void forget_head(struct zr_election *election)
{
    zr_free(election->head);
    election->head = NULL;
}

static void read_directory(struct zr_task *task);

/* The seat that was read leads no more. */
static void gone(struct zr_task *task)
{
    struct zr_look *look = zr_look_of(task);
    const char *name = strrchr(task->call->request.path, '/') + 1;
    if (strlen(name) < sizeof(look->ended))
        strcpy(look->ended, name);
    if (look->election->head != NULL && strcmp(look->election->head, task->call->request.path) == 0)
        forget_head(look->election);
    read_directory(task);
}

static void was_read(struct zr_task *task)
{
    struct zr_look *look = zr_look_of(task);
    struct zr_election *election = look->election;
    bool leads = task->outcome == ZR_OK && task->call->request.stat.ephemeral_owner != 0;
    if (task->outcome != ZR_OK && task->outcome != ZR_NO_NODE) {
        zr_verb_fail(task, task->outcome);
    } else if (!leads) {
        gone(task);
    } else if (election->head == NULL || strcmp(election->head, task->call->request.path) != 0) {
        zr_rank_look(task); /* another task has found another one meanwhile */
    } else {
        task->call->request.stat.czxid = election->token;
        task->call->request.stat.ctime_ms = election->since_ms;
        look->found(task);
    }
}

static void read_head(struct zr_task *task)
{
    struct zr_look *look = zr_look_of(task);
    const char *head = look->election->head;
    enum zr_status status = look->follows ? zr_follower_turn_to(look->election, head, 1) : ZR_OK;
    if (status == ZR_OK)
        zr_look_ask(task, ZR_OP_GET, head, ZR_STEP(was_read));
    else
        zr_verb_fail(task, status);
}

bool zr_rank_names_other(const struct zr_look *look, const struct zr_request *answer)
{
    struct zr_named named = zr_named_read(answer);
    return named.leader[0] != '\0' && strcmp(named.leader, look->ended) != 0;
}

static void directory_was_read(struct zr_task *task)
{
    struct zr_look *look = zr_look_of(task);
    struct zr_election *election = look->election;
    if (task->outcome != ZR_OK && task->outcome != ZR_NO_NODE) {
        zr_verb_fail(task, task->outcome);
        return;
    }
    if (task->outcome == ZR_NO_NODE || !zr_rank_names_other(look, &task->call->request)) {
        look->nobody(task);
        return;
    }
    struct zr_named named = zr_named_read(&task->call->request);
    forget_head(election);
    election->head = zr_path_child(election->contest.dir, named.leader);
    election->token = named.token;
    election->since_ms = named.since_ms;
    if (election->head != NULL)
        read_head(task);
    else
        zr_verb_fail(task, ZR_NO_MEMORY);
}

static void read_directory(struct zr_task *task)
{
    zr_verb_read(task, ZR_OP_GET, zr_look_of(task)->election->contest.dir, false,
                 ZR_STEP(directory_was_read));
}

void zr_rank_look(struct zr_task *task)
{
    if (zr_look_of(task)->election->head != NULL)
        read_head(task);
    else
        read_directory(task);
}
