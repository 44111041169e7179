#include "recipes/barrier/member.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "core/ephemerals.h"
#include "core/names.h"

/* A member of a round, and what its tasks have in common. */

#define SHORTEST_US 50000
#define LONGEST_US 3000000

/* ---- The member ---------------------------------------------------------------------------- */

void zr_member_unref(struct zr_member *member)
{
    if (member == NULL || --member->refs > 0)
        return;
    zr_free(member->waits);
    zr_free(member->takes_part);
    zr_free(member->round);
    zr_free(member->mark);
    zr_free(member);
}

struct zr_member *zr_member_ref(struct zr_member *member)
{
    member->refs++;
    return member;
}

static char *path_of(const struct zr_rounds *rounds, char kind, const char *tag)
{
    char name[2 + ZR_MEMBER_TAG];
    snprintf(name, sizeof(name), "%c-%s", kind, tag);
    return zr_path_child(rounds->znode.full, name);
}

struct zr_member *zr_member_new(struct zr_rounds *rounds)
{
    struct zr_session *session = rounds->znode.session;
    struct zr_member *member = zr_alloc(sizeof(*member));
    char tag[ZR_TAG];
    if (member == NULL)
        return NULL;
    member->refs = 1;
    member->id = session->id;
    member->dead = -1;
    zr_session_tag(session, session->id, tag);
    snprintf(member->tag, sizeof(member->tag), "n%d-%s", (int)rounds->size, tag);
    member->waits = path_of(rounds, 'w', member->tag);
    member->takes_part = path_of(rounds, 'm', member->tag);
    if (member->waits != NULL && member->takes_part != NULL)
        return member;
    zr_member_unref(member);
    return NULL;
}

enum zr_status zr_member_new_multi(struct zr_task *task, const struct zr_request *parts,
                                   size_t count, struct zr_call **call)
{
    enum zr_status status = zr_call_new_multi(task->session, NULL, parts, count, call);
    if (status != ZR_OK)
        return status;
    status = zr_ephemerals_reserve(*call);
    if (status != ZR_OK)
        zr_call_free(*call);
    return status;
}

enum zr_status zr_member_new_delete(struct zr_task *task, struct zr_call **call)
{
    const struct zr_member *member = zr_visit_of(task)->member;
    const char *namespace = task->session->namespace;
    const struct zr_request parts[] = {
        {.op = ZR_OP_DELETE,
         .path = zr_path_inside(namespace, member->waits),
         .version = ZR_ANY_VERSION},
        {.op = ZR_OP_DELETE,
         .path = zr_path_inside(namespace, member->takes_part),
         .version = ZR_ANY_VERSION},
    };
    return zr_member_new_multi(task, parts, 2, call);
}

/* ---- Its tasks ----------------------------------------------------------------------------- */

struct zr_visit *zr_visit_of(struct zr_task *task)
{
    return ZR_HOLDER(zr_znode_task_of(task), struct zr_visit, znode_task);
}

struct zr_rounds *zr_rounds_of(struct zr_task *task)
{
    return ZR_HOLDER(zr_znode_of(task), struct zr_rounds, znode);
}

void zr_visit_fini(struct zr_visit *visit)
{
    zr_call_free(visit->listing);
    zr_free(visit->path);
    visit->listing = NULL;
    visit->path = NULL;
}

void zr_visit_free(struct zr_task *task)
{
    struct zr_visit *visit = zr_visit_of(task);
    zr_visit_fini(visit);
    zr_member_unref(visit->member);
    zr_znode_task_free(task);
}

void zr_visit_keep_listing(struct zr_task *task)
{
    struct zr_visit *visit = zr_visit_of(task);
    zr_names_sort(task->call->request.names);
    zr_call_free(visit->listing);
    visit->listing = task->call;
    task->call = NULL;
}

/* ---- Deleting ------------------------------------------------------------------------------ */

bool zr_visit_passes(enum zr_status status)
{
    return status == ZR_LOST || status == ZR_NO_MEMORY || status == ZR_CONNECTION_LOSS ||
           status == ZR_SERVER_ERROR;
}

void zr_visit_pause(struct zr_task *task, struct zr_next next)
{
    struct zr_visit *visit = zr_visit_of(task);
    int64_t pause = visit->pause_us > 0 ? 2 * visit->pause_us : SHORTEST_US;
    visit->pause_us = pause < LONGEST_US ? pause : LONGEST_US;
    zr_verb_pause(task, visit->pause_us, next);
}

static void try_delete(struct zr_task *task);

static void tried(struct zr_task *task)
{
    if (zr_visit_passes(task->outcome))
        zr_visit_pause(task, ZR_STEP(try_delete));
    else
        zr_visit_of(task)->deleted.step(task);
}

static void try_delete(struct zr_task *task)
{
    struct zr_visit *visit = zr_visit_of(task);
    struct zr_call *call;
    enum zr_status status =
        zr_call_new_full(task->session, ZR_OP_DELETE, visit->doomed, ZR_NO_DATA, &call);
    if (status != ZR_OK) {
        zr_visit_pause(task, ZR_STEP(try_delete));
        return;
    }
    call->request.version = ZR_ANY_VERSION;
    zr_verb_request(task, call, true, ZR_STEP(tried));
}

void zr_visit_delete(struct zr_task *task, const char *path, struct zr_next next)
{
    struct zr_visit *visit = zr_visit_of(task);
    visit->doomed = path;
    visit->deleted = next;
    visit->pause_us = 0;
    try_delete(task);
}
