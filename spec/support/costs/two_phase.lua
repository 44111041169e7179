-- The cases of the table "Costs" in docs/recipes/two_phase.md; see spec/recipes/all/costs_spec.lua.

local assert = require "luassert"

local function yes() return true end

local HANDLERS = { prepare = yes, commit = yes, abort = yes }

local function serve(of, session, name)
  of.kept[#of.kept + 1] = assert(session:two_phase("/t"):serve(name, HANDLERS))
end

-- Two participants, and a transaction before, which makes the directories.
local function prepared(of, mine)
  serve(of, mine or of.other, "one")
  serve(of, of.other, "two")
  assert.are.equal("committed", of.other:two_phase("/t"):run("first", "", { "one", "two" }, 30))
  of:settle()
  return of.session:two_phase "/t"
end

return {
  { "run, for the coordinator", "1 write of n + 1 parts, and 1 read that leaves a watch; 1 read for the decision", function(of)
    local two = prepared(of)
    of:costs({ multi = 1, get = 2 }, function() return assert(two:run("t", "", { "one", "two" }, 30)) end)
  end },
  { "a transaction, for each participant",
    "the vote, the decision of the last one to vote, the acknowledgement and the tidying of the last one to "
    .. "acknowledge: 1 write each; 6 reads, 3 listings", function(of)
      prepared(of, of.session)
      of:costs({ multi = 4, get = 6, children = 3 }, function()
        return assert(of.other:two_phase("/t"):run("t", "", { "one", "two" }, 30))
      end)
    end },
  { "outcome", "1 sync, 1 read", function(of)
    local two = prepared(of)
    of:costs({ sync = 1, get = 1 }, function() assert.are.equal("committed", two:outcome "first") end)
  end },
  { "pending, with nothing in it", "1 listing, and 1 for each participant", function(of)
    local two = prepared(of)
    of:costs({ children = 1 + 2 }, function() return assert(two:pending()) end)
  end },
  { "serve, while nothing happens", "none, but for 1 write and 1 listing in each `keep` seconds", function(of)
    prepared(of, of.session)
    of.world:advance(4000) -- the first transaction is forgotten
    of:costs({ set = 2, children = 2 }, function() of.world:advance(2 * 3700) end)
  end },
}
