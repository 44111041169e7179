#include "recipes/election/election.h"

#include "core/alloc.h"
#include "core/names.h"
#include "core/verbs.h"
#include "recipes/election/make_room.h"
#include "recipes/election/rank.h"
#include "recipes/election/successor.h"
#include "recipes/unfair.h"

/*
 * Elections: the candidates queue up like contenders for a lock (contest.c). The first candidate
 * leads until its node is gone. The algorithm is "Leader Election" of ZooKeeper's page of recipes;
 * the names are those of Curator's LeaderLatch, whose participants stand in the same queue.
 *
 * Unfair: the path is one node; the candidate that creates it leads (unfair.c). By rank: rank.c.
 *
 * A term is a hold with other names for its methods. The candidate's node has its value, which
 * others can read (value.h). Lua writes what changes during a term
 * (lua/zkrecipes/recipes/election/election.lua). leader.c tells any caller which candidate leads.
 */

/* ---- What a candidate's node says ---------------------------------------------------------- */

/* marks(value, ready, successor[, rank]): what stands before and behind the value in the data.
   ready: 0 or 1. successor: -1: none. */
static enum zr_status call_marks(struct zr_object *self, struct zr_args *args, struct zr_sink *sink)
{
    const struct zr_arg *at = args->at;
    const struct zr_value value = {.value = at[0].bytes,
                                   .ready = at[1].integer != 0,
                                   .successor = at[2].integer,
                                   .ranked = at[3].given,
                                   .rank = at[3].integer};
    const struct zr_value_marks marks = zr_value_marks(&value);
    (void)self;
    sink->bytes(sink, NULL, (struct zr_bytes){marks.head, marks.head_length});
    sink->bytes(sink, NULL, (struct zr_bytes){marks.tail, marks.tail_length});
    return ZR_OK;
}

/* decode(data): value, ready, rank; without the value if the data are null, without the rank if
   there is none. */
static enum zr_status call_decode(struct zr_object *self, struct zr_args *args,
                                  struct zr_sink *sink)
{
    const struct zr_election *election = (struct zr_election *)self;
    const struct zr_value value = zr_value_read(args->at[0].bytes, election->say != NULL);
    sink->bytes(sink, NULL, value.value);
    sink->boolean(sink, NULL, value.ready);
    if (value.ranked)
        sink->integer(sink, NULL, value.rank);
    return ZR_OK;
}

/* ---- Terms --------------------------------------------------------------------------------- */

/* The term's node now names a successor by its number; -1: it names none. */
static enum zr_status call_named(struct zr_object *self, struct zr_args *args, struct zr_sink *sink)
{
    struct zr_seat *seat = &((struct zr_hold *)self)->seat;
    zr_seat_say(seat, (seat->word & ZR_SAYS_HEAD) | zr_successor_word(args->at[0].integer));
    sink->boolean(sink, NULL, true);
    return ZR_OK;
}

static const struct zr_method term_methods[] = {
    {.name = "marks", .args = "diiw?", .call = call_marks, .inner = true},
    {.name = "named", .args = "i", .call = call_named, .inner = true},
    {.name = "outdated", .args = "", .call = zr_rank_outdated, .inner = true},
    {.name = "make_room", .args = "ss?t?", .start = zr_make_room, .inner = true},
    {.name = "resign_to", .args = "st?", .start = zr_rank_resign, .inner = true},
    {.name = "resign", .args = "", .call = zr_hold_release},
    ZR_HOLD_METHODS,
    {.name = NULL},
};

const struct zr_class zr_term_class = {"term", term_methods, zr_hold_properties, zr_hold_forget,
                                       zr_hold_free};

/* ---- Elections ----------------------------------------------------------------------------- */

static const struct zr_option options[] = {
    {"value", 'd', offsetof(struct zr_election_options, value)},
    {"fair", 'n', offsetof(struct zr_election_options, unfair)},
    {"quorum", 'i', offsetof(struct zr_election_options, quorum)},
    {"rank", 'i', offsetof(struct zr_election_options, rank)},
    {NULL, 0, 0},
};

/* The leader is just ahead, and has named a successor behind us: leave the seat, and take another
   one at the end. */
static void step_aside(struct zr_task *task)
{
    zr_verb_vacate(task, &zr_hold_of(task)->seat, ZR_STEP(zr_contest_contend));
}

