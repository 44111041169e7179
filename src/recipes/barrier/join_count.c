#include "recipes/barrier/join.h"

#include <stdlib.h>
#include <string.h>

#include "core/alloc.h"
#include "core/names.h"

/*
 * A member counts those that wait:
 * 1. List. If n wait for our n, begin a round with the first n of them, and list again.
 * 2. Fewer wait. If others wait for another n, the member that has waited longest decides: read
 *    how old the others are, then whether one of ours is older.
 * 3. Ours are, or all wait for our n: wait for the round.
 *
 * What can go wrong: a round begins, or a member gives up, between the listing and our request:
 * the request changes nothing, and the member lists again. So does a repeated request whose first
 * answer was lost. A stranger's znode begins with "w-": it is no member, unless its name could be
 * ours. If such a znode has children, it cannot be deleted, and the member gives up (ZR_CONFLICT).
 */

#define MOST_DIGITS 4 /* of n */

static const char *name_at(struct zr_task *task, size_t at)
{
    return zr_visit_of(task)->listing->request.names->at[at];
}

/* ---- What a name says ---------------------------------------------------------------------- */

/* The n of this "w-n5-<tag>"; 0: that of an earlier version does not tell; -1: no member's name. */
static int64_t size_in(const char *name)
{
    static const char digits[] = "0123456789";
    int64_t size = 0;
    if (strncmp(name, "w-", 2) != 0)
        return -1;
    name += 2;
    if (*name == 'n') {
        size_t length = strspn(name + 1, digits);
        if (length == 0 || length > MOST_DIGITS || name[1 + length] != '-')
            return -1;
        size = strtoll(name + 1, NULL, 10);
        name += 1 + length + 1;
    }
    if (strspn(name, "0123456789abcdef") != 16 || name[16] != '-')
        return -1;
    size_t length = strspn(name + 17, digits);
    return length > 0 && name[17 + length] == '\0' ? size : -1;
}

static void swap(char **at, size_t one, size_t other)
{
    char *name = at[one];
    at[one] = at[other];
    at[other] = name;
}

void zr_join_sift(struct zr_task *task)
{
    struct zr_join *join = zr_join_of(task);
    struct zr_names *names = join->visit.listing->request.names;
    int64_t wanted = zr_rounds_of(task)->size;
    size_t waiting = 0, ours = 0;
    for (size_t i = 0; i < names->count; i++)
        if (size_in(names->at[i]) >= 0)
            swap(names->at, waiting++, i);
    for (size_t i = 0; i < waiting; i++) {
        int64_t size = size_in(names->at[i]);
        if (size == 0 || size == wanted)
            swap(names->at, ours++, i);
    }
    join->came = ours;
    join->others = waiting - ours;
}

/* ---- Who decides n ------------------------------------------------------------------------- */

static void look_at_others(struct zr_task *task);
static void look_at_ours(struct zr_task *task);

static void conflict(struct zr_task *task)
{
    int64_t size = size_in(name_at(task, zr_join_of(task)->came));
    zr_task_explain(task, "other members wait for %d, not for %d; all must pass the same n",
                    (int)size, (int)zr_rounds_of(task)->size);
    zr_verb_fail(task, ZR_CONFLICT);
}

static void read_age(struct zr_task *task, struct zr_next next)
{
    char *path = zr_path_child(zr_znode_of(task)->full, name_at(task, zr_visit_of(task)->at));
    if (path != NULL)
        zr_verb_read(task, ZR_OP_EXISTS, path, false, next);
    else
        zr_verb_fail(task, ZR_NO_MEMORY);
    zr_free(path);
}

static void our_age(struct zr_task *task)
{
    struct zr_join *join = zr_join_of(task);
    if (task->outcome == ZR_OK && task->call->request.stat.czxid < join->least) {
        zr_join_await(task);
    } else if (task->outcome == ZR_OK || task->outcome == ZR_NO_NODE) {
        join->visit.at++;
        look_at_ours(task);
    } else {
        zr_verb_fail(task, task->outcome);
    }
}

static void look_at_ours(struct zr_task *task)
{
    if (zr_visit_of(task)->at < zr_join_of(task)->came)
        read_age(task, ZR_STEP(our_age));
    else
        conflict(task);
}

static void their_age(struct zr_task *task)
{
    struct zr_join *join = zr_join_of(task);
    int64_t czxid = task->outcome == ZR_OK ? task->call->request.stat.czxid : 0;
    if (task->outcome != ZR_OK && task->outcome != ZR_NO_NODE) {
        zr_verb_fail(task, task->outcome);
        return;
    }
    if (czxid != 0 && (join->least == 0 || czxid < join->least))
        join->least = czxid;
    join->visit.at++;
    look_at_others(task);
}

