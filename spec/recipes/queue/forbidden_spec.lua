-- Items that a session may not read or move do not stop the others. In simulated worlds.
-- Tags: sanitize

local sim = require "zkrecipes.sim"
local env = require "spec.support.env"
local queues = require "spec.support.queues"
local fails = env.fails

local ALICE = { acl = "creator", auth = { { scheme = "digest", credential = "alice:secret" } } }
local READ_ONLY = { { scheme = "world", id = "anyone", perms = "r" }, { scheme = "auth", id = "", perms = "rwcda" } }

-- body(world, queue, private, count): queue: of a session without credentials, with its directories; private: the same queue, of Alice, who
-- alone may read what she puts. count(): log lines of the first session that say that it skips something.
local function in_world(body)
  return function()
    local world = sim.new { seed = 1, limit = 5000 }
    world:run(function()
      local lines = 0
      local function log(_, text) lines = lines + (text:find("no permission to read or move", 1, true) and 1 or 0) end
      local session = world:session { log = log }
      local queue, alice = session:queue "/jobs", world:session(ALICE)
      assert(queue:put("warm"))
      assert(queue:take(5))
      assert(queue:put("late", { delay = 30 })) -- makes the directories of delayed items
      body(world, queue, alice:queue "/jobs", function() return lines end, alice)
    end)
  end
end

local function put_open(queue, from, to)
  for i = from, to do assert(queue:put("open " .. i)) end
end

local function get_open(world, queue, from, to)
  for i = from, to do
    local item = assert(queue:claim(10))
    assert.equal("open " .. i, item.data)
    assert(item:ack())
    world.zk.sleep(3) -- longer than a listing is used
  end
end

describe("an item that a session may not read", function()
  it("is reported to one caller and to the log, then the others come", in_world(function(world, queue, private, count)
    assert(private:put("private"))
    put_open(queue, 1, 5)
    fails("no_auth", queue:claim(10))
    get_open(world, queue, 1, 3)
    assert.equal("open 4", queue:peek().data)
    world.zk.sleep(61) -- it is tried again, and nobody is told
    get_open(world, queue, 4, 5)
    assert.equal(1, count())
    assert.equal(1, queues.counts(queue).unreadable)
    assert.equal("private", private:take(10))
    assert.equal("late", queue:take(10)) -- it was due meanwhile
    assert.equal(0, queues.counts(queue).unreadable)
  end))

  it("comes when it may be read, at most a minute later", in_world(function(world, queue, private, count, alice)
    assert(private:put("private"))
    local path = private:peek().path
    put_open(queue, 1, 1)
    fails("no_auth", queue:take(10))
    get_open(world, queue, 1, 1)
    assert(alice:set_acl(path, "open"))
    world.zk.sleep(60)
    local item = assert(queue:claim(10))
    assert.equal("private", item.data)
    assert(item:ack())
    assert.equal(1, count())
  end))

  it("does not hold up those that take, nor a stock", in_world(function(world, queue, private, count)
    assert(private:put("private"))
    put_open(queue, 1, 9)
    fails("no_auth", queue:take(10))
    for i = 1, 3 do
      assert.equal("open " .. i, queue:take(10))
      world.zk.sleep(3)
    end
    local stocked = queue.session:queue("/jobs", { prefetch = 5 })
    local refused, got = 0, {}
    for _ = 4, 10 do
      local item, _, code = stocked:claim(10)
      if item then assert(item:ack()) else assert.equal("no_auth", code) end
      if item then got[#got + 1] = item.data else refused = refused + 1 end
      world.zk.sleep(3)
    end
    table.sort(got)
    assert.same({ "open 4", "open 5", "open 6", "open 7", "open 8", "open 9" }, got)
    assert.equal(1, refused)
    assert.equal(2, count()) -- once for each handle
  end))

  it("stays among the delayed items, and the others come, also the delayed ones", in_world(function(world, queue, private, count)
    assert(private:put("private", { delay = 1 }))
    assert(queue:put("due", { delay = 2 }))
    put_open(queue, 1, 3)
    world.zk.sleep(3)
    get_open(world, queue, 1, 3)
    assert(assert(queue:claim(10)):ack())
    local item = assert(queue:claim(60))
    assert.equal("late", item.data)
    assert(item:ack())
    fails("timeout", queue:claim(30))
    assert.equal(1, count())
    assert.equal(1, queue:size())
    assert.equal("private", private:take(10))
  end))

  it("may be all that is due in a minute", in_world(function(world, queue, private, count)
    world.zk.sleep(120)
    assert(assert(queue:claim(10)):ack()) -- the late one
    assert(private:put("private", { delay = 1 })) -- Alice makes the minute's directory
    put_open(queue, 1, 2)
    world.zk.sleep(3)
    get_open(world, queue, 1, 2)
    fails("timeout", queue:claim(60))
    assert.equal(1, count())
    assert.equal("private", private:take(10))
  end))
end)

describe("a delayed item that a session may read, but not move", function()
  it("stays where it is, and the others come", in_world(function(world, queue, private, count, alice)
    world.zk.sleep(120)
    assert(assert(queue:claim(10)):ack()) -- the late one
    assert(private:put("private", { delay = 1 })) -- Alice makes the minute's directory
    for _, bucket in ipairs(alice:children "/jobs/later") do
      local path = "/jobs/later/" .. bucket
      for _, name in ipairs(bucket:find "^b%-" and alice:children(path) or {}) do
        assert(alice:set_acl(path .. "/" .. name, READ_ONLY))
        assert(alice:set_acl(path, READ_ONLY))
      end
    end
    put_open(queue, 1, 2)
    world.zk.sleep(3)
    get_open(world, queue, 1, 2)
    fails("timeout", queue:claim(60))
    assert.equal(1, count())
    assert.equal("private", private:take(10))
  end))
end)

describe("an item that a session may read, but not claim", function()
  it("is reported to one caller, then the others come", in_world(function(world, queue, private, count, alice)
    assert(private:put("private"))
    put_open(queue, 1, 4)
    assert(alice:set_acl(private:peek().path, READ_ONLY))
    local got, refused, tasks = {}, 0, {}
    for i = 1, 4 do
      tasks[i] = world.zk.spawn(function()
        local item, _, code = queue:claim(10)
        if item then
          got[#got + 1] = item.data
          assert(item:ack())
        else
          assert.equal("no_auth", code)
          refused = refused + 1
        end
      end)
    end
    for i = 1, 4 do tasks[i]:wait() end
    table.sort(got)
    assert.same({ "open 1", "open 2", "open 3" }, got)
    assert.equal(1, refused)
    world.zk.sleep(3)
    get_open(world, queue, 4, 4)
    assert.equal(1, count())
    assert.equal("private", private:take(10))
  end))
end)
