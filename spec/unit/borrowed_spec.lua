-- A finalizer that runs while the binding reads a table may change the table: what was read stays as it was. In a simulated world.
-- Tags: sanitize, one thread

local collector = require "spec.support.collector"
local sim = require "zkrecipes.sim"

local ENTRIES = 1000
local HASH = ":SChWx1WCBD0AUFrM3NN9XnWYvUA="

-- Frees what nothing refers to, and uses its memory for other strings. Lua 5.4 collects nothing inside of a finalizer; the strings are
-- freed there when the call allocates the next time.
local function reuse()
  collectgarbage()
  collectgarbage()
  for i = 1, 400 do local _ = ("z"):rep(300) .. i end
end

-- Calls `call`. Finalizers that run while it is in C call `change`.
local function interrupted(change, call)
  local reads, changing, runs = true, false, 0
  local function finalizer()
    if not reads then return end
    if not changing and debug.getinfo(2, "S").what == "C" then
      changing, runs = true, runs + 1
      change()
      reuse()
      changing = false
    end
    if runs < 30 then collector.garbage(finalizer) end
  end
  collector.hurry()
  for _ = 1, 5 do collector.garbage(finalizer) end
  assert(call())
  reads = false
  collector.calm()
  assert.is_true(runs > 0, "no finalizer has run in the call")
end

-- A string that is made here, of which nothing else has a copy.
local function text(i) return ("x"):rep(300) .. i end

local function check(data) assert.is_truthy(data == "gone" or data:match "^x+%d+$", data) end

-- Runs body(session) in a world.
local function in_world(body)
  return function()
    local world = sim.new { seed = 1, limit = 100000 }
    world:run(function() body(world.zk.session { timeout = 10 }) end)
  end
end

describe("a finalizer that changes a list while it is read", function()
  it("does not change what put_all has read", in_world(function(session)
    local queue, list = session:queue("/jobs"), {}
    for i = 1, ENTRIES do list[i] = i % 2 == 0 and text(i) or { data = text(i), priority = 1 } end
    interrupted(function()
      for i = 1, ENTRIES do
        if i % 2 == 0 then list[i] = "gone" else list[i].data = "gone" end
      end
    end, function() return queue:put_all(list, 60) end)
    for _ = 1, ENTRIES do check((assert(queue:take(5)))) end
  end))

  it("does not change what multi has read", in_world(function(session)
    local parts = {}
    for i = 1, ENTRIES do parts[i] = { "create", "/a" .. i, text(i), { sequential = false } } end
    interrupted(function()
      for i = 1, ENTRIES do parts[i][3] = "gone" end
    end, function() return session:multi(parts) end)
    for i = 1, ENTRIES do check((assert(session:get("/a" .. i)))) end
  end))

  it("does not change what create has read of an ACL", in_world(function(session)
    local acl = {}
    for i = 1, ENTRIES do acl[i] = { perms = "r", scheme = "digest", id = text(i) .. HASH } end
    acl[ENTRIES + 1] = "open"
    interrupted(function()
      for i = 1, ENTRIES do acl[i].id = "gone" .. HASH end
    end, function() return session:create("/a", "", { acl = acl }) end)
    local found = assert(session:get_acl("/a")) -- without those that were there twice
    for i = 1, #found - 1 do check((found[i].id:gsub("%:.*", ""))) end
  end))
end)
