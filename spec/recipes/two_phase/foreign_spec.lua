-- Two-phase commit beside a client that writes into its znodes: nothing loops, and one transaction does not hold up the others.
-- Tags: sanitize

local records = require "zkrecipes.recipes.two_phase.record"
local sim = require "zkrecipes.sim"
local transactions = require "zkrecipes.recipes.two_phase.transaction"

-- Runs fn(zk, session, two, logged, world) in a simulated world; logged: the warnings of the session, in order.
local function in_world(options, fn)
  return function()
    local world = sim.new { seed = 1 }
    world:run(function()
      local zk, logged = world.zk, {}
      local session = zk.session { log = function(level, text) if level == "warning" then logged[#logged + 1] = text end end }
      fn(zk, session, session:two_phase("/t", options), logged, world)
    end)
  end
end

local function yes() return true end

local function serve(two, name, prepare) return assert(two:serve(name, { prepare = prepare or yes, commit = yes, abort = yes })) end

local function said(logged, pattern)
  local count = 0
  for _, text in ipairs(logged) do
    if text:find(pattern) then count = count + 1 end
  end
  return count
end

describe("two-phase commit beside another client", function()
  it("does not decide an open transaction that was written again, and does not spin", in_world({}, function(zk, session, two, logged,
      world)
    local part = serve(two, "a")
    local task = zk.spawn(function() return world:session():two_phase("/t"):run("id", "d", { "a", "b" }, 10) end)
    zk.sleep(3)
    assert(session:set("/t/transactions/id", (session:get "/t/transactions/id")))
    local state, message, code = task:wait()
    assert.is_nil(state)
    assert.are.equal("conflict", code)
    assert.matches("another client has written the open transaction again %(version 1%).*delete the znode", message)
    zk.sleep(20)
    local before = world:requests(zk)
    zk.sleep(600)
    assert.is_true(world:requests(zk) - before < 400) -- a try in ten seconds
    assert.are.equal(1, said(logged, "another client has written the open transaction"))
    assert.are.equal("open", two:outcome "id")
    assert(session:delete_tree "/t/transactions/id")
    zk.sleep(20)
    assert.are.equal(1, said(logged, "another client has deleted 'id'"))
    part:close()
  end))

  it("ends a decision whose answers are always lost", function()
    local record, sent = { state = "open", tag = "9", milliseconds = 1, names = { "a" }, data = "" }, 0
    local session = {}
    function session:multi()
      sent = sent + 1
      return nil, "no answer", self == session and "connection_loss" or "misuse"
    end
    function session.get() return records.encode(record), { version = 0 } end
    local found, message, code = transactions.decide(session, { place = { path = "/t" }, record = record }, "aborted", "x")
    assert.are.same({ false, "no answer", "connection_loss", 6 }, { found or false, message, code, sent })
  end)

  it("takes no record of which no path can be made", in_world({}, function(zk, session, two, logged)
    local part = serve(two, "a")
    assert.are.equal("committed", two:run("first", "", { "a" }, 10))
    for id, text in pairs {
      sum = "state open\ntag 9\nsum 1:1", nobody = "state open\ntag 9\nnames ", nul = "state open\ntag 9\nnames a \0",
      slash = "state open\ntag 9\nnames a x//y", tag = "state open\ntag /\nnames a",
    } do
      assert(session:create("/t/transactions/" .. id, "zkrecipes two-phase 1\nmilliseconds 1000\n" .. text .. "\n\n"))
      assert(session:create(("/t/participants/a/%s.9"):format(id), ""))
      assert.are.equal("conflict", select(3, two:outcome(id)))
    end
    zk.sleep(60)
    assert.are.equal(5, said(logged, "holds no transaction"))
    assert.are.equal(5, #logged)
    assert.are.equal("committed", two:run("last", "", { "a" }, 10))
    part:close()
  end))

  it("forgets the others if one outcome has a znode below it", in_world({ keep = 2 }, function(zk, session, two, logged, world)
    local part = serve(two, "a")
    for i = 1, 5 do
      assert.are.equal("committed", two:run("id" .. i, "d", { "a" }, 2))
      if i == 1 then
        zk.sleep(0.5)
        assert(session:create("/t/transactions/id1/note", ""))
      end
    end
    zk.sleep(60)
    assert.are.same({ "id1" }, world:children "/t/transactions")
    local before = world:requests(zk, "delete")
    zk.sleep(3000)
    assert.is_true(world:requests(zk, "delete") - before <= 10)
    assert.are.equal(1, said(logged, "transaction 'id1' cannot be tidied: .*; it is tried again now and then"))
    assert(session:delete "/t/transactions/id1/note")
    zk.sleep(400)
    assert.are.same({}, world:children "/t/transactions")
    part:close()
  end))

  it("goes on beside transactions that cannot be tidied", in_world({ keep = 100 }, function(zk, session, two, logged, world)
    local part = serve(two, "a", function(id)
      if id ~= "last" then
        local path = "/t/transactions/" .. id .. "/note"
        assert(session:create(path, "") and session:create(path .. "/below", ""))
      end
      return true
    end)
    for i = 1, 101 do assert.are.equal("committed", two:run("id" .. i, "", { "a" }, 10)) end
    assert.are.equal("committed", two:run("last", "", { "a" }, 10)) -- up to 100 are in work at a time
    zk.sleep(60)
    assert.are.same({}, two:pending())
    assert.are.equal(101, said(logged, "cannot be tidied"))
    for i = 1, 101 do assert(session:delete(("/t/transactions/id%d/note/below"):format(i))) end
    zk.sleep(1000)
    assert.are.same({}, world:children "/t/transactions")
    assert.are.equal(101, #logged)
    part:close()
  end))

  it("says once that an outcome was written again", in_world({ keep = 2 }, function(zk, session, two, logged)
    local part = serve(two, "a")
    assert.are.equal("committed", two:run("id", "", { "a" }, 2))
    zk.sleep(0.5)
    assert(session:set("/t/transactions/id", (session:get "/t/transactions/id")))
    zk.sleep(1000)
    assert.are.equal(1, said(logged, "'id' cannot be tidied: another client has written /t/transactions/id %(version 3%); delete it"))
    assert.are.equal("committed", two:outcome "id")
    part:close()
  end))
end)
