-- Trials of the lease on real servers: does a holder ever believe that it holds its lock after another session was granted it?
--
-- An ensemble of three. Holders connect to one follower through a proxy, each with a session of its own. Each holds a lock for which a
-- rival waits that is connected to the leader. A volley is one attack on all holders at once. Their heartbeats are a little apart, so each
-- holder is struck at another point of the rule:
--
-- 1. A pause of the leader (SIGSTOP) shifts its pings to the times that we want: one comes as it wakes up, the next half a tick later. They
--    come so that rounding up to a tick gives the sessions next to nothing.
-- 2. The proxy keeps back what the holders send, from right after one ping until right after the next, or for a random time. So that ping
--    finds nothing in the follower's table.
-- 3. The leader is paused again, if the volley says so: no ping is sent where one was due.
-- 4. The follower is stopped (SIGSTOP) right before the following ping, or at random. For some holders that is right after an answer. The
--    follower tells the leader nothing more, so the sessions expire.
-- 5. For each holder, two moments are compared: the last one at which `valid()` was true, and the one at which its rival was granted the
--    lock. Both come from one process and one clock. The margin is the time between; below zero, two sessions held the lock at once.

local proxies = require "spec.support.proxy"
local testing = require "zkrecipes.testing"
local zk = require "zkrecipes"

local M = {}

local Field = {}
Field.__index = Field

local function eventually(what, condition, limit)
  local deadline = zk.now() + limit
  while not condition() do
    if zk.now() > deadline then error("never happened: " .. what, 0) end
    zk.sleep(0.005)
  end
end

-- Starts the servers and the proxy.
---@param options {tick: number, minimum?: number} seconds: tickTime, minSessionTimeout
function M.open(options)
  local config = { syncLimit = 120, minSessionTimeout = options.minimum and ("%d"):format(options.minimum * 1000) }
  local ensemble = assert(testing.ensemble { tick_time = math.floor(options.tick * 1000), config = config })
  local leader, follower = assert(ensemble:leader()), ensemble:followers()[1]
  return setmetatable({ ensemble = ensemble, leader = leader, follower = follower, tick = options.tick, count = 0,
    proxy = proxies.start(follower.hosts) }, Field)
end

function Field:close()
  self.proxy:stop()
  self.ensemble:stop()
end

-- ---- The parties -------------------------------------------------------------------------------

local function open_holders(field, volley)
  local holders = {}
  for i = 1, volley.holders do
    local session = zk.session { hosts = field.proxy.hosts, timeout = volley.timeout, tick = volley.tick,
      namespace = volley.namespace }
    holders[i] = { session = session, path = "/" .. i }
    zk.sleep(math.random() * volley.timeout / 2 / volley.holders)
  end
  return holders
end

-- False: this machine is too slow for so short a session.
local function acquire(holder)
  local deadline = zk.now() + 30
  while not (holder.hold and holder.hold:valid()) do -- a slow machine may lose a short session before it begins
    if zk.now() > deadline then return false end
    holder.hold = holder.session:lock(holder.path):acquire(30)
  end
  return true
end

local function line_up(rivals, holder)
  holder.rival = zk.spawn(function()
    local hold = rivals:lock(holder.path):acquire(600)
    if not hold then return end -- the volley sees that it was not granted
    holder.granted = zk.now()
    hold:release()
  end)
  eventually("the rival waits", function()
    local names = rivals:children(holder.path)
    return holder.granted or (names and #names >= 2)
  end, 300)
end

-- ---- The attack --------------------------------------------------------------------------------

local function until_time(moment) zk.sleep(math.max(0, moment - zk.now())) end

-- The leader's clock and ours are the same, and its ticks are multiples of the tick: the timeout after each second ping
-- ends just before one.
local function move_pings(field, timeout)
  local tick = field.tick
  local wake = (math.floor((zk.now() + timeout) / tick) + 2) * tick - timeout - 0.03
  until_time(wake - tick / 2 - 0.03)
  field.leader:pause()
  until_time(wake)
  field.leader:resume()
  return wake
end

local function pause(server, seconds)
  server:pause()
  zk.sleep(seconds)
  server:resume()
end

local function keep_back(field, seconds)
  field.proxy:freeze("up")
  zk.sleep(seconds)
  field.proxy:heal()
end

-- Waits for some pings without faults, so that the leases are renewed. A pause would end leases that are shorter than two ticks.
local function strike(field, volley)
  local ping = field.tick / 2
  local from = volley.timeout < 2 * field.tick and zk.now() or move_pings(field, volley.timeout)
  from = from + 2 * ping * math.ceil(volley.timeout / field.tick)
  until_time(from + 0.01)
  keep_back(field, volley.held or ping)
  if volley.pause then
    zk.sleep(math.random() * ping)
    pause(field.leader, volley.pause)
  end
  if volley.held then
    zk.sleep(math.random() * volley.timeout / 4)
  else
    until_time(from + 2 * ping - 0.03)
  end
  field.follower:pause()
end

-- Reads the clock before each check, so that the hold was certainly valid at the noted time.
local function watch(holders, done)
  while not done() do
    for _, holder in ipairs(holders) do
      local now = zk.now()
      if holder.hold:valid() then holder.last = now end
    end
    zk.sleep(0.001)
  end
end

local function all_have(holders, what)
  for _, holder in ipairs(holders) do
    if not holder[what] then return false end
  end
  return true
end

local function close_all(holders, rivals)
  for _, holder in ipairs(holders) do holder.session:close(0.01) end
  rivals:close()
end

local function margins_of(holders, struck)
  local margins, before = {}, 0
  for _, holder in ipairs(holders) do
    if holder.last and holder.last >= struck then
      margins[#margins + 1] = holder.granted - holder.last
    else
      before = before + 1
    end
  end
  return margins, before
end

---One attack.
---@param volley {holders: integer, timeout: number, tick?: number, held?: number, pause?: number} seconds
---@return number[] margins of the holders that were valid when the follower was stopped
---@return integer others that had lost their lock before
function Field:volley(volley)
  self.count = self.count + 1
  volley.namespace = "/volley-" .. self.count
  local rivals = zk.session { hosts = self.leader.hosts, timeout = 100, namespace = volley.namespace }
  local holders = open_holders(self, volley)
  local tasks = {}
  for i, holder in ipairs(holders) do
    tasks[i] = zk.spawn(function()
      if acquire(holder) then line_up(rivals, holder) end
    end)
  end
  for _, task in ipairs(tasks) do task:wait() end
  if not all_have(holders, "rival") then
    close_all(holders, rivals)
    return {}, #holders
  end
  local watcher = zk.spawn(watch, holders, function() return all_have(holders, "granted") end)
  strike(self, volley)
  local struck = zk.now()
  watcher:wait(volley.timeout * 4 + 60)
  assert(all_have(holders, "granted"), "some rivals were not granted")
  self.follower:resume()
  close_all(holders, rivals)
  return margins_of(holders, struck)
end

return M