static void look_at_others(struct zr_task *task)
{
    struct zr_join *join = zr_join_of(task);
    if (join->visit.at < join->came + join->others) {
        read_age(task, ZR_STEP(their_age));
    } else if (join->least == 0) {
        zr_join_await(task);
    } else {
        join->visit.at = 0;
        look_at_ours(task);
    }
}

/* ---- Beginning a round --------------------------------------------------------------------- */

/* Members are ephemeral, so they have no children. */
static void not_a_member(struct zr_task *task)
{
    const struct zr_request *multi = &task->call->request;
    size_t i = 0;
    while (i + 1 < multi->part_count && multi->parts[i].status != multi->status)
        i++;
    zr_task_explain(task, "the znode %s is named like a member, but has znodes below it; delete it",
                    zr_path_inside(task->session->namespace, multi->parts[i].path));
    zr_verb_fail(task, ZR_CONFLICT);
}

static void tried_to_begin(struct zr_task *task)
{
    if (task->outcome == ZR_OK || task->outcome == ZR_NO_NODE)
        zr_join_count(task);
    else if (task->outcome == ZR_NOT_EMPTY)
        not_a_member(task);
    else
        zr_verb_fail(task, task->outcome);
}

/* Writes "<path>/<prefix><name>" and its NUL. Returns where it ends. */
static char *write_path(char *at, const char *path, const char *prefix, const char *name)
{
    strcat(strcat(strcat(strcpy(at, path), "/"), prefix), name);
    return at + strlen(at) + 1;
}

/* Of the first n names of the listing. Writes their tags, one a line. */
static struct zr_bytes write_tags(char *at, char *const *names, size_t count)
{
    char *end = at;
    for (size_t i = 0; i < count; i++) {
        size_t length = strlen(names[i] + 2);
        memcpy(end, names[i] + 2, length);
        end += length;
        *end++ = '\n';
    }
    return (struct zr_bytes){at, (size_t)(end - at) - 1};
}

/* Fills in the parts, and the text behind them. Returns how many parts there are. */
static size_t fill(struct zr_task *task, struct zr_request *parts, char *text)
{
    const struct zr_rounds *rounds = zr_rounds_of(task);
    char *const *names = zr_visit_of(task)->listing->request.names->at;
    size_t size = (size_t)rounds->size;
    char tag[ZR_TAG];
    for (size_t i = 0; i < size; i++) {
        parts[i] = (struct zr_request){.op = ZR_OP_DELETE, .path = text, .version = ZR_ANY_VERSION};
        text = write_path(text, rounds->znode.path, "", names[i]);
    }
    if (!rounds->leaves)
        return size;
    zr_session_tag(task->session, zr_visit_of(task)->member->id, tag);
    parts[size] = (struct zr_request){.op = ZR_OP_CREATE, .path = text};
    text = write_path(text, rounds->znode.path, "round-", tag);
    parts[size].data = write_tags(text, names, size);
    return size + 1;
}

static enum zr_status new_multi(struct zr_task *task, struct zr_call **call)
{
    const struct zr_rounds *rounds = zr_rounds_of(task);
    size_t size = (size_t)rounds->size, arrays = (size + 1) * sizeof(struct zr_request);
    size_t folder = strlen(rounds->znode.path) + 2, room = arrays + folder + 6 + ZR_TAG;
    for (size_t i = 0; i < size; i++)
        room += folder + 2 * strlen(name_at(task, i));
    struct zr_request *parts = zr_alloc(room);
    if (parts == NULL)
        return ZR_NO_MEMORY;
    size_t count = fill(task, parts, (char *)parts + arrays);
    enum zr_status status = zr_call_new_multi(task->session, NULL, parts, count, call);
    zr_free(parts);
    return status;
}

static void begin(struct zr_task *task)
{
    struct zr_call *call;
    enum zr_status status = new_multi(task, &call);
    if (status == ZR_OK)
        zr_verb_request(task, call, true, ZR_STEP(tried_to_begin));
    else
        zr_verb_fail(task, status);
}

/* ---- Counting ------------------------------------------------------------------------------ */

static void listed(struct zr_task *task)
{
    struct zr_join *join = zr_join_of(task);
    if (task->outcome != ZR_OK) {
        zr_verb_fail(task, task->outcome);
        return;
    }
    zr_visit_keep_listing(task);
    zr_join_sift(task);
    join->visit.at = join->came;
    join->least = 0;
    if (join->came >= (size_t)zr_rounds_of(task)->size)
        begin(task);
    else
        look_at_others(task);
}

void zr_join_count(struct zr_task *task)
{
    zr_verb_read(task, ZR_OP_CHILDREN, zr_znode_of(task)->full, false, ZR_STEP(listed));
}
