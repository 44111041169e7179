-- One history: a simulated world with processes. For a while there are random faults; then they are healed, and everything must end.
--
--     history.play(recipe, seed [, tell])      true; or nil and what is wrong. tell(line): the trace of the world
--
-- The seed decides all that is random. A recipe (spec/histories/worlds/NAME.lua) is a function(h) that starts its users and sets h.settle,
-- called at healing, and h.check, called when all users have ended. What users can use:
--
--     h:below(n), h:chance(share), h:within(seconds), h:pick(list)    dice
--     h:process()                     a client process
--     h:session(zk)                   a session of it
--     h:user(name, zk, fn)            a coroutine that must end
--     h:crowd(processes, users, prepare)   two processes and up to `processes` - 1 more, each with a session and up to `users` users:
--                                     prepare(zk, session) returns the function of these users, which gets the user's name
--     h:attempt(zk, fn [, note])      the results of fn, run in a coroutine of its own that is perhaps canceled or closed; then note.struck
--                                     is true
--     h:expect(truth, text, ...)      a violation unless truth is true
--     h.starves = true                now and then an allocation fails: calls may fail with no_memory
--     h.healed                        no faults from here on
--     h:was(path, there, from, to)    true if the znode existed (or not) at some moment of that time, on the leader
--     h.ends                          session > when the servers ended it
--     h.renames                       true if a reconnect may be answered with another session while the old one lives on
--     h.changes                       the leader's changes: { at, zxid, kind, path, session, data (the first 60 bytes; nil: null) }

local core = require "zkrecipes.core"
local sim = require "zkrecipes.sim"

local M = {}

local ENDS = 400 -- seconds after the healing in which all users must have ended
local MOST_REQUESTS = 100000 -- a history has at most some thousand
local STALE = 0.1 -- seconds that a server may be behind the leader without a fault

local History = {}
History.__index = History

-- ---- Dice: the same in every Lua -----------------------------------------------------------------

function History:random()
  self.dice = self.dice * 16807 % 2147483647
  return self.dice / 2147483647
end

