-- Bugs of the election: how candidates step aside for a named successor. See plant.lua; those of its Lua: spec/worlds.

local RUN, COUNTED = "--recipe election --seeds 5000", "--recipe election --seeds 1"

return {
  { name = "election: who is asked to step aside leads", run = RUN,
    file = "src/recipes/election/election.c",
    old = "zr_verb_vacate(task, &zr_hold_of(task)->seat, ZR_STEP(zr_contest_claim));", new = "zr_contest_grant(task);" },
  { name = "election: who steps aside leaves its seat behind", run = RUN,
    file = "src/recipes/election/election.c",
    old = "zr_verb_vacate(task, &zr_hold_of(task)->seat, ZR_STEP(zr_contest_claim));", new = "zr_contest_claim(task);" },
  { name = "election: the successor itself steps aside", run = COUNTED,
    file = "src/recipes/election/successor.c",
    old = "place < ZR_SAID_OWN(word) - 1", new = "place <= ZR_SAID_OWN(word) - 1" },
  { name = "election: those behind the successor step aside", run = RUN,
    file = "src/recipes/election/successor.c",
    old = "place < ZR_SAID_OWN(word) - 1", new = "place >= 0 && ZR_SAID_OWN(word) > 0" },
  { name = "election: a watch tells nobody of a name", run = COUNTED,
    file = "src/core/watch_gone.c",
    old = "    else\n        zr_signal_tell(&watch->gone, watch->word);", new = "",
    also = { old = "            zr_signal_tell(&watch->gone, watch->word);\n        status", new = "            ;\n        status" } },
  { name = "election: those of its own session are not told", run = COUNTED,
    file = "src/core/seat.c",
    old = "    zr_signal_tell(&seat->gone, word);", new = "" },
  { name = "election: a name is not read", run = COUNTED,
    file = "src/recipes/election/successor.c",
    old = "return zr_sequence(number, \"\");", new = "return -1;" },
}
