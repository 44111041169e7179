-- A clean-up that the server refuses is repeated and reported in the log, so that nothing is left as long as the session lives.
-- Tags: sanitize

local collect = require "spec.support.collect"
local zk = require "zkrecipes"
local env = require "spec.support.env"
local run, fails = env.run, env.fails

local OPEN = { { perms = "rwcda", scheme = "world", id = "anyone" } }

local function only(perms) return { { perms = perms, scheme = "world", id = "anyone" } } end

describe("a clean-up that is refused", function()
  local log, namespace, session
  before_each(function()
    log, namespace = {}, env.namespace()
  end)

  local function open(options)
    options = options or {}
    options.namespace = namespace
    options.log = function(level, text)
      if level == "warning" and text:find("cannot delete ", 1, true) then log[#log + 1] = text end
    end
    return env.session(options)
  end

  local function children(path)
    local stat = assert(session:exists(path))
    return stat.num_children
  end

  it("is reported once, and repeated until it is allowed: a release", run(function()
    session = open()
    assert(session:create("/l", "", { acl = only "rwca", parents = true }))
    local first = assert(session:lock("/l"):acquire())
    local second = env.start(function() return session:lock("/l"):acquire(300) end)
    env.queue_of(session, "/l", 2)
    local path = first.path
    first:release()
    assert.is_false(first:valid())
    first = nil -- luacheck: ignore
    collect(2)
    env.eventually("it is in the log", function() return #log > 0 end)
    assert.matches("cannot delete " .. path .. ", which this session no longer needs: the znode's ACL does not allow it", log[1], 1, true)
    zk.sleep(0.5) -- some more attempts
    assert.are.equal(2, children "/l")
    assert(session:set_acl("/l", OPEN))
    local hold = assert(second())
    assert.are.equal(1, children "/l")
    assert.are.equal(1, #log)
    hold:release()
    session:close()
  end))

  it("is repeated: the clean-up of a waiter that gave up", run(function()
    session = open()
    assert(session:create("/l", "", { acl = only "rwca", parents = true }))
    local hold = assert(session:lock("/l"):acquire())
    env.late(session:lock("/l"):acquire(0.2))
    env.eventually("it is in the log", function() return #log > 0 end)
    assert(session:set_acl("/l", OPEN))
    env.eventually("it is gone", function() return children "/l" == 1 end)
    hold:release()
    session:close()
  end))

  it("is repeated: the clean-up of a create whose answer was lost, if listing is not allowed", run(function()
    local proxy = env.proxy()
    session = open { hosts = proxy.hosts }
    assert(session:create("/l", "", { acl = only "wcda", parents = true }))
    proxy:drop_reply("create2", 1)
    fails("no_auth", session:lock("/l"):acquire(200))
    assert.are.equal(1, proxy:fired())
    env.eventually("it is in the log", function() return #log > 0 end)
    assert.are.equal(1, children "/l")
    assert(session:set_acl("/l", OPEN))
    env.eventually("it is gone", function() return children "/l" == 0 end)
    session:close()
  end))

  it("is reported: a semaphore's mark", run(function()
    session = open()
    assert(session:semaphore("/s", 3):acquire()):release()
    local marks = {}
    local function closed(name)
      return env.session { namespace = namespace, acl = "read", log = function(_, text)
        if text:find("cannot write to", 1, true) then marks[#marks + 1] = name end
      end }
    end
    local holds, waits = { assert(closed("holder"):semaphore("/s"):acquire(200, 3)) }, {}
    for i, name in ipairs { "first", "second", "third" } do
      local semaphore = closed(name):semaphore "/s"
      waits[i] = env.start(function() return semaphore:acquire(300, 3) end)
      env.queue_of(session, "/s", 1 + i)
      env.eventually("it waits", function() return semaphore:attempts()[1].ahead == i end)
    end
    for i = 1, 3 do
      holds[i]:release()
      holds[i + 1] = assert(waits[i]())
      env.eventually("it is in the log", function() return marks[1] == "second" end)
    end
    holds[4]:release()
    session:close()
  end))

  it("ends with its session", run(function()
    session = open()
    assert(session:create("/l", "", { acl = only "rwca", parents = true }))
    assert(session:lock("/l"):acquire()):release()
    env.eventually("it is in the log", function() return #log > 0 end)
    local other = env.session { namespace = namespace }
    assert.is_true(session:close(200))
    session = other
    env.eventually("it is gone", function() return children "/l" == 0 end)
    other:close()
  end))
end)
