#include "recipes/barrier/leave.h"

#include <string.h>

#include "core/alloc.h"
#include "core/names.h"

/*
 * A member of a round of a double barrier leaves it, and learns how many members have died inside.
 *
 * 1. It lists the directory, then reads its round (leave_look.c). (In this order it counts each
 * member whose m- znode the listing misses.)
 * 2. In one request it deletes its m- znode and creates an ephemeral child of the round, its mark.
 *    ZooKeeper counts the children that a znode ever had, so the round tells how many members have
 *    left. A member that dies inside creates no mark.
 * 3. It waits until no m- znode of the round is left. It watches one of them at a time, and goes to
 *    1 when that one is gone.
 * 4. The members of the round minus the members that have left are the members that have died. An
 *    m- znode never comes back, so this number is final, and the same for each member.
 * 5. It deletes its mark, then the round (farewell.c). If the caller's limit passes meanwhile, this
 *    continues in the background.
 *
 * What can go wrong: a member dies after it has left: its mark goes with its session, and the count
 * stays; the next member that leaves a round deletes this one. The answer to step 2 is lost: the
 * request is repeated, and finds that the m- znode is gone. The member's own session is lost before
 * step 2: it counts among the dead, nothing keeps the round for it, and if the round is gone, the
 * number is not known. In another session it syncs before it lists, because that session may be at
 * a server that is behind. The limit passes: the member has left, or not; what it knows is kept for
 * the next call. The program drops the barrier: farewell.c, too.
 */

#define GRACE_US 50000 /* for counting those who are inside, when the limit has passed */

struct zr_leave *zr_leave_of(struct zr_task *task)
{
    return ZR_HOLDER(zr_visit_of(task), struct zr_leave, visit);
}

static struct zr_leave *of(struct zr_task *task)
{
    return zr_leave_of(task);
}

static struct zr_member *member_of(struct zr_task *task)
{
    return zr_visit_of(task)->member;
}

/* ---- The end ------------------------------------------------------------------------------- */

/* Notes first that the member has left: if the caller is gone while the rest is deleted, a later
   call returns the number. */
static void finish(struct zr_task *task, int64_t dead)
{
    struct zr_member *member = member_of(task);
    if (member->over) { /* another call of this object was faster */
        zr_task_finish(task, ZR_OK);
        return;
    }
    member->over = true;
    member->dead = dead;
    if (task->tries)
        zr_task_interrupt(task, ZR_OK); /* the clean-up does the rest */
    else
        zr_farewell(task);
}

static void rest_deleted(struct zr_task *task)
{
    if (task->outcome != ZR_OK && task->outcome != ZR_NO_NODE)
        zr_verb_fail(task, task->outcome);
    else
        finish(task, -1);
}

/* The round is gone, though the member has not read it. */
static void leave_nothing(struct zr_task *task)
{
    const struct zr_request what = {
        .op = ZR_OP_DELETE, .path = member_of(task)->takes_part, .version = ZR_ANY_VERSION};
    zr_call_free(zr_visit_of(task)->listing);
    zr_visit_of(task)->listing = NULL;
    zr_verb_ask(task, &what, true, ZR_STEP(rest_deleted));
}

/* ---- Waiting for the others ---------------------------------------------------------------- */

static void looked_once(struct zr_task *task)
{
    if (task->outcome == ZR_NO_NODE)
        zr_leave_look(task);
    else
        zr_verb_fail(task, task->outcome == ZR_OK ? ZR_TIMEOUT : task->outcome);
}

static bool name_awaited(struct zr_task *task)
{
    const char *dir = zr_znode_of(task)->full;
    const struct zr_bytes tag = of(task)->roll.first;
    zr_free(of(task)->awaited);
    char *path = of(task)->awaited = zr_alloc(strlen(dir) + tag.length + sizeof("/m-"));
    if (path != NULL)
        strncat(strcat(strcpy(path, dir), "/m-"), tag.at, tag.length);
    return path != NULL;
}

static void await(struct zr_task *task)
{
    struct zr_leave *leave = of(task);
    if (!name_awaited(task)) {
        zr_verb_fail(task, ZR_NO_MEMORY);
        return;
    }
    leave->awaiting = true;
    if (task->tries)
        zr_verb_read(task, ZR_OP_EXISTS, leave->awaited, false, ZR_STEP(looked_once));
    else
        zr_verb_await_deleted(task, leave->awaited, 0, ZR_STEP(zr_leave_look));
}

static void go_on(struct zr_task *task)
{
    const struct zr_roll *roll = &of(task)->roll;
    if (roll->inside > 0)
        await(task);
    else
        finish(task, (int64_t)roll->members - roll->left);
}

/* ---- Departing ----------------------------------------------------------------------------- */

static void departed(struct zr_task *task)
{
    if (task->outcome != ZR_OK && task->outcome != ZR_NO_NODE) {
        zr_verb_fail(task, task->outcome);
        return;
    }
    member_of(task)->departed = true;
    if (task->outcome == ZR_OK) {
        of(task)->roll.left++;
        go_on(task);
    } else {
        zr_leave_look(task);
    }
}

