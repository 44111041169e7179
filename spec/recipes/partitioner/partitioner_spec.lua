-- Partitions, on a real server.
-- Tags: sanitize

local collect = require "spec.support.collect"
local env = require "spec.support.env"
local zk = require "zkrecipes"
local run, fails, raises = env.run, env.fails, env.raises

local LIMIT = 200
local SETTLE = 0.05

local function parts(n)
  local list = {}
  for i = 1, n do list[i] = ("p/%d"):format(i) end
  return list
end

local function sessions(n)
  local namespace, list = env.namespace(), {}
  for i = 1, n do list[i] = env.session { namespace = namespace } end
  return list
end

-- A member that runs a function which records the parts that it serves.
local function serving(session, id, set, options)
  options = options or {}
  local one = assert(session:partitioner("/app", set, { id = id, settle = options.settle or SETTLE, weight = options.weight }))
  local serves = {}
  local task = zk.spawn(function()
    return one:run(function(part, hold)
      assert(hold:valid() and not serves[part])
      serves[part] = hold
      local ok, problem = zk.pcall(zk.sleep, 1000)
      serves[part] = nil
      assert(ok or problem == zk.canceled)
      error(problem, 0)
    end, { on_error = options.on_error })
  end)
  return one, serves, task
end

local function count(map)
  local n = 0
  for _ in pairs(map) do n = n + 1 end
  return n
end

local function divided(n, ...)
  local all = { ... }
  env.eventually("all parts are served", function()
    local sum = 0
    for _, serves in ipairs(all) do sum = sum + count(serves) end
    return sum == n
  end)
end

