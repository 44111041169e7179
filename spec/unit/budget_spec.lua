-- A session's budgets: what uses and frees them. Needs no server. `make soak` shows that nothing is left after many rounds.

local sim = require "zkrecipes.sim"

-- A test body that runs inside a world: body(world, session, other).
local function within(options, body)
  return function()
    local world = sim.new(options)
    world:run(function()
      local lines = {}
      local session = world:session { log = function(level, text) lines[#lines + 1] = level .. ": " .. text end }
      local other = world:session()
      assert(session:connected())
      assert(other:connected())
      body(world, session, other, lines)
      session:close()
      other:close()
    end)
  end
end

local function eventually(world, what, condition)
  for _ = 1, 10000 do
    if condition() then return end
    world.zk.sleep(0.01)
  end
  error("never happened: " .. what, 2)
end

local function count(lines, pattern)
  local number = 0
  for _, line in ipairs(lines) do number = number + (line:find(pattern) and 1 or 0) end
  return number
end

local LONG = "/" .. ("x"):rep(9990)

describe("session:usage", function()
  it("shows what is in use, and the limits", within({}, function(world, session)
    assert.are.same({ watches = 0, watched_bytes = 0, watched_bytes_limit = 600000, ephemeral_bytes = 0,
      ephemeral_bytes_limit = 1200000, in_flight = 0, in_flight_limit = 2000 }, session:usage())
    local watch = assert(session:watch "/abc")
    assert(session:create("/e", "", { ephemeral = true }))
    local task = world.zk.spawn(function() return session:get "/e" end)
    world.zk.sleep(0)
    local usage = session:usage()
    assert.are.equal(1, usage.watches)
    assert.are.equal(16, usage.watched_bytes) -- the znode and its children, 4 bytes more each
    assert.are.equal(16, usage.ephemeral_bytes) -- with room for a sequence number, and 4 bytes more
    assert.are.equal(1, usage.in_flight)
    task:wait()
    watch:close()
    assert(session:delete "/e")
    world:advance(2)
    usage = session:usage()
    assert.are.same({ 0, 0, 0, 0 }, { usage.watches, usage.watched_bytes, usage.ephemeral_bytes, usage.in_flight })
  end))
end)

describe("a watch", function()
  for _, there in ipairs { true, false } do
    it("is removed after it was closed: the znode is " .. (there and "there" or "not there"),
      within({}, function(world, session, other)
        if there then assert(other:create("/w", "")) end
        for _ = 1, 3 do
          local watch = assert(session:watch "/w")
          assert(session:sync "/")
          assert.is_true(world:watches() > 0)
          watch:close()
          world:advance(2)
          assert.are.equal(0, world:watches())
          assert.are.equal(0, session:usage().watches)
        end
      end))
  end

  it("that was removed is set again for the next reader", within({}, function(world, session, other)
    for round = 1, 3 do
      assert(session:watch "/w"):close()
      world:advance(1.0 + round / 10000) -- about when the watch is removed
      local watch = assert(session:watch "/w")
      world.zk.sleep(0.01)
      assert(other:create("/w", ""))
      assert.are.equal("created", watch:wait(1))
      watch:close()
      assert(other:delete "/w")
    end
  end))

  it("does not serve a waiter that comes while the watch is being removed", within({}, function(world, session, other)
    local lock, theirs = session:lock "/l", other:lock "/l"
    for step = -30, 5 do -- the request is in flight for less than a millisecond
      local hold = assert(theirs:acquire(200))
      assert.is_nil((lock:acquire(0.05)))
      world.zk.sleep(1 + step / 20000)
      local task = world.zk.spawn(function() return lock:acquire(5) end)
      world.zk.sleep(0.05)
      hold:release()
      assert(task:wait()):release()
    end
  end))

  it("is removed although the connection was lost meanwhile", within({ servers = 3 }, function(world, session)
    assert(session:watch "/w"):close()
    assert(session:sync "/")
    world:lose_reply(session, "unwatch")
    world:advance(20)
    assert.are.equal(0, world:watches())
    assert.are.equal(0, session:usage().watches)
  end))

  it("waits for the connection", within({}, function(world, session)
    local watch = assert(session:watch "/w")
    assert(session:sync "/")
    world:disconnect(session)
    watch:close()
    world:advance(3)
    assert.are.equal(1, session:usage().watches)
    world:heal(session)
    world:advance(10)
    assert.are.equal(0, world:watches())
    assert.are.equal(0, session:usage().watches)
  end))

  it("costs no request if it is used again at once", within({}, function(world, session, other)
    local hold = assert(other:lock("/l"):acquire(200))
    local lock = session:lock "/l"
    for _ = 1, 5 do
      local ok, _, code = lock:acquire(0.01)
      assert.is_true(not ok and code == "timeout")
    end
    assert.are.same({ 0, 1 }, { world:requests(nil, "unwatch"), world:requests(nil, "get") })
    world:advance(2)
    assert.are.equal(1, world:requests(nil, "unwatch"))
    assert.are.equal(0, world:watches())
    hold:release()
  end))
end)

describe("the budget of watched paths", function()
  it("is free again after ten times as many watches as it has room for", within({}, function(_, session)
    for i = 1, 300 do
      local watch = assert(session:watch(LONG .. i))
      assert(session:sync "/")
      watch:close()
    end
  end))

  it("warns once when four fifths are in use, and again after the use has fallen", within({}, function(world, session, _, lines)
    for round = 1, 2 do
      local watches = {}
      for i = 1, 29 do watches[i] = assert(session:watch(LONG .. i)) end
      world.zk.sleep(0.1)
      assert.are.equal(round, count(lines, "^warning: .*bytes are in use for the paths that it watches"))
      for i = 1, 29 do watches[i]:close() end
      world:advance(2)
    end
  end))
end)

describe("a revocable lock without room for its watch", function()
  it("reports that once, and gets requests when there is room", within({}, function(world, session, other, lines)
    local watches, asked = {}, 0
    repeat watches[#watches + 1] = session:watch(LONG .. #watches) until #watches == 30
    local dir = "/" .. ("y"):rep(300)
    local hold = assert(session:lock(dir, { on_request = function() asked = asked + 1 end }):acquire(200))
    assert.are.equal(1, other:lock(dir):request())
    world:advance(5)
    assert.are.same({ 0, 1 }, { asked, count(lines, "cannot watch for requests to release the lock") })
    for i = 1, #watches do watches[i]:close() end
    world:advance(5)
    assert.are.same({ 1, 1 }, { asked, count(lines, "cannot watch for requests to release the lock") })
    hold:release()
  end))
end)

describe("the budget of ephemeral znodes", function()
  it("has room again when another session has deleted them and a member has noticed", within({}, function(_, session, other)
    for i = 1, 3 do
      assert(session:create("/e", "", { ephemeral = true }))
      assert(other:delete "/e")
      if i == 1 then assert(session:await_gone("/e", 10)) end
      if i == 2 then assert.is_false(session:exists "/e") end
      if i < 3 then assert.are.equal(0, session:usage().ephemeral_bytes) end
    end
    assert(session:create("/e", "", { ephemeral = true }))
    assert.are.equal(16, session:usage().ephemeral_bytes) -- of the one that exists
  end))

  it("has room again when other sessions have deleted the znodes", within({}, function(world, session, other, lines)
    local refused = 0
    for i = 1, 600 do
      local path, _, code = session:create(LONG .. i, "", { ephemeral = true, sequential = i % 2 == 0 })
      if path then assert(other:delete(path)) else refused = refused + 1 end
      assert.is_true(path ~= nil or code == "full")
    end
    assert.are.equal(0, refused)
    assert.are.equal(0, count(lines, "warning"))
    world:advance(1)
    assert.is_true(session:usage().ephemeral_bytes < 800000)
  end))

  it("is checked on the server when it is full", within({}, function(world, session, other)
    local paths = {}
    repeat
      paths[#paths + 1] = session:create(LONG .. #paths, "", { ephemeral = true })
    until #paths == 119
    local ok, _, code = session:create(LONG .. "y", "", { ephemeral = true })
    assert.is_true(not ok and code == "full")
    world:advance(1)
    for i = 1, 100 do assert(other:delete(paths[i])) end
    ok, _, code = session:create(LONG .. "y", "", { ephemeral = true })
    assert.is_true(not ok and code == "full")
    eventually(world, "room", function() return session:usage().ephemeral_bytes < 200000 end)
    assert(session:create(LONG .. "y", "", { ephemeral = true }))
  end))

  it("counts a znode whose create had no answer until the znode is gone", within({ servers = 3 }, function(world, session)
    for i = 1, 2 do
      world:lose_reply(session, "create")
      local path, _, code = session:create("/e", "", { ephemeral = true })
      assert.is_true(not path and code == "connection_loss")
      assert.are.equal(16, session:usage().ephemeral_bytes)
      if i == 1 then assert(session:delete "/e") end
    end
    local path, _, code = session:create("/e", "", { ephemeral = true })
    assert.is_true(not path and code == "node_exists")
    assert(session:delete "/e")
    assert.are.equal(0, session:usage().ephemeral_bytes)
  end))

  it("warns once when four fifths are in use", within({}, function(world, session, _, lines)
    for i = 1, 100 do assert(session:create(LONG .. i, "", { ephemeral = true })) end
    world.zk.sleep(0.1)
    assert.are.equal(1, count(lines, "^warning: .*bytes are in use for the paths of its ephemeral znodes"))
  end))
end)

describe("requests in flight of a session that was lost", function()
  it("do not count for the next session", within({}, function(world, session, other)
    assert(other:create("/n", ""))
    local id = session.id
    -- Answers come all the time, but heartbeats wait behind them until the lease is over.
    for i = 1, 1990 do
      world:plan(session, "delay", { kind = "get", seconds = i / 50 })
      world.zk.spawn(function() session:get "/n" end)
      world.zk.sleep(0)
    end
    assert.is_true(session:usage().in_flight > 1900)
    eventually(world, "the loss", function() return session.id ~= id end)
    assert(session:connected(1))
    assert(session:get "/n")
    assert.are.equal(0, session:usage().in_flight)
  end))
end)
