-- The codes of docs/session.md, Failures, that no other spec gets from a real server.
--
-- Two causes are not tested here: a server that is too old for our creates (`unsupported`), and a server that demands SASL
-- (`auth_failed`).

local zk = require "zkrecipes"
local testing = require "zkrecipes.testing"
local env = require "spec.support.env"
local run, fails = env.run, env.fails

-- Each function gets a session in which it fails with the code. The message begins with method and path.
local function it_says(cases, of_session)
  for _, case in ipairs(cases) do
    local code, what, call = case[1], case[2], case[3]
    it(code .. ": " .. what, run(function()
      local session = of_session()
      local method = what:match("^%S+")
      assert.matches("^" .. (method:find(":") and "" or "session:") .. method .. " /", fails(code, call(session)))
      assert.are.equal("connected", session.state)
      assert(session:sync("/"))
      session:close()
    end))
  end
end

describe("a server that enforces quotas and knows no ttl", function()
  local server

  local function open() return zk.session { hosts = server.hosts, timeout = 60 } end

  setup(run(function()
    server = assert(testing.start { config = { enforceQuota = true, extendedTypesEnabled = false } })
    local session = open()
    assert(session:create("/q", "") and session:create("/q/a", ""))
    assert(session:create("/zookeeper/quota/q/zookeeper_limits", "count=-1,bytes=-1=;byteHardLimit=20;countHardLimit=2",
      { parents = true }))
    assert(session:create("/zookeeper/quota/q/zookeeper_stats", "count=2,bytes=0"))
    -- A quota in a wrong format, which makes the server fail.
    assert(session:create("/bad", ""))
    assert(session:create("/zookeeper/quota/bad/zookeeper_limits", "junk", { parents = true }))
    assert(session:create("/zookeeper/quota/bad/zookeeper_stats", "junk"))
    session:close()
  end))
  teardown(function() server:stop() end)

  it_says({
    { "quota_exceeded", "create", function(session) return session:create("/q/x", "") end },
    { "quota_exceeded", "create with parents", function(session) return session:create("/q/x/y", "", { parents = true }) end },
    { "quota_exceeded", "set", function(session) return session:set("/q", ("x"):rep(21)) end },
    { "quota_exceeded", "multi", function(session) return session:multi { { "create", "/q/x" } } end },
    { "quota_exceeded", "lock:acquire", function(session) return session:lock("/q"):acquire() end },
    { "quota_exceeded", "lock:acquire whose directory is missing", function(session) return session:lock("/q/x"):acquire() end },
    { "quota_exceeded", "lock:acquire of an unfair one", function(session)
      return session:lock("/q/x", { fair = false }):acquire()
    end },
    { "quota_exceeded", "semaphore:acquire", function(session) return session:semaphore("/q/x", 2):acquire() end },
    { "quota_exceeded", "worker_id:acquire", function(session) return session:worker_id("/q/x", 2):acquire() end },
    { "quota_exceeded", "election:campaign", function(session) return session:election("/q/x"):campaign() end },
    { "unsupported", "create with a ttl", function(session) return session:create("/t", "", { ttl = 60 }) end },
    { "unsupported", "create of a sequential one with a ttl", function(session)
      return session:create("/t", "", { ttl = 60, sequential = true })
    end },
    { "unsupported", "reconfig of a single server", function(session) return session:reconfig { leaving = "1" } end },
    { "bad_arguments", "delete of the root", function(session) return session:delete("/") end },
    { "bad_arguments", "delete of what is the server's", function(session) return session:delete("/zookeeper/quota") end },
    { "bad_arguments", "multi with such a part", function(session) return session:multi { { "delete", "/zookeeper" } } end },
    { "server_error", "create", function(session) return session:create("/bad/x", "") end },
    { "server_error", "set", function(session) return session:set("/bad", "x") end },
    { "server_error", "lock:acquire", function(session) return session:lock("/bad"):acquire() end },
  }, open)
end)

