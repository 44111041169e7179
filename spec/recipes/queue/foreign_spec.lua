-- Foreign znodes in a queue's directories, in simulated worlds.

local env = require "spec.support.env"
local queues = require "spec.support.queues"
local arguments = require "zkrecipes.recipes.queue.arguments"
local layout = require "spec.support.queue_layout"
local sim = require "zkrecipes.sim"

local fails = env.fails

-- A name with the tag of a session that never existed, and a possible next sequence number of a bucket.
local function item_name(number) return ("0abc_1_%d-q-%010d"):format(number, number) end

local BUCKET = "/jobs/lanes/00000/b-0000000000/"

local function in_world(body)
  return function()
    local world = sim.new { seed = 1, limit = 5000 }
    world:run(function()
      local zk = world:process()
      local session = zk.session { timeout = 10 }
      local queue = session:queue("/jobs", { attempts = 2 })
      queue:put("first")
      assert(queue:claim()):ack()
      body(world, zk, session, queue)
    end)
  end
end

-- The number of requests of a call, which must end.
local function costs(world, zk, queue, method, ...)
  local before = world:requests()
  local task = zk.spawn(queue[method], queue, ...)
  local ok, message, code = task:wait(60)
  if code == "timeout" and message:find "task:wait" then error(method .. " does not return") end
  return world:requests() - before, ok, code
end

