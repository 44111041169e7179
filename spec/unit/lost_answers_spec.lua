-- transact: a multi whose answer is lost (lost_answers.lua).

local limits = require "zkrecipes.limit"
local requests = require "zkrecipes.lost_answers"
local sim = require "zkrecipes.sim"

local unpack = table.unpack or unpack -- luacheck: ignore 113 143

local LOST = { nil, "the answer was lost", "connection_loss" }
local PARTS = { { "delete", "/a" } }

-- A session that answers each multi with the next of these answers, and in the end always with the last one. It counts the requests.
local function session_with(...)
  local answers, session = { ... }, { sent = 0 }
  function session:multi(parts)
    assert.are.equal(PARTS, parts)
    self.sent = self.sent + 1
    return unpack(answers[math.min(self.sent, #answers)], 1, 3)
  end
  return session
end

-- Returns a was_done with these results, and a table that counts its calls.
local function telling(...)
  local results, calls = { ... }, { count = 0 }
  return function()
    calls.count = calls.count + 1
    return unpack(results, 1, 3)
  end, calls
end

local function results_of(...) return { n = select("#", ...), ... } end

describe("a transaction whose answer is not lost", function()
  it("returns its results", function()
    local was_done, calls = telling(true)
    assert.are.same({ "the results" }, requests.transact(session_with({ { "the results" } }), PARTS, was_done))
    assert.are.equal(0, calls.count)
  end)

  it("returns each failure", function()
    for _, code in ipairs { "no_node", "bad_version", "node_exists", "no_memory", "closed", "late" } do
      local was_done, calls = telling(true)
      local session = session_with({ nil, "why", code })
      assert.are.same({ nil, "why", code, n = 3 }, results_of(requests.transact(session, PARTS, was_done)))
      assert.are.equal("1 0", session.sent .. " " .. calls.count)
    end
  end)
end)

describe("a transaction whose answer is lost", function()
  it("is not sent again if it was done", function()
    local session = session_with(LOST)
    local given
    assert.is_true(requests.transact(session, PARTS, function(...)
      given = results_of(...)
      return "its name"
    end, 1, nil, 3))
    assert.are.same({ 1, nil, 3, n = 3 }, given)
    assert.are.equal(1, session.sent)
  end)

  it("is sent again if it was not done", function()
    local was_done, calls = telling(false)
    local session = session_with(LOST, LOST, { { "the results" } })
    assert.are.same({ "the results" }, requests.transact(session, PARTS, was_done))
    assert.are.equal("3 2", session.sent .. " " .. calls.count)
  end)

  it("fails with was_done's error if that cannot find out", function()
    local session = session_with(LOST)
    local results = results_of(requests.transact(session, PARTS, telling(nil, "it may have been done", "closed")))
    assert.are.same({ nil, "it may have been done", "closed", n = 3 }, results)
    assert.are.equal(1, session.sent)
  end)

  it("is given up if each request breaks the connection", function()
    local session = session_with(LOST)
    local results = results_of(requests.transact(session, PARTS, telling(false)))
    assert.are.same({ nil, "the answer was lost", "connection_loss", n = 3 }, results)
    assert.are.equal(6, session.sent)
  end)

  it("does not end with timeout within a time limit, because it may have been done", function()
    local world = sim.new { seed = 1, limit = 100 }
    world:run(function()
      local zk = world:process()
      local session = zk.session()
      assert(session:connected())
      local limit = limits.new(session, 1)
      limit.session.multi = function() return unpack(LOST, 1, 3) end
      local _, message, code = limit:told(requests.transact(limit.session, PARTS, function()
        zk.sleep(2)
        return limit.session:exists("/a") -- not sent, because the limit has passed
      end))
      assert.are.equal("connection_loss", code, message)
    end)
  end)
end)