describe("an ensemble that may be reconfigured by its super user", function()
  local ensemble, config

  local function open() -- the digest of super:secret
    return zk.session { hosts = ensemble.hosts, timeout = 60, auth = { { scheme = "digest", credential = "super:secret" } } }
  end

  setup(run(function()
    ensemble = assert(testing.ensemble { members = 2, config = { reconfigEnabled = true, syncLimit = 120 },
      jvm = { "-Dzookeeper.DigestAuthenticationProvider.superDigest=super:lK75jTNcA+U9vtVEw5vB51mj/w4=" } })
    local session = open()
    config = assert(session:get("/zookeeper/config"))
    session:close()
  end))
  teardown(function() ensemble:stop() end)
  after_each(run(function() -- none of the calls has changed anything
    local session = open()
    assert.are.equal(config, (session:get("/zookeeper/config")))
    session:close()
  end))

  local DEAD = "server.8=127.0.0.1:1:2:participant;3,server.9=127.0.0.1:4:5:participant;6"

  it_says({
    { "reconfig", "reconfig to members of which too few run", function(session)
      return session:reconfig { members = config:match("server%.1=[^\n]+") .. "," .. DEAD }
    end },
    { "reconfig", "reconfig with too many that do not run", function(session)
      return session:reconfig { joining = DEAD .. ",server.7=127.0.0.1:7:8:participant;9" }
    end },
    { "bad_arguments", "reconfig to what is no list of members", function(session) return session:reconfig { members = "x" } end },
    { "bad_arguments", "reconfig with what is no member", function(session) return session:reconfig { joining = "x" } end },
    { "server_error", "reconfig without a number", function(session) return session:reconfig { leaving = "x" } end },
  }, open)
  it_says({
    { "no_auth", "reconfig by anybody", function(session) return session:reconfig { joining = "server.9=127.0.0.1:1:2;3" } end },
  }, function() return zk.session { hosts = ensemble.hosts, timeout = 60 } end)
end)

describe("credentials that the server refuses", function()
  -- Calls that wait for another session, which holds, leads ... meanwhile.
  local waiting = {
    ["lock:acquire"] = function(session) return session:lock("/l"):acquire() end,
    ["lock:acquire of an unfair one"] = function(session) return session:lock("/u", { fair = false }):acquire() end,
    ["semaphore:acquire"] = function(session) return session:semaphore("/s", 1):acquire() end,
    ["worker_id:acquire"] = function(session) return session:worker_id("/w", 1):acquire() end,
    ["election:campaign"] = function(session) return session:election("/e"):campaign() end,
    ["barrier:wait"] = function(session) return session:barrier("/b"):wait() end,
    ["await_gone"] = function(session) return session:await_gone("/n") end,
  }

  local function occupy(session)
    assert(session:create("/n", "", { ephemeral = true, parents = true }))
    assert(session:barrier("/b"):close())
    return { assert(session:lock("/l"):acquire()), assert(session:lock("/u", { fair = false }):acquire()),
      assert(session:semaphore("/s", 1):acquire()), assert(session:election("/e"):campaign()),
      assert(session:worker_id("/w", 1):acquire()) }
  end

  local function queues(session, number)
    env.eventually(number .. " in each queue", function()
      return #session:lock("/l"):contenders() == number and #session:semaphore("/s", 1):contenders() == number
        and #session:election("/e"):candidates() == number
    end)
  end

  it("end all waiting and all later calls with auth_failed", run(function()
    local namespace, waits = env.namespace(), {}
    local holder, session = env.session { namespace = namespace }, env.session { namespace = namespace }
    local holds = occupy(holder)
    for what, call in pairs(waiting) do
      waits[what] = env.start(function() return fails("auth_failed", call(session)) end)
    end
    queues(holder, 2)
    assert(session:sync("/"))
    assert.matches("^session:add_auth no such scheme: ", fails("auth_failed", session:add_auth("no such scheme", "x")))
    for what in pairs(waiting) do assert.matches("refused the session's credentials", waits[what]()) end
    assert.are.equal("closed", session.state)
    fails("auth_failed", session:connected(200))
    for _, call in pairs(waiting) do fails("auth_failed", call(session)) end
    queues(holder, 1)
    for _, hold in ipairs(holds) do assert.is_true(hold:valid()) end
    holder:close()
  end))

  it("end a session that was opened with them", run(function()
    local session = env.session { auth = { { scheme = "no such scheme", credential = "x" } } }
    local wait = env.start(function() return session:lock("/l"):acquire() end)
    fails("auth_failed", session:connected(200))
    fails("auth_failed", wait())
    assert.are.equal("closed", session.state)
  end))
end)
