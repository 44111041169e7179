-- Time limits on real servers, far below the session's timeout: they are kept if servers refuse connections, and if servers accept them and
-- stay silent. spec/recipes/all/limits_spec.lua tests more outages in virtual time, exact to the microsecond.

local zk = require "zkrecipes"
local env = require "spec.support.env"
local limited = require "spec.support.limited"
local run = env.run

local TIMEOUT, LIMIT, LATE = 110, 0.3, 60 -- a call this late means that the machine has stalled

-- Methods of all kinds: a request, a listing, a watch, a composition in Lua.
local METHODS = { "Session:get", "Session:create", "Session:multi", "Session:delete_tree", "Lock:acquire",
  "Lock:acquire of a cohort", "Lock:contenders", "Semaphore:available", "Election:campaign by rank", "Election:leader",
  "Barrier:wait", "Barrier:open", "Latch:count_down", "CyclicBarrier:wait", "Multilock:acquire", "Queue:put", "Queue:put_all",
  "Queue:claim", "Queue:take of a simple one", "Hold:set" }

local function prepared_session(proxy, one)
  local session = zk.session { hosts = proxy.hosts, timeout = TIMEOUT, namespace = env.namespace() }
  assert(session:connected(200))
  assert(session:create("/x", "", { parents = true }))
  return session, one.prepare and one.prepare(session)
end

-- Calls the method with this limit. Returns what is wrong, or nil.
local function call(name, limit, session, prepared)
  local from = zk.now()
  local ok, message, code = limited.cases[name].call(session, limit, prepared)
  local took = zk.now() - from
  if ok == nil and code == "connection_loss" and took >= limit - 0.01 and took < limit + LATE then return nil end
  return ("%s, limit %g: took %.3f, gave %s, %s, %s"):format(name, limit, took, tostring(ok), tostring(message), tostring(code))
end

local function call_all(proxy, begin)
  local problems, sessions = {}, {}
  for _, name in ipairs(METHODS) do
    sessions[name] = { prepared_session(proxy, limited.cases[name]) }
  end
  begin(sessions)
  local tasks = {}
  for i, name in ipairs(METHODS) do
    tasks[i] = env.start(function()
      for _, limit in ipairs { LIMIT, 0 } do
        problems[#problems + 1] = call(name, limit, sessions[name][1], sessions[name][2])
      end
    end)
  end
  for i = 1, #tasks do tasks[i]() end
  proxy:heal()
  for _, name in ipairs(METHODS) do zk.spawn(sessions[name][1].close, sessions[name][1], 0.1) end
  assert.are.equal("", table.concat(problems, "\n"))
end

describe("a time limit, on real servers,", function()
  it("is kept while they are silent", run(function()
    local proxy = env.proxy()
    call_all(proxy, function() proxy:freeze() end)
  end))

  it("is kept while they cannot be reached", run(function()
    local proxy = env.proxy()
    call_all(proxy, function(sessions)
      proxy:refuse()
      proxy:cut()
      for _, one in pairs(sessions) do
        env.eventually("the end of the link", function() return one[1].state ~= "connected" end)
      end
    end)
  end))
end)