function History:below(n) return math.floor(self:random() * n) + 1 end
function History:chance(share) return self:random() < share end
function History:within(seconds) return self:random() * seconds end
function History:pick(list) return list[self:below(#list)] end

-- ---- What the leader does ------------------------------------------------------------------------

local function listen(h, line)
  if h.tell then h.tell(line) end
  if not line:find("leader: ", 1, true) then return end
  local at, zxid, kind, path, session, data = line:match "^ *([%d.]+)  leader: (%x+) ([%l_]+) (/%S*) by (%x+)(.*)"
  if not at then
    local when, session_id = line:match "^ *([%d.]+)  leader: session (%x+) ends"
    if when then h.ends[session_id] = tonumber(when) end
    return
  end
  local change = { at = tonumber(at), zxid = zxid, kind = kind, path = path, session = session, data = data:match "^ = (.*)" }
  h.changes[#h.changes + 1] = change
  local lives = h.lives[path] or {}
  h.lives[path] = lives
  if kind == "create" or kind == "delete" then lives[#lives + 1] = change end
end

-- Only for znodes that are not ephemeral.
function History:was(path, there, from, to)
  local state, since = false, -1
  for _, change in ipairs(self.lives[path] or {}) do
    if state == there and since <= to and change.at >= from then return true end
    state, since = change.kind == "create", change.at
  end
  return state == there and since <= to
end

-- ---- Users ---------------------------------------------------------------------------------------

function History.expect(_, truth, text, ...)
  if not truth then error("violation: " .. text:format(...), 0) end
  return truth
end

function History:process()
  local zk = self.world:process()
  self.processes[#self.processes + 1] = zk
  return zk
end

function History:session(zk)
  local session = zk.session { timeout = 4 + self:below(3) * 2 }
  self.sessions[#self.sessions + 1] = session
  return session
end

function History:user(name, zk, fn)
  self.users[#self.users + 1] = { name = name, task = zk.spawn(fn) }
end

function History:crowd(processes, users, prepare)
  for number = 1, 1 + self:below(processes) do
    local zk = self:process()
    local use = prepare(zk, self:session(zk))
    for place = 1, self:below(users) do
      local name = ("%d.%d"):format(number, place)
      self:user(name, zk, function() use(name) end)
    end
  end
end

local function strike(h, zk, task, coroutine_of, note)
  zk.sleep(h:within(h:chance(0.5) and 0.02 or 5))
  note.struck = not task.done
  local close = rawget(coroutine, "close")
  if h.closes and close and coroutine_of.co and coroutine.status(coroutine_of.co) == "suspended" and h:chance(0.4) then
    close(coroutine_of.co)
  else
    task:cancel()
  end
end

function History:attempt(zk, fn, note)
  local coroutine_of = {}
  local task = zk.spawn(function()
    coroutine_of.co = coroutine.running()
    return fn()
  end)
  if self.cancels and not self.healed and self:chance(0.3) then strike(self, zk, task, coroutine_of, note or {}) end
  return task:wait()
end

-- ---- Chaos ---------------------------------------------------------------------------------------

local SHARES = { "lose_request", "lose_reply", "late_request", "delay", "cut", "expire", "pause", "new_session" }

local function random_faults(h)
  local faults = { max_delay = h:within(2), max_down = h:within(4), max_pause = h:within(12), max_lag = h.lag }
  for _, name in ipairs(SHARES) do
    if h:chance(0.4) then faults[name] = h:within(name == "expire" and 0.02 or name == "pause" and 0.02 or 0.12) end
  end
  if h.lag > 0 then faults.lag = 0.02 end
  h.renames = faults.new_session ~= nil
  return faults
end

local BLOWS = {
  function(h, who) h.world:cut(who) end,
  function(h, who) h.world:expire(who) end,
  function(h, who) h.world:pause(who, h:within(12)) end,
  function(h, who) h.world:move(who, h:below(h.world.servers)) end,
  function(h, who) h.world:partition(who, h:pick { "both", "to_server", "to_client" }) end,
  function(h, who) h.world:disconnect(who) end,
  function(h, who) h.world:heal(who) end,
  function(h, who) h.world:heal(who) end,
  function(h)
    h.world:stop_server(h:below(h.world.servers))
    h.world:advance(h:within(3))
    for number = 1, h.world.servers do h.world:start_server(number) end
  end,
}

local function chaos(h)
  local world, over = h.world, h.world:now() + 10 + h:within(30)
  if h:chance(0.8) then world:faults(random_faults(h)) end
  local blows = h:chance(0.6)
  while world:now() < over do
    world:advance(h:within(4))
    if blows then h:pick(BLOWS)(h, h:pick(h.processes)) end
    if h.starves then core.alloc_fail(h:below(20)) end
  end
  world:heal()
  core.alloc_fail(0)
  for number = 2, world.servers do world:lag(number, 0) end
  h.healed = true
end

-- ---- The end -------------------------------------------------------------------------------------

local function unended(h)
  for _, user in ipairs(h.users) do
    if not user.task.done then return user.name end
  end
end

local function requests(h)
  local sum = 0
  for _, zk in ipairs(h.processes) do sum = sum + h.world:requests(zk) end
  return sum
end

local function wait_for_users(h)
  local over = h.world:now() + ENDS
  while unended(h) do
    h:expect(h.world:now() < over, "%s has not ended", unended(h) or "")
    h:expect(requests(h) < MOST_REQUESTS, "%s has not ended after so many requests", unended(h) or "")
    h.world:advance(2)
  end
end

local function count(list)
  local number = 0
  for _ in pairs(list) do number = number + 1 end
  return number
end

local function check_nothing_left(h)
  h.world:advance(30)
  local tasks = count(core.host(h.sessions[1]).tasks)
  h:expect(tasks == 1, "%d coroutines of the library are left", tasks - 1)
  h:expect(h.world:watches() == 0, "%d watches are left", h.world:watches())
  for _, session in ipairs(h.sessions) do
    local usage = session:usage()
    h:expect(usage.watched_bytes == 0, "%d bytes of watched paths are counted", usage.watched_bytes)
    -- Without memory for an entry, the bytes of a znode count until the session is over.
    h:expect(h.starves or usage.ephemeral_bytes == 0, "%d bytes of ephemeral znodes are counted", usage.ephemeral_bytes)
    h:expect(usage.in_flight == 0, "%d requests are in flight", usage.in_flight)
  end
end

local function new(seed, tell)
  local h = setmetatable({ seed = seed, dice = seed * 7919 % 2147483646 + 1, tell = tell, changes = {}, lives = {}, ends = {},
    processes = {}, sessions = {}, users = {} }, History)
  for _ = 1, 3 do h:random() end
  h.lag = h:chance(0.5) and h:within(3) or 0
  h.stale = h.lag + STALE
  h.cancels, h.closes = h:chance(0.6), h:chance(0.5)
  h.world = sim.new { seed = seed, servers = h:pick { 1, 3, 3, 5 }, trace = function(line) listen(h, line) end }
  if not tell then h.world.core:leader_only() end -- the other lines would take a tenth of the time
  return h
end

local function live(h, recipe)
  recipe(h)
  chaos(h)
  if h.settle then h.settle() end
  wait_for_users(h)
  if h.check then h.check() end
  check_nothing_left(h)
end

function M.play(recipe, seed, tell)
  local h = new(seed, tell)
  local ok, problem = pcall(h.world.run, h.world, function() live(h, recipe) end)
  if ok then return true end
  return nil, tostring(problem)
end

return M
