-- The queue on a real server.

local collect = require "spec.support.collect"
local zk = require "zkrecipes"
local env = require "spec.support.env"
local arguments = require "zkrecipes.recipes.queue.arguments"
local testing = require "zkrecipes.testing"
local run, fails = env.run, env.fails

-- The znodes that claims and idle consumers leave while they live.
local function left(session)
  return #session:children("/jobs/claims"), #(session:children("/jobs/seat") or {})
end

describe("a queue", function()
  local session, queue, namespace
  local function other(options)
    options = options or {}
    options.namespace = namespace
    return env.session(options)
  end
  before_each(function()
    namespace = env.namespace()
    session = env.session { namespace = namespace }
    queue = session:queue("/jobs", { attempts = 3 })
  end)
  after_each(function() session:close() end)

  it("gives the items in order, with any bytes", run(function()
    assert(queue:put("a\0b"))
    assert(queue:put(""))
    assert.equal(3, queue:put_all { "1", { data = "2" }, "3" })
    assert.equal(5, queue:size())
    assert.equal("a\0b", queue:peek().data)
    local seen = {}
    for item in queue:items() do seen[#seen + 1] = item.data end
    assert.same({ "a\0b", "", "1", "2", "3" }, seen)
    for i = 1, 5 do
      local item = assert(queue:claim(200))
      assert.equal(seen[i], item.data)
      assert.equal(1, item.attempts)
      assert.is_true(item:ack())
    end
    assert.equal(0, queue:size())
    assert.is_false(queue:peek())
    fails("timeout", queue:claim(0))
    env.late(queue:claim(0.05))
    fails("timeout", queue:take(0))
  end))

  it("has iterators that stay at their end, and that several coroutines may use", run(function()
    for _, delay in ipairs { 0, 50, 5000 } do assert(queue:put("x", { delay = delay })) end
    local next_item, count = queue:items(), 0
    for item in next_item do count = count + #item.data end
    assert.equal(3, count)
    for _ = 1, 3 do assert.is_nil(next_item()) end
    next_item = queue:items()
    local function all() for item in next_item do assert.equal("x", item.data) end end
    zk.all { all, all, all }
    assert.is_nil(next_item())
  end))

  it("keeps an item until it is acked; nack brings it back to its place", run(function()
    queue:put_all { "1", "2" }
    local first = assert(queue:claim())
    assert.equal(2, queue:size())
    local second = assert(queue:claim())
    assert.equal("2", second.data)
    fails("timeout", queue:claim(0))
    assert.is_true(first:nack())
    second:nack()
    local again = assert(queue:claim(200))
    assert.equal("1", again.data)
    assert.equal(2, again.attempts)
    again:ack()
    assert.has_error(function() again:ack() end)
    assert.has_error(function() first:nack() end)
  end))

  it("removes an item at once by take", run(function()
    queue:put("1")
    local data, item = queue:take(200)
    assert.equal("1", data)
    assert.equal(0, queue:size())
    assert.has_error(function() item:ack() end)
  end))

  it("does not take an item that another consumer has claimed", run(function()
    local second = other()
    queue:put_all { "1", "2" }
    local item = assert(queue:claim())
    assert.equal("2", (second:queue("/jobs"):take(200)))
    fails("timeout", second:queue("/jobs"):take(0))
    item:ack()
    second:close()
  end))

  it("gives each item to one of many consumers, whose sessions stand for processes", run(function()
    local count, seen, total = 300, {}, 0
    local sessions = {}
    for s = 1, 4 do
      sessions[s] = other()
      local mine = sessions[s]:queue("/jobs")
      for _ = 1, 5 do
        zk.spawn(function()
          while total < count do
            local item = mine:claim(0.5)
            if item then
              assert.is_nil(seen[item.data])
              seen[item.data] = true
              assert(item:ack())
              total = total + 1
            end
          end
        end)
      end
    end
    for i = 1, count / 10 do
      local list = {}
      for j = 1, 10 do list[j] = tostring(i * 10 + j) end
      queue:put_all(list)
    end
    env.eventually("all are done", function() return total == count end)
    assert.equal(0, queue:size())
    env.eventually("nothing is left", function()
      local claims, seats = left(session)
      return claims == 0 and seats == 0
    end)
    for s = 1, 4 do sessions[s]:close() end
  end))

  it("gives a dead consumer's item again, before items that were put later", run(function()
    local dying = other()
    queue:put_all { "1", "2" }
    local item = assert(dying:queue("/jobs"):claim(200))
    assert.equal("1", item.data)
    queue:claim(200):ack()
    local wait = env.start(function() return queue:claim(200) end)
    env.eventually("a consumer watches", function() return #(session:children("/jobs/seat") or {}) == 1 end)
    assert(testing.expire(env.server(), dying.id))
    local again = assert(wait())
    assert.equal("1", again.data)
    assert.equal(2, again.attempts)
    fails("lost", item:ack())
    fails("lost", item:nack())
    assert.is_true(again:ack())
    dying:close()
  end))

  it("keeps nothing for a canceled coroutine or a collected item", run(function()
    local task = zk.spawn(function() return queue:claim() end)
    env.eventually("it waits", function() return #(session:children("/jobs/seat") or {}) == 1 end)
    task:cancel()
    env.eventually("it has left", function() return #session:children("/jobs/seat") == 0 end)
    queue:put("1")
    local item = assert(queue:claim(200))
    assert.equal(1, item.attempts)
    item = nil -- luacheck: ignore 311
    env.eventually("it came back", function()
      collect()
      return #session:children("/jobs/claims") == 0
    end)
    assert.equal(1, assert(queue:claim(200)).attempts)
  end))

  it("makes an item a dead letter after its last attempt; it can be put back", run(function()
    queue:put("poison", { id = "p" })
    for i = 1, 3 do
      local item = assert(queue:claim(200))
      assert.equal(i, item.attempts)
      item:nack()
    end
    fails("timeout", queue:claim(0))
    assert.equal(0, queue:size())
    assert.equal(1, queue:dead_size())
    for letter in queue:dead() do
      assert.equal("poison", letter.data)
      assert.equal(3, letter.attempts)
    end
    assert.equal(1, queue:redrive())
    assert.equal(0, queue:dead_size())
    local item = assert(queue:claim(200))
    assert.equal(1, item.attempts)
    assert.equal("p", item.id)
    item:ack()
  end))

  it("makes an item a dead letter if too many of its consumers have died", run(function()
    local once = session:queue("/jobs", { attempts = 1 })
    once:put("1")
    local dying = other()
    local item, id = assert(dying:queue("/jobs"):claim(200)), dying.id
    assert(testing.expire(env.server(), id))
    env.eventually("it is a dead letter", function()
      once:claim(0)
      return once:dead_size() == 1
    end)
    env.eventually("its consumer knows", function() return dying.id ~= id end)
    assert.equal(0, once:size())
    fails("lost", item:ack())
    dying:close()
  end))

  it("serves lower priorities first, also while other items are claimed", run(function()
    for i = 1, 30 do queue:put("low" .. i, { priority = 7 }) end
    assert.equal("low1", queue:take(200))
    queue:put("high", { priority = 1 })
    queue:put("first")
    local seen = {}
    for i = 1, 25 do seen[queue:take(200)] = i end
    assert.is_true(seen.first < seen.high)
    assert.equal(6, queue:size())
  end))

  it("shows an item when it is due", run(function()
    local from = zk.now()
    queue:put("in an hour", { delay = 3600, priority = 3 })
    queue:put("now")
    assert.equal(2, queue:size())
    assert.equal("now", queue:take(200))
    fails("timeout", queue:claim(0))
    queue:put("late", { delay = 0.7, priority = 2 })
    local item = assert(queue:claim(200))
    assert.equal("late", item.data)
    local took = zk.now() - from
    assert.is_true(took > 0.65, "took " .. took)
    -- The server's time is known by its answers. If a busy machine takes long for one, an item may come too early by that time.
    local known
    repeat
      from = zk.now()
      queue:size()
      item:nack(0.5)
      known = zk.now() - from < 0.1
      item = assert(queue:claim(200))
      if known then assert.is_true(zk.now() - from > 0.4) end
      assert.equal(2, item.attempts)
      item:ack()
      if not known then
        queue:put("once more")
        item = assert(queue:claim(200))
      end
    until known
  end))

  it("knows ids: an item is put once, and can be removed", run(function()
    assert.is_true(queue:put("1", { id = "a/b\0c" }))
    local ok, known = queue:put("1", { id = "a/b\0c" })
    assert.is_true(ok)
    assert.equal("known", known)
    assert.equal(1, queue:size())
    assert.is_true(queue:remove("a/b\0c"))
    assert.is_false(queue:remove("a/b\0c"))
    assert.equal(0, queue:size())
    queue:put("2", { id = "x", delay = 100 })
    assert.is_true(queue:remove("x"))
    queue:put("3", { id = "x" })
    local item = assert(queue:claim(200))
    assert.equal("x", item.id)
    fails("conflict", queue:remove("x"))
    item:ack()
    ok, known = queue:put("3", { id = "x" })
    assert.is_true(ok and known == "known")
    assert.equal(0, queue:size())
  end))

  it("puts no second item if the answer to a put with an id is lost", run(function()
    local proxy = env.proxy()
    local far = other { hosts = proxy.hosts }
    local mine = far:queue("/jobs")
    assert(mine:put("0", { id = "0" }))
    for i = 1, 5 do
      proxy:drop_reply("multi")
      assert.is_true(mine:put("x", { id = "id" .. i }))
    end
    assert.equal(6, queue:size())
    far:close()
    proxy:heal()
  end))

  it("refuses a put at its capacity, or waits for room", run(function()
    local small = session:queue("/jobs", { capacity = 3 })
    for i = 1, 3 do assert(small:put(tostring(i), { timeout = 0 })) end
    fails("full", small:put("4", { timeout = 0 }))
    env.eventually("it is full when a limit passes in which a server has answered", function()
      local ok, _, code = small:put("4", { timeout = 0.1 })
      assert.is_nil(ok)
      return code == "full"
    end)
    local put = env.start(function() return small:put("4") end)
    assert.equal("1", small:take(200))
    assert.is_true(put())
    assert.equal(3, small:size())
  end))

  it("fills one bucket after another and deletes empty ones", run(function()
    local size = arguments.BUCKET
    arguments.BUCKET = 10
    for i = 1, 95 do queue:put(tostring(i)) end
    for i = 1, 95 do assert.equal(tostring(i), (queue:take(200))) end
    arguments.BUCKET = size
    fails("timeout", queue:take(0))
    assert.is_true(#session:children("/jobs/lanes/00000") <= 4)
  end))

  it("refuses wrong arguments", run(function()
    local function misuse(text, ...)
      local ok, problem = pcall(...)
      assert.is_false(ok)
      assert.matches(text, problem)
      assert.matches("queue_spec.lua", problem)
    end
    misuse("string expected", function() queue:put(5) end)
    misuse("priority", function() queue:put("", { priority = -1 }) end)
    misuse("unknown option", function() queue:put("", { prio = 1 }) end)
    misuse("capacity", function() session:queue("/q", { capacity = 0 }) end)
    misuse("format", function() session:queue("/q", { format = "x" }) end)
    misuse("path", function() session:queue("q") end)
    misuse("path", function() session:queue("/") end)
    misuse("list expected", function() queue:put_all("x") end)
    misuse("bad self", function() queue.claim() end)
  end))
end)
