#include "recipes/lock_request.h"

#include "core/names.h"
#include "core/verbs.h"
#include "recipes/contenders.h"

/*
 * lock:request: asks the holders to release, as Curator's Revoker does:
 * 1. Read all contenders.
 * 2. Write the word into the node of each holder, one after the other. A holder with `on_request`
 *    watches its node, and puts its data back (lua/zkrecipes/recipes/lock/lock.lua).
 *
 * It does not write into the node of a reader of a read/write lock: that node may carry the mark of
 * a downgrade.
 *
 * What can go wrong: the holder has left: there is none to ask. Its node has changed since it was
 * read: it may carry the mark of a downgrade now, so read it again. The answer is lost:
 * connection_loss, and the caller decides; asking twice does no harm.
 */

#define WORD "__REVOKE__"
#define TRIES 10

struct asking {
    struct zr_contenders all;
    struct zr_contenders_at at;
    struct zr_contender holder; /* the one that is asked now */
    int tries;                  /* of its node */
    int64_t asked;
};

static void ask_next(struct zr_task *task);

static struct asking *of(struct zr_task *task)
{
    return ZR_HOLDER(task, struct asking, all.task);
}

static void was_read(struct zr_task *task);

static void read_again(struct zr_task *task)
{
    struct asking *asking = of(task);
    if (++asking->tries < TRIES) {
        zr_verb_read(task, ZR_OP_GET, asking->holder.read->path, false, ZR_STEP(was_read));
        return;
    }
    task->detail = "the holder's znode keeps changing; try again later";
    zr_verb_fail(task, ZR_CONFLICT);
}

/* If a later holder fails, the first ones are asked all the same. */
static void count(struct zr_task *task)
{
    of(task)->asked++;
    task->doubtful = true;
    ask_next(task);
}

static void was_written(struct zr_task *task)
{
    if (task->outcome == ZR_OK)
        count(task);
    else if (task->outcome == ZR_NO_NODE)
        ask_next(task);
    else if (task->outcome == ZR_BAD_VERSION)
        read_again(task);
    else
        zr_verb_fail(task, task->outcome);
}

/* With version -1 the server would compare nothing. */
static void ask(struct zr_task *task, int32_t version)
{
    if (version == ZR_ANY_VERSION) {
        read_again(task);
        return;
    }
    const struct zr_request set = {.op = ZR_OP_SET,
                                   .path = of(task)->holder.read->path,
                                   .data = {WORD, sizeof(WORD) - 1},
                                   .version = version};
    zr_verb_ask(task, &set, false, ZR_STEP(was_written));
}

static void was_read(struct zr_task *task)
{
    const struct asking *asking = of(task);
    const struct zr_request *read = &task->call->request;
    if (task->outcome != ZR_OK && task->outcome != ZR_NO_NODE)
        zr_verb_fail(task, task->outcome);
    else if (task->outcome == ZR_NO_NODE || read->stat.ephemeral_owner == 0 ||
             zr_contender_shares(&asking->all, asking->holder.stem, read))
        ask_next(task);
    else
        ask(task, read->stat.version);
}

static void ask_next(struct zr_task *task)
{
    struct asking *asking = of(task);
    asking->tries = 0;
    while (zr_contenders_next(&asking->all, &asking->at, &asking->holder)) {
        if (asking->holder.holding && !asking->holder.shared) {
            ask(task, asking->holder.read->stat.version);
            return;
        }
    }
    zr_task_finish(task, ZR_OK);
}

static void results(struct zr_task *task, struct zr_sink *sink)
{
    sink->integer(sink, NULL, of(task)->asked);
}

static const struct zr_task_kind kind = {
    .name = "lock:request", .writes = true, .results = results, .free = zr_contenders_free};

enum zr_status zr_lock_request(struct zr_contest *lock, bool queue, const struct zr_arg *limit,
                               struct zr_task **task)
{
    struct zr_session *session = lock->session;
    enum zr_status status = zr_session_usable(session);
    if (status != ZR_OK)
        return status;
    struct zr_contenders *all = zr_contenders_new(sizeof(struct asking), &lock->object, lock->dir,
                                                  queue, ZR_STEP(ask_next));
    if (all == NULL)
        return ZR_NO_MEMORY;
    *task = &all->task;
    zr_task_start(*task, &kind, session, lock->path, zr_session_limit_us(session, limit),
                  ZR_STEP(zr_contenders_read));
    return ZR_OK;
}
