-- A holder that leaves announces it, so that the contender behind it need not list the queue (src/core/announce.c). What an announcement
-- costs is in budget_spec.lua. Here: when there is none, contenders list as before, and nobody is granted too early.
-- Tags: sanitize

local env = require "spec.support.env"
local run, fails = env.run, env.fails

describe("the announcement of a holder that leaves", function()
  local namespace, proxy, first, second, third
  before_each(function()
    namespace, proxy = env.namespace(), env.proxy()
    first, second = env.session { namespace = namespace, timeout = 100 }, env.session { namespace = namespace, timeout = 100 }
    third = env.session { hosts = proxy.hosts, namespace = namespace, timeout = 100 }
  end)
  after_each(function()
    for _, session in ipairs { first, second, third } do session:close() end
  end)

  -- The first holds the lock, the second and the third wait in this order.
  local function line_up()
    local line = { hold = assert(first:lock("/l"):acquire()), waiting = second:lock("/l") }
    line.second = env.start(function() return line.waiting:acquire(200) end)
    env.queue_of(first, "/l", 2)
    line.queue = third:lock("/l")
    line.third = env.start(function() return line.queue:acquire(200) end)
    env.queue_of(first, "/l", 3)
    env.eventually("the third watches", function() return proxy:counts().getData == 1 end)
    assert(third:sync("/")) -- and knows it
    proxy:reset()
    return line
  end

  -- The path of the announcement of the contender at this path.
  local function path_of(contender) return (contender:gsub("%-lock%-%d+$", "-gone")) end

  it("wakes the next one without a listing, and leaves nothing behind", run(function()
    local line = line_up()
    line.hold:release()
    line.second():release()
    local hold = assert(line.third())
    assert.are.equal(0, proxy:sent().getChildren2)
    assert.are.same({ hold.path:match "[^/]+$" }, first:children("/l"))
  end))

  it("does not come from a waiter that gives up", run(function()
    local line = line_up()
    line.waiting:cancel()
    fails("canceled", line.second())
    env.eventually("the third looks again", function() return proxy:counts().getData == 1 end)
    local list = assert(first:lock("/l"):contenders())
    assert.are.same({ true, false }, { list[1].holding, list[2].holding })
    assert.are.same({ 1 }, { line.queue:attempts()[1].ahead })
    assert.is_true(line.hold:valid())
    line.hold:release()
    assert(line.third()):release()
  end))

  it("is refused if the holder may not create: a delete follows, and the next one lists", run(function()
    local line = line_up()
    line.hold:release()
    local hold = assert(line.second())
    assert(first:set_acl("/l", { { perms = "rdwa", scheme = "world", id = "anyone" } }))
    hold:release()
    assert(line.third()):release()
    assert.are.equal(1, proxy:sent().getChildren2)
    env.queue_of(first, "/l", 0)
  end))

  it("is refused if a znode is at its path: a delete follows, and the next one lists", run(function()
    local line = line_up()
    line.hold:release()
    local hold = assert(line.second())
    assert(first:create(path_of(hold.path), ""))
    hold:release()
    assert(line.third()):release()
    assert(first:exists(path_of(hold.path)))
  end))

  it("may be missed while the connection is down: the next one lists", run(function()
    local line = line_up()
    proxy:refuse()
    proxy:cut()
    line.hold:release()
    line.second():release()
    env.queue_of(first, "/l", 1)
    proxy:heal()
    assert(line.third()):release()
    assert.are.equal(1, proxy:sent().getChildren2)
  end))
end)
