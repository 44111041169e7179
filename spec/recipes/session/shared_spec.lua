-- zk.shared: the one session of a host.
-- Tags: sanitize

local collect = require "spec.support.collect"
local zk = require "zkrecipes"
local env = require "spec.support.env"
local sasl = require "spec.support.sasl"
local run = env.run

describe("the shared session", function()
  it("is shared until it is closed", run(function()
    local options = { hosts = env.server().hosts, namespace = env.namespace(), timeout = 5 }
    local session = assert(zk.shared(options))
    assert.are.equal(session, zk.shared())
    assert.are.equal(session, zk.shared(options))
    assert.are.equal(session, zk.shared { hosts = { options.hosts } })
    assert.error_matches(function() zk.shared { timeout = 6 } end, "option 'timeout' differs")
    assert.error_matches(function() zk.shared { hosts = { "other:1" } } end, "option 'hosts' differs")
    assert.error_matches(function() zk.shared(5) end, "bad argument #1 to 'shared' %(table of options expected, got number")
    assert.error_matches(function() session:close(-1) end, "bad argument #1 to 'close'")
    assert.are.equal(session, zk.shared())
    local closed = setmetatable({ session }, { __mode = "v" })
    assert(session:close())
    session = nil
    env.eventually("it is collected", function()
      collect()
      return closed[1] == nil
    end)
    assert(assert(zk.shared(options)):close())
  end))

  it("without options is never another one than the program named", run(function()
    local options = { hosts = env.server().hosts, namespace = env.namespace(), timeout = 5 }
    assert(assert(zk.shared(options)):close())
    local message = env.fails("closed", zk.shared())
    assert.equal("zk.shared: the session was closed; to open another one, give the options", message)
    local session = assert(zk.shared(options))
    assert.are.equal(session, zk.shared())
    session:close()
  end))

  it("is another one in a child of the process, with the same options", run(function()
    local process = require "spec_fork"
    local options = { hosts = env.server().hosts, namespace = env.namespace(), timeout = 100 }
    local session = assert(zk.shared(options))
    assert(session:connected(200))
    local pid = process.fork()
    if pid == 0 then
      local own = zk.shared()
      local good = own ~= session and own:connected(200) and own == zk.shared(options)
      good = good and own:create("/of-the-child", "", { parents = true })
      process.exit(good and 7 or 1)
    end
    assert.equal(7, process.wait(pid))
    assert.are.equal(session, zk.shared())
    assert(session:exists("/of-the-child"))
    session:close()
  end))

  it("stays the one whose credentials were refused, until options are given", run(function()
    local server = sasl.start(nil, function(xid, token) return sasl.answer(xid, sasl.proof(token, "secret"), -115) end)
    local options = { hosts = server.hosts, timeout = 100, sasl = { mechanism = "DIGEST-MD5", user = "bob", password = "secret" } }
    local session = assert(zk.shared(options))
    env.fails("auth_failed", session:connected(300))
    assert.are.equal(session, zk.shared())
    env.fails("auth_failed", session:lock("/l"):acquire(5))
    local other = assert(zk.shared(options))
    assert.are_not.equal(session, other)
    other:close(0)
    server:stop()
  end))

  it("is shared only by callers that give the same tables", run(function()
    local function auth(name) return { { scheme = "digest", credential = name .. ":secret" } } end
    local function log() end
    local options = { hosts = { env.server().hosts }, namespace = env.namespace(), timeout = 5, auth = auth "alice", log = log,
      acl = { { scheme = "world", id = "anyone", perms = { "read", "write" } } } }
    local session = assert(zk.shared(options))
    assert.are.equal(session, zk.shared { auth = auth "alice", log = log })
    assert.are.equal(session, zk.shared { acl = { { perms = { "read", "write" }, scheme = "world", id = "anyone" } } })
    for name, other in pairs {
      auth = { auth "bob", {}, { auth("alice")[1], auth("bob")[1] }, auth("alice")[1], "alice" },
      acl = { "open", { { scheme = "world", id = "anyone", perms = { "read" } } },
        { { scheme = "world", id = "anyone", perms = { "read", "write", "create" } } } },
      log = { function() end },
      guardian = { true },
    } do
      for i = 1, #other do
        local ok, problem = pcall(zk.shared, { [name] = other[i] })
        assert.is_false(ok, name .. " " .. i)
        assert.matches("option '" .. name .. "' differs from that of the session that is open%)$", problem)
      end
    end

    -- Later changes of the caller's tables have no effect.
    options.auth[1].credential, options.acl[1].perms[3], options.hosts[1] = "bob:secret", "create", "other:1"
    assert.error_matches(function() zk.shared { auth = auth "bob" } end, "option 'auth' differs")
    assert.error_matches(function() zk.shared(options) end, "differs")
    assert.are.equal(session, zk.shared { auth = auth "alice", hosts = env.server().hosts })
    session:close()
  end))

  -- As in a handler of nginx, which makes its options anew for each request.
  it("is shared by callers whose passwords come from different functions, and asks the first one", run(function()
    local asked = 0
    local function options(password)
      return { hosts = env.server().hosts, timeout = 5, sasl = { mechanism = "DIGEST-MD5", user = "bob", password = password },
        tls = false }
    end
    local function made_anew() return function() asked = asked + 1 return "secret" end end
    local session = assert(zk.shared(options(made_anew())))
    for _ = 1, 3 do assert.are.equal(session, zk.shared(options(made_anew()))) end
    assert.equal(1, asked)
    assert.error_matches(function() zk.shared(options "secret") end, "option 'sasl' differs")
    assert.error_matches(function() zk.shared(options()) end, "option 'sasl' differs")
    local other = options(made_anew())
    other.sasl.user = "eve"
    assert.error_matches(function() zk.shared(other) end, "option 'sasl' differs")
    session:close(0)
    session = assert(zk.shared(options(made_anew())))
    assert.equal(2, asked)
    session:close(0)
  end))

  it("is one session also if several coroutines open it at once, while their passwords' functions wait", run(function()
    local waiting, go, tasks, sessions = 0, false, {}, {}
    local options = { hosts = env.server().hosts, timeout = 5 }
    local function password()
      waiting = waiting + 1
      while not go do zk.sleep(0.001) end
      return "secret"
    end
    options.sasl = { mechanism = "DIGEST-MD5", user = "bob", password = password }
    for i = 1, 3 do
      tasks[i] = function() sessions[i] = zk.shared(options) end
    end
    tasks[4] = function()
      env.eventually("all wait", function() return waiting == 3 end)
      go = true
    end
    zk.all(tasks)
    assert.are.equal(sessions[1], sessions[2])
    assert.are.equal(sessions[1], sessions[3])
    sessions[1]:close(0)
  end))
end)