describe("a partitioner", function()
  it("divides the parts, serves each in a coroutine, and moves only what must move", run(function()
    local list = sessions(3)
    local a, at_a, task = serving(list[1], "a", parts(24))
    divided(24, at_a)
    assert.equal(24, #a:mine())
    assert.is_true(a:hold("p/1"):valid())
    local before = {}
    for part, hold in pairs(at_a) do before[part] = hold.token end
    local b, at_b = serving(list[2], "b", parts(24))
    env.eventually("b has some", function() return count(at_b) > 0 and count(at_a) + count(at_b) == 24 and #b:mine() == count(at_b) end)
    for part, hold in pairs(at_a) do assert.equal(before[part], hold.token) end
    for part, hold in pairs(at_b) do
      assert.is_true(hold.token > before[part])
      assert.is_false(a:hold(part))
    end
    local kept = {}
    for part, hold in pairs(at_b) do kept[part] = hold.token end
    assert(a:close(LIMIT))
    assert.same({}, a:mine())
    assert.equal(0, count(at_a))
    assert.is_true(task:wait())
    divided(24, at_b)
    for part, token in pairs(kept) do assert.equal(token, at_b[part].token) end
    assert(b:close(LIMIT))
    assert.same({}, list[3]:children "/app/members")
  end))

  it("releases a part that moves only after the function has ended, and writes are guarded", run(function()
    local list = sessions(2)
    assert(list[1]:create("/out", "", { parents = true }))
    local a = list[1]:partitioner("/app", { "x" }, { id = "a", settle = SETTLE })
    local old, was_valid, problem
    zk.spawn(function()
      a:run(function(_, hold)
        old = hold
        assert(hold:set("/out", "a"))
        problem = select(2, zk.pcall(zk.sleep, 1000))
        was_valid = hold:valid()
      end)
    end)
    env.eventually("a serves it", function() return old end)
    local b, at_b = serving(list[2], "b", { "x" }, { weight = 1000 })
    divided(1, at_b)
    assert.equal(zk.canceled, problem)
    assert.is_true(was_valid)
    assert.is_false(old:valid())
    assert(at_b.x:set("/out", "b"))
    raises("released", function() old:set("/out", "late") end)
    assert(a:close(LIMIT))
    b:close(LIMIT)
  end))

  it("tells gained, moved, removed and closed, to each reader, the latest only", run(function()
    local list = sessions(2)
    local a = list[1]:partitioner("/app", { "x" }, { id = "a", settle = SETTLE })
    local changes, slow = a:changes(), a:changes()
    local gained = assert(changes:next(LIMIT))
    assert.same({ "gained", "x", a:hold("x").token }, { gained.kind, gained.part, gained.token })
    assert.equal(a:hold "x", gained.hold)
    fails("timeout", changes:next(0.01))
    local b = list[2]:partitioner("/app", { "x" }, { id = "b", settle = SETTLE, weight = 1000 })
    local ended = assert(changes:next(LIMIT))
    assert.same({ "ended", "x", "moved", gained.token }, { ended.kind, ended.part, ended.why, ended.token })
    assert(b:close(LIMIT))
    gained = assert(changes:next(LIMIT))
    assert.equal("gained", gained.kind)
    local late = assert(slow:next(LIMIT))
    assert.equal(gained.token, late.token)
    fails("timeout", slow:next(0))
    assert(a:set_parts({}, LIMIT))
    ended = assert(changes:next(LIMIT))
    assert.same({ "ended", "x", "removed" }, { ended.kind, ended.part, ended.why })
    assert(a:set_parts({ "y" }, LIMIT))
    assert.equal("y", assert(changes:next(LIMIT)).part)
    assert(a:close(LIMIT))
    ended = assert(changes:next(LIMIT))
    assert.same({ "ended", "y", "closed" }, { ended.kind, ended.part, ended.why })
    fails("closed", changes:next(LIMIT))
    assert.equal("the reader was closed", (slow:close() and fails("closed", slow:next()):match "the reader.*"))
    fails("closed", a:changes())
    fails("closed", a:run(function() end))
    fails("closed", a:ready())
    assert(a:close())
  end))

  it("adds and removes parts, and moves no others", run(function()
    local list = sessions(2)
    local a, at_a = serving(list[1], "a", parts(10))
    local b, at_b = serving(list[2], "b", parts(10))
    env.eventually("divided", function() return count(at_a) > 0 and count(at_b) > 0 and count(at_a) + count(at_b) == 10 end)
    local tokens = {}
    for _, serves in ipairs { at_a, at_b } do
      for part, hold in pairs(serves) do tokens[part] = hold.token end
    end
    local set = parts(20)
    table.remove(set, 1)
    assert(a:set_parts(set, LIMIT))
    assert(b:set_parts(set, LIMIT))
    env.eventually("the new set", function() return count(at_a) + count(at_b) == 19 and not at_a["p/1"] and not at_b["p/1"] end)
    for _, serves in ipairs { at_a, at_b } do
      for part, hold in pairs(serves) do assert.equal(tokens[part] or hold.token, hold.token) end
    end
    a:close(LIMIT)
    b:close(LIMIT)
  end))

  it("tells that sets differ, and that they agree again", run(function()
    local list = sessions(2)
    local a, at_a = serving(list[1], "a", parts(8))
    local changes = a:changes()
    local b, at_b = serving(list[2], "b", parts(12))
    local told
    repeat told = assert(changes:next(LIMIT)) until told.kind == "differs"
    assert.same({ "b" }, told.members)
    assert.same({ "b" }, a:differing())
    env.eventually("b is told", function() return b:differing()[1] == "a" end)
    assert(a:set_parts(parts(12), LIMIT))
    repeat told = assert(changes:next(LIMIT)) until told.kind == "differs"
    assert.same({}, told.members)
    assert.same({}, a:differing())
    divided(12, at_a, at_b)
    assert(list[2]:create("/app/members/stranger", "no member"))
    env.eventually("the stranger is told", function() return a:differing()[1] == "stranger" end)
    divided(12, at_a, at_b)
    a:close(LIMIT)
    b:close(LIMIT)
  end))

  it("reports an error of the function, and calls it again", run(function()
    local session = sessions(1)[1]
    local a = session:partitioner("/app", { "x" }, { settle = SETTLE })
    local calls, told = 0, nil
    local task = zk.spawn(function()
      return a:run(function(_, hold)
        calls = calls + 1
        if calls < 3 then error "on purpose" end
        assert(hold:valid())
      end, { backoff = 0.01, on_error = function(problem, part) told = part .. " " .. tostring(problem) end })
    end)
    env.eventually("the third call", function() return calls == 3 end)
    assert.matches("^x .*on purpose", told)
    local token = a:hold("x").token
    assert.is_true(a:stop())
    fails("canceled", task:wait())
    assert.is_false(a:stop())
    assert.equal(token, a:hold("x").token)
    assert.equal(3, calls) -- it returned, so it is not called again
    local again
    task = zk.spawn(function() return a:run(function() again = true end) end)
    env.eventually("another run", function() return again end)
    raises("runs already", function() a:run(function() end) end)
    task:cancel()
    task:wait()
    assert.is_true(a:hold("x"):valid())
    a:close(LIMIT)
  end))

  it("waits while another member has its id", run(function()
    local list = sessions(2)
    local a, at_a = serving(list[1], "same", parts(4))
    divided(4, at_a)
    local b, at_b = serving(list[2], "same", parts(4))
    env.eventually("a limit passes after an answer", function() return select(3, b:ready(0.3)) == "timeout" end)
    assert.same({}, b:mine())
    assert(a:close(LIMIT))
    divided(4, at_b)
    b:close(LIMIT)
  end))

  it("leaves when it is dropped, and its session is used on", run(function()
    local session = sessions(1)[1]
    local a = session:partitioner("/app", { "x" }, { settle = SETTLE })
    assert(a:ready(LIMIT))
    env.eventually("x is held", function() return a:hold "x" end)
    a = nil -- luacheck: ignore 311
    env.eventually("it has left", function()
      collect()
      return #session:children("/app/members") == 0 and #session:lock("/app/parts/x"):contenders() == 0
    end)
  end))

  it("is kept while it runs, and while a reader is kept", run(function()
    local session = sessions(1)[1]
    local served
    local task = zk.spawn(function()
      return session:partitioner("/app", { "x" }, { settle = SETTLE }):run(function(_, hold)
        served = hold
        zk.sleep(1000)
      end)
    end)
    env.eventually("x is served", function() return served end)
    local changes = session:partitioner("/other", { "y" }, { settle = SETTLE }):changes()
    local gained = assert(changes:next(LIMIT))
    for _ = 1, 5 do
      collect()
      zk.sleep(0.01)
    end
    assert.is_true(served:valid())
    assert.is_true(gained.hold:valid())
    task:cancel()
    task:wait()
    env.eventually("the first has left", function()
      collect()
      return #session:children("/app/members") == 0
    end)
  end))

  it("ends with its session", run(function()
    local session = sessions(1)[1]
    local a, serves, task = serving(session, "a", parts(3))
    divided(3, serves)
    local changes = a:changes()
    session:close(LIMIT)
    fails("closed", task:wait())
    assert.equal(0, count(serves))
    repeat local change, _, code = changes:next(LIMIT) until not change and code == "closed"
    assert.same({}, a:mine())
    assert(a:close(LIMIT))
  end))

  it("raises misuse at the caller's line", run(function()
    local session = env.session()
    raises("path", function() session:partitioner("no path", {}) end)
    raises("list of parts expected, got nil", function() session:partitioner("/p") end)
    raises("string expected at 2, got number", function() session:partitioner("/p", { "a", 1 }) end)
    raises("part 'a' is twice", function() session:partitioner("/p", { "a", "a" }) end)
    raises("'weight'", function() session:partitioner("/p", {}, { weight = 0 }) end)
    raises("'weight'", function() session:partitioner("/p", {}, { weight = 0 / 0 }) end)
    raises("'settle'", function() session:partitioner("/p", {}, { settle = "1" }) end)
    raises("unknown option", function() session:partitioner("/p", {}, { none = 1 }) end)
    fails("too_large", session:partitioner("/p", { ("x"):rep(2000) }))
    fails("too_large", session:partitioner("/p", {}, { id = ("x"):rep(2000) }))
    local a = session:partitioner("/p", {})
    raises("function expected", function() a:run(1) end)
    raises("string expected", function() a:hold(1) end)
    raises("part 'b' is twice", function() a:set_parts { "b", "b" } end)
    a:close(LIMIT)
  end))
end)