static enum zr_status new_multi(struct zr_task *task, struct zr_call **call)
{
    struct zr_member *member = member_of(task);
    const char *namespace = task->session->namespace;
    if (member->mark == NULL)
        member->mark = zr_path_child(member->round, member->tag);
    if (member->mark == NULL)
        return ZR_NO_MEMORY;
    const struct zr_request parts[] = {
        {.op = ZR_OP_DELETE,
         .path = zr_path_inside(namespace, member->takes_part),
         .version = ZR_ANY_VERSION},
        {.op = ZR_OP_CREATE,
         .path = zr_path_inside(namespace, member->mark),
         .data = {"", 0},
         .mode = ZR_EPHEMERAL},
    };
    return zr_member_new_multi(task, parts, 2, call);
}

static void depart(struct zr_task *task)
{
    struct zr_call *call;
    enum zr_status status = new_multi(task, &call);
    if (status == ZR_OK)
        zr_verb_request(task, call, true, ZR_STEP(departed));
    else
        zr_verb_fail(task, status);
}

void zr_leave_seen(struct zr_task *task, bool found)
{
    struct zr_leave *leave = of(task);
    if (!found) {
        leave_nothing(task);
        return;
    }
    const struct zr_request *round = &leave->content->request;
    leave->roll = zr_roll_of(leave->visit.listing->request.names, round->data_reply, &round->stat,
                             member_of(task)->tag);
    if (member_of(task)->departed)
        go_on(task);
    else
        depart(task);
}

/* ---- Giving up ----------------------------------------------------------------------------- */

static void tell(struct zr_task *task, size_t inside)
{
    inside = inside > 0 ? inside : 1;
    zr_task_explain(task, "%zu of %zu %s still inside", inside, of(task)->roll.members,
                    inside == 1 ? "is" : "are");
    zr_task_interrupt(task, ZR_TIMEOUT);
}

static void counted(struct zr_task *task)
{
    struct zr_leave *leave = of(task);
    const struct zr_request *round = &leave->content->request;
    if (task->outcome != ZR_OK) {
        tell(task, leave->roll.inside);
        return;
    }
    zr_visit_keep_listing(task);
    tell(task, zr_roll_of(leave->visit.listing->request.names, round->data_reply, &round->stat,
                          member_of(task)->tag)
                   .inside);
}

static void count_again(struct zr_task *task)
{
    of(task)->counting = true;
    zr_task_limit(task, GRACE_US);
    zr_verb_read(task, ZR_OP_CHILDREN, zr_znode_of(task)->full, false, ZR_STEP(counted));
}

static void give_up(struct zr_task *task)
{
    struct zr_leave *leave = of(task);
    enum zr_status why = task->outcome;
    if (member_of(task)->over)
        zr_task_interrupt(task, ZR_OK);
    else if (leave->counting || (why == ZR_TIMEOUT && task->tries))
        tell(task, leave->roll.inside);
    else if (why == ZR_LOST && leave->awaiting)
        zr_leave_look(task);
    else if (why == ZR_TIMEOUT && leave->awaiting)
        count_again(task);
    else
        zr_task_interrupt(task, why);
}

/* ---- The method ---------------------------------------------------------------------------- */

/* The object is in no round any more, if it still has this member. */
static void let_go(struct zr_task *task)
{
    struct zr_rounds *rounds = zr_rounds_of(task);
    if (rounds->member != member_of(task))
        return;
    rounds->member = NULL;
    zr_member_unref(member_of(task));
}

static void clean(struct zr_task *task)
{
    if (member_of(task)->over) {
        task->status = ZR_OK; /* whatever has ended the rest */
        zr_farewell(task);
        return;
    }
    if (task->status == ZR_CLOSED)
        let_go(task);
    zr_task_finish(task, task->status);
}

static void results(struct zr_task *task, struct zr_sink *sink)
{
    int64_t dead = member_of(task)->dead;
    sink->boolean(sink, NULL, true);
    if (dead >= 0)
        sink->integer(sink, NULL, dead);
    let_go(task);
}

static void free_leave(struct zr_task *task)
{
    zr_call_free(of(task)->content);
    zr_free(of(task)->awaited);
    zr_visit_free(task);
}

static const struct zr_task_kind kind = {.name = "double_barrier:leave",
                                         .clean = clean,
                                         .give_up = give_up,
                                         .results = results,
                                         .free = free_leave};

enum zr_status zr_rounds_leave(struct zr_object *self, struct zr_args *args, struct zr_task **task)
{
    struct zr_rounds *rounds = (struct zr_rounds *)self;
    struct zr_znode_task *znode_task;
    if (rounds->member == NULL) {
        args->misuse = "this object is in no round; call enter first";
        return ZR_BAD_ARGUMENTS;
    }
    enum zr_status status = zr_znode_task_new(sizeof(struct zr_leave), self, &znode_task);
    if (status != ZR_OK)
        return status;
    *task = &znode_task->task;
    zr_visit_of(*task)->member = zr_member_ref(rounds->member);
    zr_znode_task_start(znode_task, &kind, &args->at[0], ZR_STEP(zr_leave_look));
    return ZR_OK;
}
