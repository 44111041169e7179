#include "core/alloc.h"
#include "core/verbs.h"
#include "recipes/rwlock/sharing.h"

/*
 * hold:downgrade(): the writer of a read/write lock becomes a reader, and no writer holds between.
 *
 * 1. Mark the data of the hold's own node (sharing.h). The node stays, and with it the place at the
 *    head of the queue. Writers behind it keep waiting, as for any reader.
 * 2. Readers that wait for this node see the change and hold the lock too. Readers of this session
 *    watch nothing; the seat tells them.
 *
 * Curator takes a reader's seat at the end and then leaves the writer's. That would let in a writer
 * that waits between the two seats.
 *
 * What can go wrong: the answer is lost: the mark is written again until it is certain, because
 * writing it twice does no harm. The caller gives up: the write continues in the background, so
 * that readers of this session and of others see the same. The hold is released, or lost with its
 * session: then the mark is not needed any more.
 */

struct downgrade {
    struct zr_task task;
    struct zr_hold *hold; /* counted */
};

static struct zr_hold *hold_of(struct zr_task *task)
{
    return ZR_HOLDER(task, struct downgrade, task)->hold;
}

static void marked(struct zr_task *task)
{
    struct zr_hold *hold = hold_of(task);
    enum zr_status status = task->outcome;
    if (status == ZR_OK) {
        zr_seat_say(&hold->seat, hold->seat.word | ZR_SAYS_SHARES);
    } else if (status == ZR_NO_NODE) {
        zr_hold_lost(hold);
        status = ZR_LOST;
        task->detail = hold->why == ZR_OK
                           ? "the hold was released"
                           : "the hold's znode is gone, so it holds nothing; acquire again";
    }
    zr_task_finish(task, status);
}

static void mark(struct zr_task *task)
{
    struct zr_hold *hold = hold_of(task);
    if (zr_shares(hold->seat.stem, hold->seat.word) || hold->state != ZR_HELD ||
        zr_seat_over(&hold->seat)) {
        zr_task_finish(task, ZR_OK);
        return;
    }
    struct zr_request set = {.op = ZR_OP_SET, .path = hold->seat.path, .version = ZR_ANY_VERSION};
    set.data = zr_mark_data(hold->seat.data, hold->seat.czxid);
    if (set.data.at != NULL)
        zr_verb_ask(task, &set, true, ZR_STEP(marked));
    else
        zr_verb_fail(task, ZR_NO_MEMORY);
    zr_free((char *)set.data.at);
}

static void free_task(struct zr_task *task)
{
    struct zr_hold *hold = hold_of(task);
    zr_free(ZR_HOLDER(task, struct downgrade, task));
    zr_object_unref(&hold->object);
}

static const struct zr_task_kind kind = {.name = "hold:downgrade",
                                         .clean = mark,
                                         .bound = true,
                                         .results = zr_emit_true,
                                         .free = free_task};

enum zr_status zr_downgrade_start(struct zr_object *self, struct zr_args *args,
                                  struct zr_task **task)
{
    struct zr_hold *hold = (struct zr_hold *)self;
    if (hold->state != ZR_HELD && hold->why == ZR_OK)
        args->misuse = "the hold was released";
    if (args->misuse != NULL || hold->state != ZR_HELD)
        return args->misuse != NULL ? ZR_BAD_ARGUMENTS : hold->why;
    enum zr_status status = zr_session_usable(hold->session);
    if (status != ZR_OK)
        return status;
    struct downgrade *downgrade = zr_alloc(sizeof(*downgrade));
    if (downgrade == NULL)
        return ZR_NO_MEMORY;
    downgrade->hold = hold;
    zr_object_ref(self);
    *task = &downgrade->task;
    zr_task_start(*task, &kind, hold->session, hold->task.subject, -1, ZR_STEP(mark));
    return ZR_OK;
}
