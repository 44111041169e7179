#include "recipes/election/says.h"

#include "core/alloc.h"
#include "core/names.h"
#include "core/verbs.h"
#include "recipes/election/rank.h"
#include "recipes/election/successor.h"

/*
 * What a term's node says. Each write has all of it, as it is when the write is sent. So if one
 * write is repeated after another one, it does not bring back what the other one has replaced.
 *
 * A write begins with a check of the term's own node: so a leader that was paused for too long
 * changes nothing.
 */

/* ---- What it says -------------------------------------------------------------------------- */

struct zr_term *zr_term_of(struct zr_hold *hold)
{
    return (struct zr_term *)hold;
}

void zr_term_fini(struct zr_hold *hold)
{
    zr_free(zr_term_of(hold)->value.at);
}

static const struct zr_hold_more more = {.fini = zr_term_fini};

void zr_term_init(struct zr_hold *hold)
{
    hold->object.class = &zr_term_class;
    hold->more = &more;
    zr_term_of(hold)->successor = -1;
    zr_list_init(&zr_term_of(hold)->changing);
}

void zr_says_name(struct zr_term *term, int64_t number)
{
    struct zr_seat *seat = &term->hold.seat;
    term->successor = number;
    zr_seat_say(seat, (seat->word & ZR_SAYS_HEAD) | zr_successor_word(number));
}

/* The rank is the newest of the handle. */
static struct zr_value all_of(const struct zr_term *term)
{
    const struct zr_election *election = (const struct zr_election *)term->hold.owner;
    struct zr_value value = zr_value_read(election->contest.data, election->say != NULL);
    if (election->say != NULL)
        value.rank = election->say->rank;
    if (term->value.at != NULL)
        value.value = (struct zr_bytes){term->value.at, term->value.length};
    value.ready = term->ready;
    value.successor = term->successor;
    return value;
}

/* ---- The write ----------------------------------------------------------------------------- */

static enum zr_status new_write(const struct zr_term *term, struct zr_call **call)
{
    const struct zr_seat *seat = &term->hold.seat;
    struct zr_session *session = term->hold.session;
    const struct zr_value value = all_of(term);
    size_t length;
    char *data = zr_value_write(&value, &length);
    if (data == NULL)
        return ZR_NO_MEMORY;
    const struct zr_request set = {.op = ZR_OP_SET,
                                   .path = zr_path_inside(session->namespace, seat->path),
                                   .data = {data, length},
                                   .version = ZR_ANY_VERSION};
    enum zr_status status = zr_call_new_multi(session, seat->path, &set, 1, call);
    zr_free(data);
    if (status != ZR_OK)
        return status;
    (*call)->bound = true;
    (*call)->generation = seat->generation;
    return ZR_OK;
}

enum zr_status zr_says_try_write(struct zr_task *task, struct zr_term *term, struct zr_next next)
{
    struct zr_call *call;
    enum zr_status status = new_write(term, &call);
    if (status == ZR_OK)
        zr_verb_request(task, call, false, next);
    return status;
}

void zr_says_write(struct zr_task *task, struct zr_term *term, struct zr_next next)
{
    enum zr_status status = zr_says_try_write(task, term, next);
    if (status != ZR_OK)
        zr_verb_fail(task, status);
}

static size_t length_of(const struct zr_task *task)
{
    return task->call->request.parts[1].data.length;
}

bool zr_says_too_large(const struct zr_task *task, int *losses)
{
    return zr_lost_too_large(++*losses, length_of(task));
}

bool zr_says_gone(const struct zr_task *task, struct zr_term *term)
{
    bool gone = task->outcome == ZR_NO_NODE && task->call->request.parts[0].status == ZR_NO_NODE;
    if (gone)
        zr_hold_lost(&term->hold);
    return gone;
}

enum zr_status zr_says_written(struct zr_task *task, struct zr_term *term, int *losses)
{
    if (zr_says_gone(task, term)) {
        task->detail = ZR_HOLD_GONE;
        return ZR_LOST;
    }
    if (task->outcome != ZR_CONNECTION_LOSS || !zr_says_too_large(task, losses))
        return task->outcome;
    zr_task_explain(task,
                    "the link broke %d times at a request with %zu bytes of data; use a smaller "
                    "value, or raise the servers' jute.maxbuffer",
                    *losses, length_of(task));
    return ZR_TOO_LARGE;
}

/* ---- The end ------------------------------------------------------------------------------- */

void zr_term_resign(struct zr_term *term)
{
    term->resigned = true;
    zr_hold_forget(&term->hold.object);
}

bool zr_term_valid(const struct zr_term *term)
{
    const struct zr_hold *hold = &term->hold;
    return hold->state == ZR_HELD && zr_session_valid(hold->session, hold->seat.generation);
}
