-- kill -9 at every request of a coordinator and of a participant: the transaction ends in the same way for all, and nothing blocks.

local child = require "spec.support.child"
local env = require "spec.support.env"
local run = env.run

local REQUESTS = 20 -- more than a participant sends

local function serving(two, name)
  local calls = {}
  local function handler(what) return function(id) calls[#calls + 1] = what .. " " .. id return true end end
  local participant = assert(two:serve(name, { prepare = handler "prepare", commit = handler "commit", abort = handler "abort" }))
  return calls, participant
end

-- All is done, also the tidying.
local function is_tidied(two, id)
  local stat = two.session:exists("/tp/transactions/" .. id)
  return stat and two:outcome(id) == "committed" and stat.num_children == 0
end

local function ended(two) env.eventually("nothing is pending", function() return #(assert(two:pending())) == 0 end) end

describe("a coordinator that is killed", function()
  for _, kind in ipairs { "hold", "hold_reply" } do
    it("at each request (" .. kind .. ") blocks no participant, and all do the same", run(function()
      local namespace = env.namespace()
      local two = env.session({ namespace = namespace }):two_phase "/tp"
      local one, two_calls = serving(two, "one"), serving(two, "two")
      assert.are.equal("committed", two:run("first", "", { "one", "two" }, 300)) -- makes the directories
      local strikes, begun = 0, 0
      for number = 1, 6 do
        local id = "t" .. number
        local struck = child.killed_at("two_phase", namespace, "run " .. id .. " one two", number, kind, function()
          return is_tidied(two, id)
        end)
        if struck then strikes = strikes + 1 end
        ended(two)
        local outcome = two:outcome(id)
        assert.is_true(outcome == "committed" or outcome == false)
        if outcome then begun = begun + 1 end
      end
      local before = kind == "hold" and 1 or 0 -- the first request creates the transaction
      assert.are.equal(6 - before, begun)
      assert.is_true(strikes >= 2, strikes .. " requests")
      assert.are.same(one, two_calls)
      assert.are.equal(2 * (begun + 1), #one)
    end))
  end
end)

describe("a participant that is killed", function()
  local function lines_of(name)
    local list = {}
    for line in io.lines(name) do list[#list + 1] = line end
    return list
  end

  for _, kind in ipairs { "hold", "hold_reply" } do
    it("at each request (" .. kind .. ") goes on when it is back, and does what the others do", run(function()
      local namespace, strikes = env.namespace(), 0
      local session = env.session { namespace = namespace }
      local two = session:two_phase "/tp"
      local mine = serving(two, "mine")
      for number = 1, REQUESTS do
        local id, file = "t" .. number, os.tmpname()
        local wait = env.start(two.run, two, id, "", { "mine", "child" }, 300)
        local struck = child.killed_at("two_phase", namespace, "serve child " .. file, number, kind, function()
          return is_tidied(two, id)
        end)
        if struck then strikes = strikes + 1 end
        local process = child.start(namespace, 15, nil, { script = "two_phase" })
        process:tell("serve child " .. file)
        assert.are.equal("committed", wait())
        ended(two)
        process:signal "KILL"
        process:stop()
        local lines = lines_of(file)
        os.remove(file)
        assert.are.equal("prepare " .. id, lines[1])
        assert.are.equal("commit " .. id, lines[#lines])
        assert.is_true(#lines <= 4, "it is called too often")
        assert.are.equal("commit " .. id, mine[#mine])
      end
      assert.is_true(strikes > 12 and strikes < REQUESTS, strikes .. " requests")
      assert.are.equal(2 * REQUESTS, #mine)
    end))
  end
end)