describe("beside an unreadable znode a queue", function()
  local blobs = { "not one of ours", "", "zq1 0 99999 - .\ndata", "zq1 " .. ("9"):rep(400) .. " 0 - .\ndata",
    "zq1 0 0 - " .. ("a"):rep(300) .. "\ndata", "zq2 0 0 - .\ndata" }

  it("sleeps", in_world(function(world, zk, session, queue)
    for i = 1, #blobs do assert(session:create(BUCKET .. item_name(i), blobs[i])) end
    local count, got, code = costs(world, zk, queue, "claim", 10)
    assert.is_nil(got)
    assert.equal("timeout", code)
    assert.is_true(count < 50, count)
    count, got, code = costs(world, zk, queue, "claim", 0)
    assert.is_nil(got)
    assert.equal("timeout", code)
    assert.is_true(count < 10, count)
    count, got = costs(world, zk, queue, "peek")
    assert.is_false(got)
    assert.is_true(count < 10, count)
  end))

  it("gives the other items, also if a delayed one that is due has a znode below it", in_world(function(world, zk, session, queue)
    assert(queue:put("late", { delay = 1 }))
    local minute = assert(session:children "/jobs/later")
    table.sort(minute)
    local dir = "/jobs/later/" .. minute[1]
    local stranger = dir .. "/" .. assert(session:children(dir))[1] .. "/stranger"
    assert(session:create(stranger, ""))
    world:advance(5)
    assert(queue:put("next"))
    local count, item = costs(world, zk, queue, "claim", 10)
    assert.equal("next", item.data)
    assert.is_true(count < 40, count)
    assert(session:delete(stranger))
    assert.equal("late", assert(queue:claim(200)).data)
  end))

  it("peeks, also the first time", in_world(function(world, zk, session, queue)
    assert(session:create(BUCKET .. item_name(0), "junk"))
    queue:put("x")
    local _, got = costs(world, zk, queue, "peek")
    assert.equal("x", got.data)
  end))

  it("gives its own items in order, and leaves the foreign znodes alone", in_world(function(world, zk, session, queue)
    for i = 1, 4 do
      queue:put(tostring(i))
      assert(session:create(BUCKET .. item_name(i), "junk"))
    end
    assert.equal(8, queue:size()) -- it does not read them
    local seen = {}
    for item in queue:items() do seen[#seen + 1] = item.data end
    assert.same({ "1", "2", "3", "4" }, seen)
    for i = 1, 4 do
      local item = assert(queue:claim(200))
      assert.equal(tostring(i), item.data)
      assert(item:ack())
    end
    assert.equal(4, queue:size())
    assert.is_true(costs(world, zk, queue, "take", 10) < 50)
    assert.equal(4, #world:children(BUCKET:sub(1, -2)))
  end))

  it("continues behind that znode's bucket when the bucket is sealed", in_world(function(world, zk, session, queue)
    local size = arguments.BUCKET
    arguments.BUCKET = 5
    assert(session:create(BUCKET .. item_name(1), "junk"))
    local seen = {}
    for i = 1, 20 do queue:put(tostring(i)) end
    for i = 1, 20 do seen[i] = tonumber((queue:take(5))) or "none" end
    arguments.BUCKET = size
    for i = 1, 20 do assert.equal(i, seen[i]) end
    assert.is_true(costs(world, zk, queue, "claim", 10) < 50)
  end))

  it("forgets the znode when it is deleted", in_world(function(_, _, session, queue)
    assert(session:create(BUCKET .. item_name(1), "junk"))
    fails("timeout", queue:claim(0))
    assert.equal(1, queues.counts(queue).unreadable)
    assert(session:delete(BUCKET .. item_name(1)))
    queue:put("x")
    assert.equal("x", (queue:take(200)))
    queue:put("y")
    assert.equal("y", (queue:take(200)))
    assert.equal(0, queues.counts(queue).unreadable)
  end))

  it("sleeps if the znode looks like a delayed item", in_world(function(world, zk, session, queue)
    queue:put("late", { delay = 3 })
    local slot = "/jobs/later/" .. world:children("/jobs/later")[1]
    local name = world:children(slot)[1]
    assert(session:create(slot .. "/" .. name:gsub("%d$", "9"):gsub("^%d", "0"), "junk"))
    queue:put("wake")
    assert.equal("wake", (queue:take(200)))
    local _, got = costs(world, zk, queue, "take", 30)
    assert.equal("late", got)
    assert.is_true(costs(world, zk, queue, "take", 10) < 60)
  end))
end)

describe("a queue", function()
  it("reports a lane's znode that is not its own", in_world(function(_, _, session, queue)
    local other = session:queue("/jobs")
    for _, data in ipairs { "", "junk", "-1", "0x1", "1e3", "1.5", "99999999999" } do
      assert(session:set("/jobs/lanes/00000", data))
      queue = session:queue("/jobs")
      local message = fails("conflict", queue:put("x"))
      assert.matches("^queue:put /jobs: the znode /jobs/lanes/00000 holds no number of a bucket.*; use another path$", message)
    end
    local message = fails("conflict", queue:put_all { "x", "y" })
    assert.matches("^queue:put_all /jobs: ", message)
    assert(session:set("/jobs/lanes/00000", "0"))
    assert(queue:put("x"))
    assert.equal("x", (other:take(200)))
  end))

  it("ignores names that it does not give", in_world(function(world, zk, session, queue)
    queue:put("late", { delay = 3 })
    local slot = "/jobs/later/" .. world:children("/jobs/later")[1]
    local folders = { BUCKET:sub(1, -2), slot, "/jobs/lanes", "/jobs/lanes/00000", "/jobs/later", "/jobs/dead",
      "/jobs/claims", "/jobs/consumers", "/jobs/seat" }
    local names = { "junk", "-q-", "x-q-5", "x-q-0000000009", "-q-0000000000", "b-5", "b-", "b-00000000001", "1.5", "12", "99999",
      "1e3", "0x10", "-0001", item_name(1) .. "0", "0000000000001-junk", "1-" .. item_name(1) }
    for _, folder in ipairs(folders) do
      for _, name in ipairs(names) do assert(session:create(folder .. "/" .. name, "junk", { parents = true })) end
    end
    queue:put_all { "1", "2" }
    assert.equal(3, queue:size())
    assert.equal("1", queue:peek().data)
    local first = assert(queue:claim(200)) -- kept, because a collected item is given back
    assert.equal("1", first.data)
    local count, got = costs(world, zk, queue, "take", 10)
    assert.equal("2", got)
    assert.is_true(count < 50, count)
    count, got = costs(world, zk, queue, "take", 10)
    assert.equal("late", got)
    assert.is_true(count < 100, count)
    count = costs(world, zk, queue, "claim", 10)
    assert.is_true(count < 100, count)
    assert.equal(0, queue:redrive())
    assert(first:ack())
  end))

  it("says what to delete if an operator has deleted the tombstone of an id", in_world(function(world, _, session, queue)
    assert(queue:put("a", { id = "x" }))
    assert(assert(queue:claim(5)):ack())
    world:advance(70) -- longer than the id is known
    for _, bucket in ipairs(assert(session:children "/jobs/done")) do
      local path = "/jobs/done/" .. bucket
      for _, name in ipairs(assert(session:children(path))) do assert(session:delete(path .. "/" .. name)) end
    end
    local id = layout.id_path("/jobs", "x")
    for _ = 1, 2 do
      assert.matches("delete " .. id .. " too", env.fails("conflict", queue:put("b", { id = "x" })), 1, true)
    end
    assert(session:delete(id))
    assert.is_true(queue:put("b", { id = "x" }))
    assert.equal("b", assert(queue:claim(5)).data)
  end))

  it("buries an item although an operator has deleted the znode of its id", in_world(function(world, _, session, queue)
    assert(queue:put("a", { id = "x" }))
    local id = layout.id_path("/jobs", "x")
    for i = 1, 2 do
      local item = assert(queue:claim(5))
      if i == 2 then assert(session:delete(id)) end
      assert(item:nack())
    end
    assert.equal(1, queue:dead_size())
    local before = world:requests(session)
    env.fails("timeout", queue:claim(10))
    assert.is_true(world:requests(session) - before < 50)
  end))

  it("tolerates unreadable data in the znode of an id", in_world(function(_, _, session, queue)
    assert(queue:put("x", { id = "a" }))
    for _, text in ipairs { "", "junk", "1.5 0 x", "00000 " .. ("9"):rep(400) .. " x", "00000 x y", "99999 0 x" } do
      assert(session:set((layout.id_path("/jobs", "a")), text))
      assert.is_false(queue:remove("a"))
    end
  end))

  it("says that a directory is missing, instead of looking again and again", in_world(function(world, zk, session, queue)
    for _, folder in ipairs { "claims", "consumers" } do
      queue:put("x")
      assert(session:delete_tree("/jobs/" .. folder))
      for _, method in ipairs { "claim", "take" } do
        local count, _, code = costs(world, zk, world:process().session({ timeout = 10 }):queue("/jobs"), method, 10)
        assert.equal("no_node", code)
        assert.is_true(count < 20, count)
      end
      assert(session:create("/jobs/" .. folder, ""))
      assert(assert(queue:claim(200)):ack())
    end
  end))

  it("says why an item that always fails cannot be buried", in_world(function(world, zk, session, queue)
    queue:put("poison")
    assert(queue:claim(200)):nack()
    assert(session:set_acl("/jobs/dead/b-0000000000", { { scheme = "world", id = "anyone", perms = "r" } }))
    local count, _, code = costs(world, zk, session:queue("/jobs", { attempts = 1 }), "claim", 10)
    assert.equal("no_auth", code)
    assert.is_true(count < 50, count)
  end))
end)
