-- Rounds of counters, ids, numbers for workers, trees and presences. See recipes.lua.

local core = require "zkrecipes.core"
local parts = require "spec.soak.parts"

local M = {}
local SOON, fails, hand_off, let_go, together = parts.SOON, parts.fails, parts.hand_off, parts.let_go, parts.together

local function recipe(name, begin, more)
  local one = more or {}
  one.name, one.begin = name, begin
  M[#M + 1] = one
end

-- ---- Counters and ids --------------------------------------------------------------------------

recipe("counter", function(soak, zk)
  local one, other = soak:session(zk):counter "/c/counter", soak:session():counter "/c/counter"
  return function(number)
    assert(one:set(number))
    together(zk, 2, function(i) return (i == 1 and one or other):add(1) end)
    assert(one:compare_and_set(number + 2, 0) == true)
    assert(other:compare_and_set(number + 2, 0) == false)
  end
end)

-- Each add makes a new counter and drops it.
recipe("counter, many", function(soak, zk)
  local one, other = soak:session(zk), soak:session()
  return function()
    together(zk, 4, function(i) return (i % 2 == 0 and one or other):counter("/c/counter"):add(1) end)
  end
end)

recipe("ids", function(soak, zk)
  local one, other = soak:session(zk):ids("/ids", { block = 2 }), soak:session():ids("/ids", { block = 3 })
  return function()
    together(zk, 4, function(i) return (i % 2 == 0 and one or other):next() end)
    assert(one:next_name "name-" ~= other:next_name "name-")
  end
end)

-- ---- Trees -------------------------------------------------------------------------------------

recipe("registry", function(soak, zk)
  local session, other = soak:session(zk), soak:session()
  local kept = session:registry "/registry"
  return function(number)
    local registry = other:registry "/registry"
    local changes = registry:changes("web " .. number % 3)
    local one = registry:register("web " .. number % 3, { id = "a", address = "a", weight = number % 5 + 1 })
    assert(kept:await("web " .. number % 3, 1, 10))
    assert(changes:next(10))
    kept:pick("web " .. number % 3, "least"):down(1)
    assert(one:update({ port = number % 1000 }, 10))
    assert(one:leave(10))
    while #kept:names() > 0 do zk.sleep(SOON) end
    changes:close()
    registry:close()
  end
end)

local function yes() return true end

recipe("two-phase commit", function(soak, zk)
  local session, other = soak:session(zk), soak:session()
  local two = session:two_phase("/two", { keep = 0 })
  local served = assert(two:serve("a", { prepare = yes, commit = yes, abort = yes }))
  return function(number)
    local part = assert(other:two_phase("/two", { keep = 0 }):serve("b", { prepare = function() return number % 3 > 0 end,
      commit = yes, abort = yes }))
    together(zk, number < 5 and 4 or 2, function(i) return two:run(number .. " " .. i, "x", { "a", "b" }, 1) end)
    while #assert(two:pending()) > 0 or #assert(other:children "/two/transactions") > 0 do zk.sleep(SOON) end
    assert(part:stop())
    return served
  end
end)

-- How many waits the session's host has now.
local function waits_of(session)
  local number = 0
  for _, record in pairs(core.host(session).waiters) do number = number + (record and 1 or 0) end
  return number
end

recipe("topic", function(soak, zk)
  local session, other = soak:session(zk), soak:session()
  local topic, theirs = session:topic("/topic", { keep = { count = 8 } }), other:topic("/topic", { keep = { count = 8 } })
  local kept = assert(topic:subscribe { from = "now", name = "kept" })
  -- What a publisher has read ahead, whether it knows the head, and how many records of waits a host keeps for reuse depend on the last
  -- rounds. 64: more than are ever in use. A subscription that was dropped waits until it is collected.
  function soak.rest()
    for _, one in ipairs { topic, theirs } do
      one.publisher.retention:forget()
      one.publisher.head = nil
      together(zk, 64 - waits_of(one.session), function() return one.session:exists "/topic" end)
    end
  end
  return function(number)
    local mine = assert(theirs:subscribe { from = "start" })
    together(zk, number < 5 and 24 or 4, function(i)
      return (i % 2 == 0 and topic or theirs):publish("data", { id = number % 7 .. "." .. i })
    end)
    for _ = 1, 4 do assert(mine:next(10)) end
    local message = kept:next(SOON)
    while message do
      assert(kept:ack(message.position))
      message = kept:next(SOON)
    end
    if number % 2 == 0 then mine:close() end
    if number % 3 == 0 then
      assert(other:topic("/topic"):subscribe { name = "other" }):close()
      assert(theirs:forget "other")
    end
  end
end)

recipe("config", function(soak, zk)
  local session, other = soak:session(zk), soak:session()
  local kept = { session:config("/config", { default = "0" }), other:config("/config", { default = "0" }) }
  local changes = kept[1]:changes()
  local function add(value) return tostring(tonumber(value) + 1) end
  return function()
    together(zk, 2, function(i) return kept[i]:update(add) end)
    local config = session:config "/config"
    assert(config:ready(10))
    local _, stat = config:get()
    assert(config:update(add))
    fails("bad_version", config:set("9", stat))
    fails("timeout", config:await(function() return false end, SOON))
    assert(changes:next(10))
    assert(kept[2]:set "0")
    assert(kept[1]:await(function(value) return value == "0" end, 10))
    config:close()
  end
end)

recipe("tree", function(soak, zk)
  local session, writer = soak:session(zk), soak:session()
  assert(writer:create("/tree", ""))
  local kept = session:tree "/tree"
  local changes, file = kept:changes(), os.tmpname()
  os.remove(file)
  return function(number)
    local path = "/tree/" .. number
    assert(writer:create(path, "1"))
    local options = number % 3 > 0 and { depth = 1, filter = { path, "/tree/x*" } } or { file = file }
    local tree = session:tree("/tree", options)
    local readers = { tree:changes(), (tree:changes()) }
    assert(tree:ready(10))
    assert(readers[1]:next(10))
    assert(readers[2]:next(10))
    fails("timeout", tree:await(function() return false end, SOON))
    if number % 2 == 0 then readers[1]:close() end
    assert(writer:set(path, "2"))
    assert(kept:await(function() return kept:get(path) == "2" end, 10))
    assert(writer:delete(path))
    assert(kept:await(function() return not kept:get(path) end, 10))
    while changes:next(0) do end -- luacheck: ignore
    tree:close()
    os.remove(file)
  end
end)

-- ---- Presences ---------------------------------------------------------------------------------

recipe("presence", function(soak, zk)
  local session, other = soak:session(zk), soak:session()
  return function(number)
    local presence = session:presence("/present", "1")
    assert(presence:ready(10))
    assert(presence:update(tostring(number)))
    local second = other:presence("/present", "2")
    fails("timeout", second:ready(SOON))
    if number % 3 == 0 then assert(other:delete "/present") end
    assert(presence:leave())
    assert(second:ready(10))
    assert(second:leave())
  end
end)

recipe("group", function(soak, zk)
  local session, other = soak:session(zk), soak:session()
  local kept = session:group "/group"
  local changes = kept:changes()
  return function(number)
    local group = other:group("/group", { grace = SOON })
    local reader = group:changes()
    local one, two = group:join("1", { id = "one" }), kept:join("2")
    assert(one:ready(10) and two:ready(10))
    assert(group:await(2, 10))
    assert(one:update(tostring(number)))
    assert(reader:next(10).kind == "joined")
    assert(one:leave() and two:leave())
    assert(kept:ready(10))
    while changes:next(SOON) do end -- luacheck: ignore
    if number % 2 == 0 then reader:close() end
    group:close()
  end
end)

recipe("partitioner", function(soak, zk)
  local session, other = soak:session(zk), soak:session()
  local kept = session:partitioner("/parts", { "a", "b", "c", "d" }, { id = "kept", settle = SOON })
  local changes = kept:changes()
  zk.spawn(function()
    kept:run(function(_, hold)
      while hold:valid() do zk.sleep(SOON) end
    end)
  end)
  return function(number)
    local one = other:partitioner("/parts", { "a", "b", "c", "d" }, { id = "one", settle = SOON })
    local reader = one:changes()
    assert(one:ready(10))
    while #one:mine() + #kept:mine() < 4 do zk.sleep(SOON) end
    if number % 3 == 0 then assert(one:set_parts({ "a" }, 10)) end
    while changes:next(SOON) do end -- luacheck: ignore
    if number % 2 == 0 then reader:close() end
    assert(one:close(10))
  end
end)

-- ---- Numbers for workers ------------------------------------------------------------------------

recipe("worker_id", function(soak, zk)
  local one, other, third = soak:session(zk):worker_id("/workers", 2), soak:session():worker_id("/workers", 2),
    soak:session():worker_id("/workers", 2)
  return function()
    local kept = assert(third:acquire(10))
    hand_off(zk, function(limit) return one:acquire(limit) end, function(limit) return other:acquire(limit) end,
      function(limit) return third:acquire(limit) end, let_go)
    kept:release()
  end
end)

recipe("snowflake", function(soak, zk)
  local snowflake = soak:session(zk):snowflake "/ids"
  return function()
    local ids = assert(snowflake:acquire(10))
    for _ = 1, 10 do assert(ids:next()) end
    ids:release()
  end
end)

return M
