-- Every method with a time limit keeps it, whatever the servers do, and a limit of 0 waits for no connection. In virtual time, so exact to
-- the microsecond. The methods are those whose annotations name a `timeout`, as an argument or among the options. A method that is missing
-- here fails.

local limited = require "spec.support.limited"
local sim = require "zkrecipes.sim"

local cases = limited.cases

local TIMEOUT = 10 -- of the session; much longer than all limits here
local LIMITS = { 0, 0.3, 1, 2.7 }
local SLACK = 1e-5
local GRACE = 0.05 + SLACK -- a member that gives up a round waits this long for the answer
local TRY = 1 + GRACE

-- ---- The outages -------------------------------------------------------------------------------

local function stop_all(world)
  for server = 1, 3 do world:stop_server(server) end
end

-- begin(world, process) is called after the preparation. known: the client knows of the outage before the call. absent: it never was
-- connected.
-- servers: there is no outage.
local outages = {
  { name = "stopped servers", begin = function(world)
    stop_all(world)
    world:advance(0.1)
  end, known = true },
  { name = "cut off", begin = function(world, zk)
    world:disconnect(zk)
    world:advance(0.1)
  end, known = true },
  { name = "silent servers", begin = function(world, zk) world:partition(zk) end },
  { name = "answers that are lost", begin = function(world, zk) world:partition(zk, "to_client") end },
  { name = "servers absent from the start", absent = true, known = true },
  { name = "servers that answer", servers = true, known = true },
}

-- Prepares a world as the case needs it, and runs fn(world, session, prepared) in it.
local function within(one, outage, fn)
  local world = sim.new { seed = 7, trace = false }
  world:run(function()
    local zk = world:process()
    local other = world.zk.session { timeout = TIMEOUT }
    assert(other:connected(5))
    assert(other:create("/x", ""))
    local kept = one.block and one.block(other, world)
    if outage and outage.absent then world:disconnect(zk) end
    local session = zk.session { timeout = TIMEOUT }
    local prepared, ok, problem
    zk.spawn(function()
      ok, problem = zk.pcall(function()
        if not (outage and outage.absent) then
          assert(session:connected(5))
          prepared = one.prepare and one.prepare(session)
        end
        world:advance(0.5)
        if outage and outage.begin then outage.begin(world, zk) end
        fn(world, session, prepared)
      end)
      world:heal()
    end):wait()
    if not ok then error(problem, 0) end
    assert(kept ~= false)
  end)
end

-- Calls the method. Returns how long the call took, and its results.
local function timed(world, one, session, limit, prepared)
  local from = world:now()
  local ok, message, code = one.call(session, limit, prepared)
  return world:now() - from, ok, message, code
end

-- What is wrong with the results, or nil.
local function problem_of(name, outage, limit, took, ok, message, code)
  local one = cases[name]
  local least, most, wanted = limit - SLACK, limit + GRACE, one.always or outage.code or "connection_loss"
  if outage.servers then wanted = one.always or one.code end
  if not outage.known then wanted = limit == 0 and one.at_zero or one.silent or wanted end
  if limit == 0 then least, most = 0, (outage.known and not outage.servers or one.always) and SLACK or TRY end
  if one.closes then least = 0 end
  local right = ok == nil and code == wanted and message:find("^[%w_]+:?[%w_]*[ :]") ~= nil
  local unaware = one.at_once and (outage.servers or not outage.known) -- the client takes itself for connected
  if one.closes or unaware then right, least = ok == true, 0 end
  if right and took >= least and took <= most then return nil end
  return ("%s, limit %g: took %.6f, gave %s, %s, %s; wanted %s"):format(name, limit, took, tostring(ok), tostring(message),
    tostring(code), wanted)
end

-- Calls every method in this outage with every limit. Returns the number of calls, and what was wrong.
local function call_all(outage)
  local count, problems = 0, {}
  for _, name in ipairs(limited.names()) do
    local one = cases[name]
    local left_out = outage.absent and one.prepare or outage.servers and not one.code
    for _, limit in ipairs(left_out and {} or LIMITS) do
      within(one, outage, function(world, session, prepared)
        problems[#problems + 1] = problem_of(name, outage, limit, timed(world, one, session, limit, prepared))
      end)
      count = count + 1
    end
  end
  return count, table.concat(problems, "\n")
end

describe("a time limit", function()
  it("is tested here for every method that has one", function()
    local known, missing = {}, {}
    for name in pairs(cases) do known[name:match("^%S+")] = true end
    local all = limited.annotated()
    for name in pairs(all) do
      if not known[name] and not limited.others[name] then missing[#missing + 1] = name end
    end
    table.sort(missing)
    assert.are.equal("", table.concat(missing, " "))
    for name in pairs(known) do assert.is_true(all[name] ~= nil, name .. " has no annotation with a timeout") end
  end)

  for _, outage in ipairs(outages) do
    it("is kept by every method: " .. outage.name, function()
      local count, problems = call_all(outage)
      assert.are.equal("", problems)
      assert.is_true(count > 90, count)
    end)
  end
end)
