#include "recipes/election/election.h"

#include "core/alloc.h"
#include "core/names.h"
#include "core/verbs.h"
#include "recipes/election/make_room.h"
#include "recipes/election/rank.h"
#include "recipes/election/says.h"
#include "recipes/election/successor.h"
#include "recipes/election/tell.h"
#include "recipes/election/value.h"
#include "recipes/unfair.h"

/*
 * Elections: the candidates queue up like contenders for a lock (contest.c). The first candidate
 * leads until its node is gone. The algorithm is "Leader Election" of ZooKeeper's page of recipes;
 * the names are those of Curator's LeaderLatch, whose participants stand in the same queue.
 *
 * Unfair: the path is one node; the candidate that creates it leads (unfair.c). By rank: rank.c.
 *
 * A term is a hold with other names for its methods. The candidate's node has its value, which
 * others can read (value.h). tell.c writes what changes during a term. leader.c tells any caller
 * which candidate leads.
 */

/* ---- What a candidate's node says ---------------------------------------------------------- */

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

/* Whatever has ended the term. */
static enum zr_status call_resign(struct zr_object *self, struct zr_args *args,
                                  struct zr_sink *sink)
{
    (void)args;
    zr_term_resign((struct zr_term *)self);
    sink->boolean(sink, NULL, true);
    return ZR_OK;
}

static enum zr_status call_resigned(struct zr_object *self, struct zr_args *args,
                                    struct zr_sink *sink)
{
    (void)args;
    sink->boolean(sink, NULL, ((struct zr_term *)self)->resigned);
    return ZR_OK;
}

/* resign_to(name of the successor's node[, timeout]) */
static enum zr_status start_resign_to(struct zr_object *self, struct zr_args *args,
                                      struct zr_task **task)
{
    const struct zr_hold *term = (const struct zr_hold *)self;
    bool by_rank = ((const struct zr_election *)term->owner)->say != NULL;
    return by_rank ? zr_rank_resign(self, args, task) : zr_make_room(self, args, task);
}

static const struct zr_method term_methods[] = {
    {.name = "proclaim", .args = "d", .start = zr_term_proclaim},
    {.name = "ready", .args = "", .start = zr_term_ready},
    {.name = "tell_rank", .args = "", .start = zr_term_tell_rank, .inner = true},
    {.name = "catch_up", .args = "", .call = zr_term_catch_up, .inner = true},
    {.name = "resign_to", .args = "st?", .start = start_resign_to, .inner = true},
    {.name = "resigned", .args = "", .call = call_resigned, .inner = true},
    {.name = "resign", .args = "", .call = call_resign},
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
                                    .size = sizeof(struct zr_term),
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
        zr_term_init(zr_hold_of(*task));
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
    zr_signal_init(&election->stood);
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
