-- Versions at their end, on a real server whose tree was prepared (spec/support/snapshot.lua). After 2147483647 comes
-- -2147483648, and much later -1, which means "any version" to ZooKeeper. (Servers with ZOOKEEPER-4743 skip -1.)

local zk = require "zkrecipes"
local testing = require "zkrecipes.testing"
local env = require "spec.support.env"
local snapshot = require "spec.support.snapshot"
local run, fails = env.run, env.fails

local LAST, FIRST = 2147483647, -2147483648
local REFUSED = "%-1 cannot be compared"

describe("the version of a znode", function()
  local server

  -- Prepares all znodes at once, because each preparation restarts the server twice.
  setup(run(function()
    server = assert(testing.start())
    local session = zk.session { hosts = server.hosts, timeout = 60 }
    for _, path in ipairs { "/last", "/minus-two", "/minus-one", "/c" } do assert(session:create(path, "0")) end
    for _, path in ipairs { "/a", "/b", "/full" } do assert(session:semaphore(path, 3):resize(3)) end
    assert(session:election("/e", { rank = 1 }):campaign(200)):resign()
    session:close()
    snapshot.set(server, { ["/last"] = { version = LAST }, ["/minus-two"] = { version = -2 }, ["/minus-one"] = { version = -1 },
      ["/a"] = { version = -1 }, ["/c"] = { version = -1 }, ["/b"] = { version = -2 }, ["/e"] = { version = -1 },
      ["/full"] = { version = -1, counter = LAST } })
  end))

  teardown(function() server:stop() end)

  local function test(fn)
    return run(function()
      local session = zk.session { hosts = server.hosts, timeout = 60 }
      fn(session)
      session:close()
    end)
  end

  local function write_again(session, path)
    assert.are.equal(0, assert(session:set(path, (session:get(path)))).version)
  end

  -- A compare and set succeeds at this version and gives the next one. At the version before it fails.
  local function steps(session, path, version, after)
    assert.are.equal(version, session:exists(path).version)
    fails("bad_version", session:set(path, "x", version - 1))
    assert.are.equal(after, assert(session:set(path, "one", version)).version)
    fails("bad_version", session:set(path, "two", version))
    fails("bad_version", session:multi { { "check", path, version } })
    fails("bad_version", session:delete(path, version))
    assert.are.equal("one", (session:get(path)))
  end

  it("continues below zero: compare and set works across the overflow", test(function(session)
    steps(session, "/last", LAST, FIRST)
    assert.are.equal(FIRST + 1, assert(session:set("/last", "two", FIRST)).version)
    assert.is_true(session:delete("/last", FIRST + 1))
  end))

  -- Comparing with a version of -1 raises at this line and changes nothing.
  local function raises(fn, ...)
    local ok, message = pcall(fn, ...)
    assert.is_false(ok)
    assert.matches("version_spec%.lua:%d+: ", message)
    assert.matches(REFUSED, message)
  end

  local function refuse(writer, path, version)
    raises(function() return writer:set(path, "blind", version), nil end)
    raises(function() return writer:delete(path, version), nil end)
    for _, part in ipairs { { "set", path, "blind", version }, { "delete", path, version }, { "check", path, version } } do
      raises(function() return writer:multi { { "set", path, "blind" }, part }, nil end)
    end
  end

  it("is refused at -1, where it would write blindly", test(function(session)
    local version = assert(session:set("/minus-two", "one", -2)).version
    assert.is_true(version == -1 or version == 0)
    local stat = session:exists("/minus-one")
    local hold, term = assert(session:lock("/lock"):acquire(200)), assert(session:election("/term"):campaign(200))
    local multihold = assert(session:multilock({ session:lock("/m1"), session:lock("/m2") }):acquire(200))
    for _, writer in ipairs { session, hold, term, multihold } do refuse(writer, "/minus-one", stat.version) end
    local data, after = session:get("/minus-one")
    assert.are.same({ "0", stat.mzxid }, { data, after.mzxid })
    write_again(session, "/minus-one")
    assert.are.equal(1, assert(session:set("/minus-one", "2", 0)).version)
    term:resign()
    hold:release()
    multihold:release()
  end))

  it("of a semaphore: resize never writes with version -1", test(function(session)
    local a, b = session:semaphore("/a"), session:semaphore("/b")
    local message = fails("bad_version", a:resize(2))
    assert.matches("version %-1", message)
    assert.are.equal(3, a:available())
    assert(a:acquire(200)):release()
    write_again(session, "/a")
    assert.is_true(a:resize(2))
    assert.are.equal(2, a:available())
    -- Two writes make the limit smaller. The second one, a note, would compare with version -1.
    local hold = assert(b:acquire(200))
    assert.is_true(b:resize(2))
    local version = session:exists("/b").version
    assert.is_true(version == -1 or version == 1)
    assert.are.equal(1, b:available())
    hold:release()
  end))

  it("of a counter: nothing but set writes with version -1", test(function(session)
    local counter = session:counter("/c")
    assert.matches("version %-1", fails("bad_version", counter:add(1)))
    fails("bad_version", counter:compare_and_set(0, 1))
    assert.same({ false, 0 }, { counter:compare_and_set(1, 2) })
    assert.is_true(counter:set(5))
    assert.are.equal(6, counter:add(1))
  end))

  -- The directory would be deleted and created again with the limit that was read. A limit written meanwhile would be lost.
  it("of a semaphore whose numbers are used up: no client empties the directory with version -1", test(function(session)
    local full = session:semaphore("/full")
    local made = session:exists("/full").czxid
    env.late(full:acquire(0.3))
    assert.are.equal(made, session:exists("/full").czxid)
    write_again(session, "/full")
    assert(full:acquire(200)):release()
    assert.is_true(session:exists("/full").czxid > made)
    assert.are.equal(3, full:available())
  end))

  it("of an election by rank: no candidate is elected, and no successor named, with version -1", test(function(session)
    local election = session:election("/e", { rank = 1 })
    local message = fails("bad_version", election:campaign(200))
    assert.matches("version %-1", message)
    write_again(session, "/e")
    assert(election:campaign(200)):resign()
  end))
end)
