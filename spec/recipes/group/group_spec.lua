-- Groups, on a real server; slow cases in virtual time.
-- Tags: sanitize

local collect = require "spec.support.collect"
local sim = require "zkrecipes.sim"
local env = require "spec.support.env"
local run, fails, raises = env.run, env.fails, env.raises

local LIMIT = 200

local function pair()
  local namespace = env.namespace()
  return env.session { namespace = namespace }, env.session { namespace = namespace }
end

local function ids_of(list)
  local ids = {}
  for i, member in ipairs(list) do ids[i] = member.id end
  return table.concat(ids, ",")
end

local function told(changes)
  local change = assert(changes:next(LIMIT))
  return ("%s %s %s"):format(change.kind, change.id, tostring(change.data)), change
end

describe("a group", function()
  it("lists its members in the order of joining, and reports changes", run(function()
    local session, other = pair()
    local group, theirs = session:group "/g", other:group "/g"
    local changes = group:changes()
    local members = {}
    for i, id in ipairs { "z", "a/1", "", "\0" } do
      members[i] = theirs:join("of " .. i, { id = id })
      assert(members[i]:ready(LIMIT))
    end
    local list = assert(group:await(4, LIMIT))
    assert.equal("z,a/1,,\0", ids_of(list))
    assert.equal("of 2", list[2].data)
    assert.equal("z,a/1,,\0", ids_of(group:members()))
    for _ = 1, 4 do assert.matches("^joined .* of %d$", (told(changes))) end
    assert(members[1]:update("new", LIMIT))
    local text, change = told(changes)
    assert.equal("changed z new", text)
    assert.equal("of 1", change.before)
    assert(members[2]:leave(LIMIT))
    assert.equal("left a/1 nil", (told(changes)))
    assert.equal("left", members[2]:state())
    fails("timeout", changes:next(0.05))
    assert.equal("z,,\0", ids_of(group:members()))
    assert.equal("/g", group.path)
    assert.equal("/g/a=2F1", members[2].path)
    group:close()
    fails("closed", changes:next())
    fails("closed", group:await(1))
  end))

  it("gives each member without an id a new one", run(function()
    local session = pair()
    local group, seen, kept = session:group "/g", {}, {}
    for i = 1, 50 do
      kept[i] = group:join(nil)
      assert(not seen[kept[i].id])
      seen[kept[i].id] = true
    end
    assert.equal(50, #assert(group:await(50, LIMIT)))
    for i = 1, 50 do assert(kept[i]:leave(LIMIT)) end
  end))

  it("lets a second member with the same id wait, and reports that", run(function()
    local session, other = pair()
    local first = session:group("/g"):join("1", { id = "same" })
    assert(first:ready(LIMIT))
    local second = other:group("/g"):join("2", { id = "same" })
    env.eventually("blocked", function() return second:state() == "blocked" end)
    assert.matches("member:ready /g/same: another znode is in the way", fails("timeout", second:ready(0.2)))
    assert(first:leave(LIMIT))
    assert(second:ready(LIMIT))
    assert(second:leave(LIMIT))
  end))

  for _, case in ipairs { { grace = 10, told = "changed" }, { grace = 0, told = "left joined" } } do
    it("reports the loss of a session and the next session as " .. case.told, function()
      local world = sim.new { seed = 1 }
      world:run(function()
        local zk = world:process()
        local group = world:session():group("/g", { grace = case.grace })
        local member = zk.session { timeout = 6 }:group("/g"):join("data", { id = "m" })
        assert(member:ready(30))
        local changes = group:changes()
        assert.equal("joined", changes:next(30).kind)
        world:expire(zk)
        local kinds = {}
        local change = changes:next(30)
        while change do
          kinds[#kinds + 1] = change.kind
          change = changes:next(5)
        end
        assert.equal(case.told, table.concat(kinds, " "))
        assert.equal("present", member:state())
        local at = world:now()
        assert(member:leave(30))
        assert.equal("left", changes:next(60).kind)
        local took = world:now() - at
        assert.is_true(took >= case.grace and took < case.grace + 1, "told after " .. took)
      end)
    end)
  end

  it("keeps a member while the program refers to it", run(function()
    local session, other = pair()
    local member = session:group("/g"):join("1", { id = "m" })
    assert(member:ready(LIMIT))
    collect(2)
    assert(other:exists "/g/m")
    member = nil -- luacheck: ignore 311
    env.eventually("gone", function()
      collect()
      return not other:exists "/g/m"
    end)
  end))

  it("raises misuse at the caller's line", run(function()
    local session = env.session()
    raises("path", function() session:group("no path") end)
    raises("grace", function() session:group("/g", { grace = "1" }) end)
    raises("unknown option", function() session:group("/g", { none = 1 }) end)
    local group = session:group "/g"
    raises("bad argument #1 to 'join'", function() group:join({}) end)
    raises("bad argument #2 to 'join'", function() group:join("", { id = 1 }) end)
    raises("bad argument #1 to 'await'", function() group:await("1") end)
    fails("too_large", group:join("", { id = ("x"):rep(2000) }))
    group:close()
  end))
end)
