-- Bugs of the election: how candidates step aside for a named successor. See plant.lua; those of its Lua: spec/worlds.

local RUN, COUNTED = "--recipe election --seeds 5000", "--recipe election --seeds 1"

return {
  { name = "election: who is asked to step aside leads", run = RUN,
    file = "src/recipes/contest.c",
    old = "zr_verb_vacate(task, &hold->seat, ZR_STEP(claim));", new = "zr_hold_grant(hold);" },
  { name = "election: who steps aside leaves its seat behind", run = RUN,
    file = "src/recipes/contest.c",
    old = "zr_verb_vacate(task, &hold->seat, ZR_STEP(claim));", new = "claim(task);" },
  { name = "election: the successor itself steps aside", run = COUNTED,
    file = "src/core/signal.c",
    old = "task->place >= place", new = "task->place > place" },
  { name = "election: those behind the successor step aside", run = RUN,
    file = "src/core/signal.c",
    old = "task->place >= place", new = "place < 0" },
  { name = "election: a watch tells nobody of a name", run = COUNTED,
    file = "src/core/watch_gone.c",
    old = "    zr_signal_step_aside(&watch->gone, watch->successor);", new = "" },
  { name = "election: those of its own session are not told", run = COUNTED,
    file = "src/core/seat.c",
    old = "    zr_signal_step_aside(&seat->gone, number);", new = "" },
  { name = "election: a name is not read", run = COUNTED,
    file = "src/core/mark.c",
    old = "return zr_sequence(number, \"\");", new = "return -1;" },
}
