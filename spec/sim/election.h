#ifndef ZR_SPEC_ELECTION_H
#define ZR_SPEC_ELECTION_H

/*
 * election.h: elections in histories. At any instant one leads; tokens grow; who stood first leads
 * first; and to try fails only if somebody else stood there.
 */

#include "lock.h"
#include "recipes/election.h"

static inline enum zr_status make_election(struct process *process)
{
    const struct zr_election_options options = {.value = {"value", 5}};
    return make_object(process, "election", "/e", &options);
}

static inline enum zr_status start_election(struct contender *contender, struct zr_args *args)
{
    return start(contender->process->object, "campaign", args, &contender->task);
}

static const struct recipe election_recipe = {
    .name = "election",
    .histories = 30000,
    .dir = "/n/e",
    .make = make_election,
    .modes = 1,
    .start = start_election,
    .cancel = "cancel",
    .release = "resign",
    .excludes = {true},
    .scripts = lock_scripts,
    .script_count = 4,
    .granted = lock_granted,
    .held = one_at_a_time,
    .may_fail = lock_may_fail,
    .may_end_with = usual_end,
    .requests = 8,
    .spend = spend_lock,
};

#endif
