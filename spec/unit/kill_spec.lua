-- A coroutine is killed at each wait of each method of the recipes in Lua, early and late. Everything that it has begun must end, and the
-- handle must still work. In nginx: spec/adapters/openresty_kill_spec.lua.

local core = require "zkrecipes.core"
local killer = require "spec.support.killer"
local ways = require "spec.support.killed_ways"

local function count(list)
  local number = 0
  for _ in pairs(list) do number = number + 1 end
  return number
end

local MOST = 60 -- waits of one call

-- What is left of the call, or nil.
local function left_in(host)
  local parked = 0
  for _, record in pairs(host.parked) do parked = parked + (record.token.victim and 1 or 0) end
  for scope in pairs(host.scopes or {}) do parked = parked + (scope.token.victim and 1 or 0) end
  return parked > 0 and parked or nil
end

local function rest(world, session, seconds)
  for _ = 1, seconds * 2 do
    world:advance(0.5)
    killer.sweep(session)
  end
end

-- Kills the coroutine at its wait number `at`. False: it did not wait that often.
local function kill(way, at, how)
  local world, killed = killer.world { servers = 1, seed = at }, nil
  world:run(function()
    local here, there = world:process(), world:process()
    local state = { world = world, zk = here, session = here.session { timeout = 10 }, other_zk = there,
      other = there.session { timeout = 10 } }
    way.prepare(state)
    local victim = killer.start(state.session, function() way.act(state) end, at, how)
    local over = world:now() + 100
    while not (victim.killed or victim.ended) and world:now() < over do world:advance(0.05) end
    assert(victim.killed or victim.ended, "neither killed nor ended")
    killed = victim.killed
    if victim.ended and not victim.results[1] then error(victim.results[2], 0) end
    if killed then
      rest(world, state.session, 15)
      local host = core.host(state.session)
      assert(not left_in(host), "the wait or a scope is left")
      local again = here.spawn(way.again, state)
      over = world:now() + 100
      while not again.done and world:now() < over do rest(world, state.session, 1) end
      assert(again.done, "the handle hangs")
      local ok, problem = again:wait(0)
      assert(ok, problem)
      rest(world, state.session, 5)
      if way.finish then way.finish(state) end
      rest(world, state.session, 5)
      local tasks = count(host.tasks) - 1 -- the driver's
      assert(tasks == 0, tasks .. " tasks are left")
      assert(host.client.outstanding() == 0, host.client.outstanding() .. " slots are in use")
    end
    state.session:close()
    state.other:close()
  end)
  return killed
end

describe("a coroutine that is killed", function()
  for _, way in ipairs(ways) do
    for _, how in ipairs { "early", "late" } do
      it(how .. " in " .. way.name, function()
        local at = 1
        collectgarbage()
        while at < MOST do
          collectgarbage "stop" -- the collector must not help
          local ok, killed = pcall(kill, way, at, how)
          collectgarbage "restart"
          assert(ok, ("at wait %d: %s"):format(at, tostring(killed)))
          if not killed then break end
          at = at + 1
        end
        assert.is_true(at > 1 and at < MOST, at .. " waits")
      end)
    end
  end
end)
