-- A process with many sessions: those that have nothing to do rest (src/zk/rest.c). A request, an event, a heartbeat, a lost
-- connection and the end must reach each of them.
-- Tags: sanitize

local env = require "spec.support.env"
local run = env.run

local COUNT = 100 -- more than the events that one turn takes

describe("sessions that rest", function()
  local proxy, namespace, direct, sessions

  local function each(act)
    local tasks = {}
    for i, session in ipairs(sessions) do tasks[i] = env.start(function() return assert(act(session, i)) end) end
    for _, wait in ipairs(tasks) do wait() end
  end

  local function begin(timeout)
    proxy, namespace = env.proxy(), env.namespace()
    direct, sessions = env.session { namespace = namespace, timeout = 100 }, {}
    assert(direct:create("/common", "0"))
    for i = 1, COUNT do
      sessions[i] = env.session { hosts = proxy.hosts, namespace = namespace, timeout = timeout, request_timeout = 200 }
    end
    each(function(session) return session:connected(200) end)
  end

  local function finish()
    for _, session in ipairs(sessions) do session:close() end
    direct:close()
  end

  it("send requests, one after the other and all at once", run(function()
    begin(100)
    for i, session in ipairs(sessions) do assert(session:create("/" .. i, tostring(i))) end
    each(function(session, i) return session:set("/" .. i, "new") end)
    for i in ipairs(sessions) do assert.equal("new", (direct:get("/" .. i))) end
    finish()
  end))

  it("hear of an event that is for all of them", run(function()
    begin(100)
    local watches = {}
    for i, session in ipairs(sessions) do
      watches[i] = assert(session:watch("/common"))
      assert(session:get("/common")) -- after the watch's request
    end
    assert(direct:set("/common", "1"))
    for _, watch in ipairs(watches) do assert.equal("changed", assert(watch:wait(200))) end
    finish()
  end))

  it("send their heartbeats", run(function()
    begin(12)
    proxy:reset()
    assert(proxy:wait_for("heartbeat", 3 * COUNT))
    finish()
  end))

  it("notice that their connections are lost, and connect again", run(function()
    begin(100)
    proxy:refuse()
    proxy:cut()
    env.eventually("all have noticed it", function()
      for _, session in ipairs(sessions) do
        if session.state == "connected" then return false end
      end
      return true
    end)
    proxy:heal()
    each(function(session) return session:connected(200) end)
    each(function(session) return session:get("/common") end)
    finish()
  end))

  it("end, and the server ends them", run(function()
    begin(100)
    each(function(session, i) return session:create("/" .. i, "", { ephemeral = true }) end)
    for _, session in ipairs(sessions) do session:close() end
    env.eventually("all are ended", function() return #assert(direct:children("/")) == 1 end, 60)
    direct:close()
  end))
end)
