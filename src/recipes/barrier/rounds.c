#include <inttypes.h>
#include <stdio.h>

#include "recipes/barrier/member.h"

/*
 * Double and cyclic barriers: n members continue together. The double barrier is that of
 * ZooKeeper's page of recipes, but the algorithm is ours.
 *
 * 1. A member creates two ephemeral znodes in one request: w-<tag> means that it waits, m-<tag>
 *    that it takes part.
 * 2. It lists the directory. A member that sees n waiting members begins a round with the first n
 *    of them: in one request it deletes their w- znodes and creates round-<tag>, whose data are
 *    their tags. If one of them has given up, or another member was faster, the request changes
 *    nothing, and the member lists again.
 * 3. When its own w- znode is gone, the member is in a round. Each member watches only this znode.
 * 4. A member of a cyclic barrier deletes its m- znode; such a barrier has no round- znodes. A
 *    member of a double barrier leaves the round later: leave.c.
 *
 * Members beyond n wait for the next round. The tags say n: a member counts only those that wait
 * for the same n, and one that finds a member with another n, which has waited longer than all with
 * its own, gives up (ZR_CONFLICT).
 *
 * What can go wrong: the time limit passes: the member deletes its znodes; if w- was gone already,
 * the member is in a round, and the call succeeds (give_up.c). A member dies: its znodes are
 * deleted with its session. The session is lost while the member waits: then it is not known
 * whether the round had begun.
 */

#define MEMBERS_MAX 5000
#define REQUEST_MAX 1000000 /* bytes */
/* Bytes that a member needs in the request that begins a round, beside the barrier's path. */
#define NAME_ROOM 90

/* ---- The class ------------------------------------------------------------------------------ */

static void get_member(struct zr_object *self, struct zr_sink *sink)
{
    const struct zr_member *member = ((struct zr_rounds *)self)->member;
    if (member == NULL) {
        sink->nothing(sink, NULL);
        return;
    }
    sink->begin(sink, NULL);
    zr_emit_string(sink, "tag", member->tag);
    sink->id(sink, "id", member->id);
    sink->end(sink);
}

static void free_rounds(struct zr_object *self)
{
    zr_member_unref(((struct zr_rounds *)self)->member);
    zr_znode_free(self);
}

/* The program has dropped the barrier, perhaps after a `leave` that did not end. */
static void forget(struct zr_object *self)
{
    struct zr_rounds *rounds = (struct zr_rounds *)self;
    struct zr_member *member = rounds->member;
    rounds->member = NULL;
    if (member != NULL && !member->over && zr_session_usable(rounds->znode.session) == ZR_OK)
        zr_farewell_start(rounds, member);
    zr_member_unref(member);
}

static const struct zr_property properties[] = {{"path", zr_znode_get_path},
                                                {"session", zr_znode_get_session},
                                                {"member", get_member},
                                                {NULL, NULL}};

static const struct zr_method double_methods[] = {
    {.name = "enter", .args = "t?", .start = zr_rounds_join},
    {.name = "leave", .args = "t?", .start = zr_rounds_leave},
    {.name = NULL},
};

static const struct zr_method cyclic_methods[] = {
    {.name = "wait", .args = "t?", .start = zr_rounds_join},
    {.name = NULL},
};

const struct zr_class zr_double_barrier_class = {"double_barrier", double_methods, properties,
                                                 forget, free_rounds};
const struct zr_class zr_cyclic_barrier_class = {"cyclic_barrier", cyclic_methods, properties, NULL,
                                                 free_rounds};

/* ---- The recipes ---------------------------------------------------------------------------- */

/* One request names all members of a round. A chroot and a namespace count too; but they are not
   the caller's. */
static bool check_size(struct zr_args *args)
{
    const struct zr_bytes path = args->at[0].bytes;
    int64_t size = args->at[1].integer;
    int64_t most = REQUEST_MAX / ((int64_t)path.length + NAME_ROOM) - 1; /* less the round itself */
    args->misuse = args->text;
    if (size < 1 || size > MEMBERS_MAX)
        snprintf(args->text, sizeof(args->text), "whole number from 1 to %d expected, got %" PRId64,
                 MEMBERS_MAX, size);
    else if (size > most)
        snprintf(args->text, sizeof(args->text),
                 "a path of %zu bytes allows at most %" PRId64 " members, got %" PRId64,
                 path.length, most, size);
    else
        args->misuse = NULL;
    return args->misuse == NULL;
}

static enum zr_status make(struct zr_session *session, struct zr_args *args,
                           const struct zr_class *class, struct zr_object **object)
{
    if (!check_size(args))
        return ZR_BAD_ARGUMENTS;
    enum zr_status status = zr_znode_new(sizeof(struct zr_rounds), class, session, args, object);
    if (status != ZR_OK)
        return status;
    struct zr_rounds *rounds = (struct zr_rounds *)*object;
    rounds->size = args->at[1].integer;
    rounds->leaves = class == &zr_double_barrier_class;
    return ZR_OK;
}

static enum zr_status make_double(struct zr_session *session, struct zr_args *args,
                                  struct zr_object **object)
{
    return make(session, args, &zr_double_barrier_class, object);
}

static enum zr_status make_cyclic(struct zr_session *session, struct zr_args *args,
                                  struct zr_object **object)
{
    return make(session, args, &zr_cyclic_barrier_class, object);
}

const struct zr_recipe zr_double_barrier_recipe = {
    .name = "double_barrier", .args = "pi", .make = make_double};
const struct zr_recipe zr_cyclic_barrier_recipe = {
    .name = "cyclic_barrier", .args = "pi", .make = make_cyclic};
