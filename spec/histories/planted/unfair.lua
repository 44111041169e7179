-- Bugs of the unfair lock. See plant.lua.

local run = "--recipe unfair --seeds 20000"

return {
  { name = "unfair: a node that is there is taken for ours",
    file = "src/recipes/unfair.c",
    run = run,
    old = "if (hold->seat.state == ZR_SEAT_TAKEN)",
    new = "if (hold->seat.state != ZR_SEAT_UNSURE)" },
  { name = "unfair: no waiter tries again",
    file = "src/recipes/unfair.c",
    run = run,
    old = "    else\n        contest(task);\n}\n\nstatic bool is_of",
    new = "    else\n        zr_verb_pause(task, INT64_C(600000000), ZR_STEP(contest));\n}\n\nstatic bool is_of" },
  { name = "unfair: delete again without looking whose it is",
    file = "src/core/vacate.c",
    run = run,
    old = "else if (task->seat->stem != NULL)",
    new = "else if (true)" },
  { name = "unfair: the first delete does not look whose it is",
    file = "src/core/vacate.c",
    run = run,
    old = "if (seat->stem == NULL && seat->state == ZR_SEAT_TAKEN)",
    new = "if (false)" },
  { name = "unfair: a try that writes",
    file = "src/recipes/unfair.c",
    run = "--recipe unfair --seeds 1",
    old = "ZR_STEP(look_first), ZR_STEP(contest),",
    new = "ZR_STEP(contest), ZR_STEP(contest)," },
}
