/*
 * election.c: elections in histories. There is at most one leader at any instant. Tokens grow. The
 * first candidate in the queue leads first; candidates ahead of a named successor move behind it. A
 * try fails only if there was another candidate. (spec/histories/worlds/election.lua checks that
 * the leader waits for candidates to move.)
 */
#include "lock.h"

#include "core/names.h"
#include "recipes/election/election.h"
#include "recipes/election/says.h"

static enum zr_status make_election(struct process *process)
{
    const struct zr_election_options options = {.value = {"value", 5}};
    return make_object(process, "election", "/e", &options);
}

static enum zr_status start_election(struct contender *contender, struct zr_args *args)
{
    return start(contender->process->object, "campaign", args, &contender->task);
}

/* ---- Successors ---------------------------------------------------------------------------- */

/* Finds the candidate after `left` others in the walk, or the last one. */
struct heir {
    int left;
    int64_t number;
};

static void choose_heir(void *with, const struct zr_sim_view *view)
{
    struct heir *heir = with;
    int64_t number = zr_sequence(view->path, "latch-");
    if (number >= 0 && heir->left-- >= 0)
        heir->number = number;
}

/* Writes the number of the successor into the data of the leader's znode; -1: removes it. */
static enum zr_status start_naming(struct zr_object *term, int64_t number, struct zr_task **task)
{
    struct zr_args args = {0};
    zr_says_name((struct zr_term *)term, number);
    return start(term, "tell_rank", &args, task);
}

static enum zr_status name_somebody(struct contender *contender)
{
    struct heir heir = {(int)roll(4), -1};
    if (roll(4) > 0)
        zr_sim_walk(now.world, now.recipe->dir, choose_heir, &heir);
    now.asked += 3 * others(NULL, ""); /* each may withdraw, campaign again and list */
    return start_naming(contender->hold, heir.number, &contender->question);
}

static void named(const struct contender *contender, enum zr_status status)
{
    bool usual = status == ZR_OK || status == ZR_LOST || status == ZR_CLOSED ||
                 status == ZR_CONNECTION_LOSS ||
                 (status == ZR_NO_MEMORY && ran_out(contender->failures));
    if (!usual)
        wrong("to name a successor ends with %s", zr_status_word(status));
}

static void name_calmly(struct zr_object *term, struct zr_task *heir)
{
    struct zr_task *naming;
    start_naming(term, zr_hold_of(heir)->seat.sequence, &naming);
    calm_for(10 * MS);
    zr_engine_next_reported(naming->session->engine);
    zr_task_drop(naming, true);
}

/* The candidate that watches the leader reads the name, deletes its znode and creates a new one.
   The next candidate lists, sees that it is ahead of the successor too, and does the same. The
   successor lists and stays. */
static void spend_on_successor(void)
{
    struct zr_object *term = acquire_calmly(0, SECOND);
    struct zr_task *first = begin_calmly(1, 0, -1), *second = begin_calmly(2, 0, -1);
    struct zr_task *heir = begin_calmly(0, 0, -1), *last = begin_calmly(1, 0, -1);
    count_from_here();
    name_calmly(term, heir);
    spent("to name a successor behind two",
          (struct requests){
              .multis = 1, .gets = 3, .deletes = 2, .creates = 2, .lists = 4, .looks = 1});
    release_calmly(term);
    spent("to resign to it", (struct requests){.deletes = 1});
    release_calmly(end_calmly(heir));
    release_calmly(end_calmly(last));
    release_calmly(end_calmly(first));
    release_calmly(end_calmly(second));
}

/* A candidate in the leader's own session does not read the leader's znode. */
static void spend_within_a_session(void)
{
    struct zr_object *term = acquire_calmly(0, SECOND);
    struct zr_task *between = begin_calmly(0, 0, -1), *heir = begin_calmly(1, 0, -1);
    count_from_here();
    name_calmly(term, heir);
    spent("to name a successor behind one of the same session",
          (struct requests){
              .multis = 1, .gets = 2, .deletes = 1, .creates = 1, .lists = 2, .looks = 1});
    release_calmly(term);
    release_calmly(end_calmly(heir));
    release_calmly(end_calmly(between));
}

static void spend_election(void)
{
    spend_lock();
    spend_on_successor();
    spend_within_a_session();
}

const struct recipe election_recipe = {
    .name = "election",
    .histories = 30000,
    .dir = "/n/e",
    .make = make_election,
    .modes = 1,
    .start = start_election,
    .other = name_somebody,
    .other_ended = named,
    .cancel = "cancel",
    .release = "resign",
    .excludes = {true},
    .scripts = lock_scripts,
    .script_count = LOCK_SCRIPTS,
    .granted = lock_granted,
    .held = one_at_a_time,
    .may_fail = lock_may_fail,
    .may_end_with = usual_end,
    .requests = 8,
    .spend = spend_election,
};
