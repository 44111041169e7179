-- Reads the demo's journal: adds up waits and holds while it grows, and checks it at the end.

local journal = {}
journal.__index = journal

local function new()
  return setmetatable({ since = {}, holds = {}, open = {}, turns = {}, waiting = 0, trouble = 0 }, journal)
end

local effects = {}

function effects.waits(self, event)
  self.waiting = self.waiting + 1
  self.since[event.key] = event.time
end

function effects.holds(self, event)
  self.waiting = self.waiting - 1
  event.waited = event.time - self.since[event.key]
  self.since[event.key] = nil
  local hold = { token = event.extra, from = event.time, waited = event.waited }
  self.open[event.key] = hold
  table.insert(self.holds, hold)
end

function effects.releases(self, event)
  local hold = self.open[event.key]
  hold.to, hold.ended, self.open[event.key] = event.time, event.what, nil
  event.held = hold.to - hold.from
  self.turns[event.worker] = (self.turns[event.worker] or 0) + 1
end

-- The exact time of the loss is not known. The loss alone is already trouble.
function effects.lost(self, event)
  local hold = self.open[event.key]
  hold.to, hold.ended, self.open[event.key] = hold.from, event.what, nil
  self.trouble = self.trouble + 1
end

-- Its wait is over too.
function effects.killed(self, event)
  local hold = self.open[event.key]
  hold.to, hold.ended, self.open[event.key] = event.time, event.what, nil
  event.waiters = 0
  for key in pairs(self.since) do
    if key:match("^%d+") == event.worker then
      event.waiters = event.waiters + 1
      self.since[key] = nil
    end
  end
  self.waiting = self.waiting - event.waiters
end

local quiet = { pid = true, dawdles = true, ends = true, failed = true }

-- Reads one line of the journal (worker.lua), in the context of the earlier ones. Any other line is trouble.
function journal:add(line)
  local time, worker, name, what, extra = line:match("^(%S+) (%d+) (%d+) (%S+) ?(.*)$")
  local event = { time = tonumber(time), worker = worker, name = name, what = what, extra = extra or line }
  if not event.time then event.what = nil end
  event.key = event.what and worker .. "." .. name
  if effects[event.what] then
    effects[event.what](self, event)
  elseif not quiet[event.what] then
    self.trouble = self.trouble + 1
  end
  event.waiting = self.waiting
  return event
end

-- ---- Checks -------------------------------------------------------------------------------------

-- Checks the holds in the order in which they began: a hold may begin only after all earlier ones have ended.
function journal:overlaps()
  local count, free = 0, 0
  for _, hold in ipairs(self.holds) do
    if hold.from < free then count = count + 1 end
    free = math.max(free, hold.to or math.huge)
  end
  return count
end

function journal:falling_tokens()
  local count = 0
  for i = 2, #self.holds do
    if self.holds[i].token <= self.holds[i - 1].token then count = count + 1 end
  end
  return count
end

-- How long after the kill the next worker held the lock; nil if none did.
function journal:takeover()
  for i, hold in ipairs(self.holds) do
    local successor = self.holds[i + 1]
    if hold.ended == "killed" and successor and successor.from > hold.to then return successor.from - hold.to end
  end
end

function journal:longest_wait()
  local longest = 0
  for _, hold in ipairs(self.holds) do longest = math.max(longest, hold.waited) end
  return longest
end

-- How many turns the surviving workers had.
function journal:turns_of_the_living(killed)
  local count = 0
  for worker, turns in pairs(self.turns) do
    if worker ~= killed then count = count + turns end
  end
  return count
end

-- All checks, in the order in which they are printed: { what, whether it holds, what was seen }. facts: register (its data), left (znodes
-- in the lock), killed (the worker), turns (that the others should have).
function journal:checks(facts)
  table.sort(self.holds, function(a, b) return a.from < b.from end)
  local overlaps, falling, takeover = self:overlaps(), self:falling_tokens(), self:takeover()
  local last, turns = self.holds[#self.holds] or {}, self:turns_of_the_living(facts.killed)
  return {
    { "never two holders at once", overlaps == 0, overlaps .. " times" },
    { "tokens only grew", falling == 0, falling .. " times not" },
    { "the register has the last token", facts.register ~= nil and facts.register == last.token,
      tostring(facts.register) },
    { "the next one took over", takeover ~= nil, "none did" },
    { "all others had their turns", turns == facts.turns, turns .. " of " .. facts.turns },
    { "nothing went wrong on the way", self.trouble == 0, self.trouble .. " messages" },
    { "no znode left in the lock", facts.left == 0, facts.left .. " left" },
  }
end

return { new = new }
