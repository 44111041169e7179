-- Bugs of the timers that remember. See plant.lua.

local TIMER = "lua/zkrecipes/recipes/election/timer.lua"

local function bug(name, old, new, file)
  return { name = "timer: " .. name, file = file or TIMER, harness = "worlds", run = "--recipe timer --seeds 3000", old = old, new = new }
end

return {
  bug("a beat is called before it is written", "  if not write(timer, term) then return end\n", ""),
  bug("a leader does not read the record", "  timer.record = decode(data)\n", ""),
  bug("a leader takes its own clock for the servers'", "self.ahead = stat.mtime / 1000 - self.told_at",
    "self.ahead = self.ahead or stat.mtime / 1000 - self.told_at - 1", "lua/zkrecipes/server_clock.lua"),
  bug("the end of a run is not written", "not timer.resigned(term) and write(timer, term)", "term:valid()"),
  bug("a function that fails is called done", "ok and \"done\" or \"failed\"", "\"done\""),
  bug("a run that was cut is called done", "record.outcome == \"running\" and \"cut\" or record.outcome",
    "record.outcome == \"running\" and \"done\" or record.outcome"),
  bug("a run that was cut is always repeated", "if not timer.recover or timer.record", "if timer.record"),
  bug("a run that ended is repeated", " or timer.record.outcome ~= \"running\" then", " or timer.record.outcome == \"none\" then"),
  bug("beats that passed are forgotten", "timer.catch_up == \"none\" and skip(timer) or 0", "skip(timer)"),
  bug("beats that passed are made up for one by one", "return record.due + last * self.seconds, last - first",
    "return record.due + (first + 1) * self.seconds, last - first"),
  bug("beats that passed are made up for", "timer.catch_up == \"none\" and skip(timer) or 0", "0"),
  bug("beats that passed are not counted", "missed = missed + count - 1", "missed = count - 1"),
  bug("beats that passed are counted twice", "    missed = 0\n", ""),
  bug("a long run is followed by the beats in it", "return math.max(record.due, record.ended)", "return record.due"),
  bug("the first beat is left out", "  if timer.seconds and record.outcome == \"none\" then return 0 end\n", ""),
}