static const struct zr_role role = {.kind = ZR_CONTEST_KIND("election:campaign"),
                                    .stem = &zr_candidate_stem,
                                    .enough = zr_named_behind,
                                    .told = step_aside};

static enum zr_status start_campaign(struct zr_object *self, struct zr_args *args,
                                     struct zr_task **task)
{
    struct zr_election *election = (struct zr_election *)self;
    if (election->say != NULL)
        return zr_rank_campaign(election, &args->at[0], task);
    enum zr_status status = election->unfair
                                ? zr_unfair_start(&election->contest, &role, &args->at[0], task)
                                : zr_contest_start(&election->contest, &role, &args->at[0], task);
    if (status == ZR_OK)
        zr_hold_of(*task)->object.class = &zr_term_class;
    return status;
}

static enum zr_status start_candidates(struct zr_object *self, struct zr_args *args,
                                       struct zr_task **task)
{
    return ((struct zr_election *)self)->unfair
               ? zr_unfair_contenders(self, "election:candidates", args, task)
               : zr_contest_contenders(self, "election:candidates", args, task);
}

static void get_value(struct zr_object *self, struct zr_sink *sink)
{
    sink->bytes(sink, NULL, ((struct zr_contest *)self)->data);
}

static const struct zr_method methods[] = {
    {.name = "campaign", .args = "t?", .start = start_campaign},
    {.name = "decode", .args = "d?", .call = call_decode, .inner = true},
    {.name = "change_rank", .args = "w", .start = zr_rank_change, .inner = true},
    {.name = "cancel", .args = "", .call = zr_contest_cancel},
    {.name = "attempts", .args = "", .call = zr_contest_attempts},
    {.name = "candidates", .args = "t?", .start = start_candidates},
    {.name = "leader", .args = "t?", .start = zr_leader_start},
    {.name = "next_leader", .args = "i", .start = zr_next_leader_start},
    {.name = NULL},
};

static const struct zr_property properties[] = {{"path", zr_contest_get_path},
                                                {"value", get_value},
                                                {"session", zr_contest_get_session},
                                                {NULL, NULL}};

static void forget(struct zr_object *self)
{
    zr_follower_stop((struct zr_election *)self);
}

static void free_election(struct zr_object *self)
{
    struct zr_election *election = (struct zr_election *)self;
    zr_call_free(election->seen);
    zr_free(election->head);
    zr_rank_say_unref(election->say);
    zr_contest_free(self);
}

const struct zr_class zr_election_class = {"election", methods, properties, forget, free_election};

/* data: of its candidates' nodes. */
static enum zr_status make_with(struct zr_bytes data, struct zr_session *session,
                                struct zr_args *args, struct zr_object **object)
{
    const struct zr_election_options *given = args->options;
    enum zr_status status = zr_contest_new(sizeof(struct zr_election), &zr_election_class, session,
                                           args->at[0].bytes.at, data, object);
    if (status != ZR_OK)
        return status;
    struct zr_election *election = (struct zr_election *)*object;
    election->unfair = given->unfair;
    zr_signal_init(&election->news);
    if (given->quorum == 0)
        return ZR_OK;
    election->quorum = (size_t)given->quorum;
    election->say = zr_rank_say_new(data);
    if (election->say != NULL)
        return ZR_OK;
    zr_object_unref(*object);
    return ZR_NO_MEMORY;
}

static enum zr_status make(struct zr_session *session, struct zr_args *args,
                           struct zr_object **object)
{
    const struct zr_election_options *given = args->options;
    const struct zr_value value = {.value = given->value.at != NULL ? given->value
                                                                    : (struct zr_bytes){"", 0},
                                   .ranked = given->quorum != 0,
                                   .rank = given->rank,
                                   .successor = -1};
    size_t length;
    char *data = zr_value_write(&value, &length);
    if (data == NULL)
        return ZR_NO_MEMORY;
    enum zr_status status = make_with((struct zr_bytes){data, length}, session, args, object);
    zr_free(data);
    return status;
}

const struct zr_recipe zr_election_recipe = {
    .name = "election",
    .args = "po?",
    .options = options,
    .options_size = sizeof(struct zr_election_options),
    .make = make,
    .stems = (const struct zr_stem *const[]){&zr_candidate_stem, &zr_rank_stem, NULL},
};
