-- The command of `zkr lock` never outlives the hold: whatever is killed, stopped or cut, the last of its processes has ended before a rival
-- is granted the lock. The processes ignore SIGTERM, and write the time until they are killed; the rival writes down when it is granted.
--
--   ROUNDS=50 make spec SPECS=spec/cli/outlive_spec.lua    prints how long before the grant they ended

local zk = require "zkrecipes"
local testing = require "zkrecipes.testing"
local commanded = require "spec.support.commanded"
local env = require "spec.support.env"
local process = require "spec.support.process"
local proxies = require "spec.support.proxy"
local run = env.run

local ROUNDS = tonumber(os.getenv "ROUNDS")
local TIMEOUT = tonumber(os.getenv "TIMEOUT") or 24
local AT_ONCE = TIMEOUT / 4 -- the deadline is later: see the table in docs/lease.md
local LOST, FAILED, KILLED = 123, 125, 137
local LIMIT = 300 -- seconds; it takes far less even on a busy machine

-- name; status: of zkr; strike(zkr, place): the fault; heal(zkr, place): after the grant, so that zkr ends; at_once: the command does not
-- end only at its deadline; proxy, server: it has its own.
local faults = {
  { name = "zkr is killed", status = KILLED, at_once = true, strike = function(zkr) zkr:signal "KILL" end },
  { name = "zkr is stopped", status = LOST, strike = function(zkr) zkr:signal "STOP" end, heal = function(zkr) zkr:signal "CONT" end },
  { name = "the network is cut", status = LOST, proxy = true, strike = function(_, place) place.proxy:blackhole() end,
    heal = function(_, place) place.proxy:heal() end },
  { name = "the minder is killed", status = FAILED, at_once = true, strike = function(zkr) zkr:signal("KILL", zkr:minder()) end },
  { name = "the minder is stopped, and the network is cut", status = LOST, proxy = true, strike = function(zkr, place)
    zkr:signal("STOP", zkr:minder())
    place.proxy:blackhole()
  end, heal = function(_, place) place.proxy:heal() end },
  { name = "the command ends, and leaves others", status = KILLED, strike = function(zkr) zkr:signal("KILL", zkr:command()) end },
  { name = "the server is stopped", status = LOST, server = true, strike = function(zkr, place)
    local command = zkr:command()
    place.server:pause()
    env.eventually("the end of the command", function() return not process.runs(command) end)
    place.server:resume()
  end },
}

-- The servers of a fault: those of all specs, or its own.
local function place_of(fault)
  local place = { server = fault.server and assert(testing.start { tick_time = 500 }) or env.server() }
  place.proxy = fault.proxy and assert(proxies.start(place.server))
  place.hosts = (place.proxy or place.server).hosts
  function place.close()
    if place.proxy then place.proxy:stop() end
    if fault.server then place.server:stop() end
  end
  return place
end

local function check(fault, zkr, granted)
  local _, ended = zkr:ends()
  if ended < granted then return ended end
  error(("%s: a process of the command still ran at %.4f, and the rival was granted at %.4f"):format(fault.name, ended, granted), 0)
end

-- One round. Returns when the fault was, when the last process ended, and when the rival was granted.
local function strike(fault, place)
  local namespace = env.namespace()
  local zkr = commanded.family("lock /l", { ZKR_HOSTS = place.hosts, ZKR_NAMESPACE = namespace, ZKR_TIMEOUT = tostring(TIMEOUT) })
  local session = env.session { namespace = namespace, hosts = place.server.hosts, timeout = 60 }
  zkr:runs()
  local rival = env.start(function()
    local hold = assert(session:lock("/l"):acquire())
    return hold, zk.now()
  end)
  env.queue_of(session, "/l", 2)
  local struck = zk.now()
  fault.strike(zkr, place)
  local hold, granted = rival()
  check(fault, zkr, granted)
  if fault.heal then fault.heal(zkr, place) end
  local status, _, err = zkr:finish()
  assert.are.equal(fault.status, status, fault.name .. ": " .. err)
  local ended = check(fault, zkr, granted)
  assert.is_true(not fault.at_once or ended - struck < AT_ONCE, ("%s: ended %.3f s after that"):format(fault.name, ended - struck))
  zkr:forget()
  hold:release()
  session:close()
  return struck, ended, granted
end

local function tell(fault, round, struck, ended, granted)
  if not ROUNDS then return end
  io.write(("%-48s %3d: ended %7.3f s after the fault, %7.3f s before the grant\n"):format(fault.name, round, ended - struck,
    granted - ended))
  io.flush()
end

local function all_rounds(fault)
  local place = place_of(fault)
  for round = 1, ROUNDS or 1 do tell(fault, round, strike(fault, place)) end
  place.close()
end

-- The clock runs on while the machine sleeps. Here it is ahead of the one that stops then, as if the machine had slept.
local SLEPT = ("unshare%s --time --boottime 100000"):format(process.output "id -u" == "0" and "" or " --map-root-user")

local _ = _VERSION == "Lua 5.4" and describe("the command of zkr lock has ended before a rival is granted the lock", function()
  after_each(commanded.clear)

  it("whatever is killed, stopped or cut", run(function()
    local functions = {}
    for i, fault in ipairs(faults) do functions[i] = function() all_rounds(fault) end end
    zk.all(functions)
  end))
end)

local _ = _VERSION == "Lua 5.4" and describe("the minder", function()
  after_each(commanded.clear)

  -- Starts zkr with a command that sleeps, waits until that runs, and returns both.
  local function asleep(within)
    local zkr = commanded.start("lock /l -- sh -c 'echo $$; exec sleep 600'",
      { ZKR_HOSTS = env.server().hosts, ZKR_NAMESPACE = env.namespace(), ZKR_TIMEOUT = "20" }, nil, within)
    zkr:prints "\n"
    return zkr, zkr:read "out":match "%d+"
  end

  local function ends(command)
    env.eventually("the end of the command", function() return not process.runs(command) end, LIMIT)
  end

  it("takes the command with it when it is killed, also if zkr cannot", run(function()
    local zkr, command = asleep()
    local minder = zkr:minder()
    zkr:signal "STOP"
    zkr:signal("KILL", minder)
    ends(command)
    zkr:signal "KILL"
    assert.are.equal(KILLED, (zkr:finish()))
  end))

  it("keeps time by a clock that runs on while the machine sleeps", run(function()
    local may = process.holds(SLEPT .. " true")
    if not may then io.stderr:write("outlive_spec: this user may not make a namespace for times, so no sleep is shown\n") end
    local zkr, command = asleep(may and SLEPT or nil)
    zkr:signal "STOP"
    ends(command)
    zkr:signal "CONT"
    assert.are.equal(LOST, (zkr:finish()))
  end))

  it("has its memory locked, if that is allowed", run(function()
    local zkr = asleep()
    local function field(file, name)
      return tonumber(process.output(("grep '^%s' /proc/%s/%s"):format(name, zkr:minder(), file)):match "%d+")
    end
    local locked, size, limit = field("status", "VmLck"), field("status", "VmSize"), field("limits", "Max locked memory")
    assert.is_true(locked > 0 or limit ~= nil and limit < size * 1024, ("%s of %s kB are locked"):format(locked, size))
    zkr:signal "TERM"
    assert.are.equal(143, (zkr:finish()))
  end))
end)
