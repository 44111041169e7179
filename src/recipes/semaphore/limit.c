#include <inttypes.h>
#include <stdio.h>

#include "core/alloc.h"
#include "core/verbs.h"
#include "recipes/semaphore/semaphore.h"

/*
 * How the limit of a semaphore is known.
 *
 * It is read once and then kept, with the zxid of the write that set it. Every listing brings the
 * directory's stat, which tells whether that write was still the last one. A listing and a limit
 * that match in this way are the state of the servers at one instant.
 */

/* ---- Reading it ---------------------------------------------------------------------------- */

static void keep(struct zr_semaphore *semaphore, const struct zr_capacity *capacity)
{
    semaphore->capacity = *capacity;
    semaphore->data = zr_capacity_write(capacity, semaphore->text);
}

void zr_limit_give(struct zr_semaphore *semaphore, int64_t limit)
{
    semaphore->given = limit;
    semaphore->known = false;
    keep(semaphore, &(struct zr_capacity){limit, 0, ZR_CAPACITY_ALL});
}

int64_t zr_limit_last(const struct zr_semaphore *semaphore)
{
    return semaphore->capacity.limit;
}

static void note_stat(struct zr_limit_read *read, const struct zr_stat *stat)
{
    read->mzxid = stat->mzxid;
    read->pzxid = stat->pzxid;
    read->cversion = stat->cversion;
    read->child_count = stat->child_count;
}

static void asked(struct zr_call *call)
{
    struct zr_limit_read *read = call->owner;
    struct zr_semaphore *semaphore = read->semaphore;
    const struct zr_request *request = &call->request;
    struct zr_capacity capacity;
    read->call = NULL;
    if (request->status == ZR_OK) {
        note_stat(read, &request->stat);
        semaphore->mzxid = request->stat.mzxid;
        semaphore->known = true;
        semaphore->readable = zr_capacity_read(request->data_reply, &capacity);
        if (semaphore->readable)
            keep(semaphore, &capacity);
    } else if (request->status != ZR_NO_NODE && request->status != ZR_CONNECTION_LOSS) {
        read->refused = request->status;
    }
    zr_call_free(call);
}

void zr_limit_forget(struct zr_limit_read *read)
{
    zr_call_free(read->call);
    read->call = NULL;
}

void zr_limit_fini(struct zr_limit_read *read)
{
    zr_limit_forget(read);
    zr_free(read->detail);
}

enum zr_status zr_limit_ask(struct zr_limit_read *read)
{
    struct zr_contest *contest = &read->semaphore->contest;
    zr_limit_forget(read);
    read->refused = ZR_OK;
    read->mzxid = 0;
    enum zr_status status =
        zr_call_new_full(contest->session, ZR_OP_GET, contest->dir, ZR_NO_DATA, &read->call);
    if (status == ZR_OK)
        zr_call_start(read->call, asked, read);
    return status;
}

/* ---- Against a listing --------------------------------------------------------------------- */

void zr_limit_missing(struct zr_task *task)
{
    task->detail = "no limit is stored; pass one to session:semaphore";
    zr_verb_fail(task, ZR_NO_NODE);
}

#define DETAIL 160

static void describe_conflict(char *detail, const struct zr_semaphore *semaphore, int64_t permits)
{
    if (permits > 0)
        snprintf(detail, DETAIL,
                 "%" PRId64 " permits were asked for, but the limit is %" PRId64
                 "; ask for fewer, or resize the semaphore",
                 permits, semaphore->capacity.limit);
    else if (semaphore->readable)
        snprintf(detail, DETAIL,
                 "the limit %" PRId64 " was given, but %" PRId64
                 " is stored; resize the semaphore, or leave the limit out",
                 semaphore->given, semaphore->capacity.limit);
    else
        snprintf(detail, DETAIL, "the data of the znode are not a limit; call resize to store one");
}

void zr_limit_conflict(struct zr_task *task, struct zr_limit_read *read, int64_t permits)
{
    zr_free(read->detail);
    read->detail = zr_alloc(DETAIL);
    task->detail = "the stored limit conflicts with the one given";
    if (read->detail != NULL) {
        describe_conflict(read->detail, read->semaphore, permits);
        task->detail = read->detail;
    }
    zr_verb_fail(task, ZR_CONFLICT);
}

/* True if the data are a limit, and it was the user's limit when we first read it. */
static bool agrees(const struct zr_semaphore *semaphore)
{
    bool other = semaphore->given > 0 && semaphore->given != semaphore->capacity.limit;
    return semaphore->readable && (!other || semaphore->agreed);
}

bool zr_limit_known(const struct zr_semaphore *semaphore)
{
    return semaphore->known && agrees(semaphore);
}

bool zr_limit_stands(struct zr_task *task, struct zr_limit_read *read, zr_step *look)
{
    struct zr_semaphore *semaphore = read->semaphore;
    const struct zr_seats *seats = task->seats;
    if (read->refused != ZR_OK) {
        zr_verb_fail(task, read->refused);
        return false;
    }
    if (!semaphore->known || semaphore->mzxid != seats->stat.mzxid) {
        semaphore->known = false;
        look(task);
        return false;
    }
    if (!agrees(semaphore)) {
        zr_limit_conflict(task, read, 0);
        return false;
    }
    semaphore->agreed = true;
    return true;
}
