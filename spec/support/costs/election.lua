-- The cases of the table "Costs" in docs/recipes/election.md; see spec/recipes/all/costs_spec.lua.

local assert = require "luassert"

local FREE = { create = 1, children = 1 }
local WAIT = { create = 1, children = 1, get = 1 }

-- A leader and two candidates that wait, in the order of the sessions.
local function line_up(of, sessions)
  local terms = {}
  for i, session in ipairs(sessions) do
    of:start(function() terms[i] = assert(session:election("/e"):campaign()) end)
    of:settle()
  end
  return terms, assert(of:another():election("/e"):candidates())
end

-- Candidates by rank, of the given sessions; the highest leads.
local function ranked(of, sessions)
  local terms = {}
  for rank = 9, 0, -1 do
    local session = sessions[rank]
    if session then
      of:start(function() terms[rank] = assert(session:election("/r", { rank = rank }):campaign()) end)
      of:settle()
    end
  end
  return terms
end

return {
  { "campaign, no leader", "2 in one flight: one round trip, one write", function(of)
    of.session:create("/e", "")
    local election = of.session:election("/e")
    of:costs(FREE, function() return election:campaign() end):resign()
    of:takes(2, function() return election:campaign() end)
  end },
  { "campaign, wait", "the same, and one read that leaves a watch; two behind one that waits", function(of)
    assert(of.other:election("/e"):campaign())
    of:wait(WAIT, of.session:election("/e"), "campaign")
    of:theirs(of:another():election("/e"), "campaign")
    of:wait({ create = 1, children = 1, exists = 1, get = 1 }, of.session:election("/e"), "campaign")
  end },
  { "the leader changes", "0 for the next one, also in a long queue", function(of)
    local term = assert(of.other:election("/e"):campaign())
    local got = of:wait(WAIT, of.session:election("/e"), "campaign")
    local last = of:theirs(of:another():election("/e"), "campaign")
    of:costs({}, function() term:resign() end)
    of:costs({ multi = 1 }, function() got.hold:resign() end)
    assert(last.hold)
  end },
  { "leader", "1 read; after a change: the one that fails, a listing, a read", function(of)
    local one, two = of.other:election("/e"), of:another():election("/e")
    local term = assert(one:campaign())
    of:theirs(two, "campaign")
    local election = of.session:election("/e")
    of:costs({ children = 1, get = 1 }, function() return election:leader() end)
    of:costs({ get = 1 }, function() return election:leader() end)
    term:resign()
    of:costs({ children = 1, get = 2 }, function() return election:leader() end)
  end },
  { "observe, per process and change", "1 read for a value; for another leader as `leader`", function(of)
    local term = assert(of.other:election("/e"):campaign())
    of:theirs(of:another():election("/e"), "campaign")
    local election = of.session:election("/e")
    for _ = 1, 2 do of:start(function() for _ in election:observe() do end end) end -- luacheck: ignore 542
    of:costs({ get = 1 }, function() assert(term:proclaim("1")) end)
    of:costs({ children = 1, get = 2 }, function() term:resign() end)
    of.session:close()
  end },
  { "proclaim, ready, resign", "1 write (`fair = false`: to resign is 1 sync, 1 read and 1 write)", function(of)
    local term = assert(of.session:election("/e"):campaign())
    of:costs({ multi = 1 }, function() assert(term:proclaim("1")) end)
    of:costs({ multi = 1 }, function() assert(term:ready()) end)
    of:costs({ delete = 1 }, function() term:resign() end)
    term = assert(of.session:election("/u", { fair = false }):campaign())
    of:costs({ sync = 1, exists = 1, delete = 1 }, function() term:resign() end)
  end },
  { "timer that remembers, elected",
    "besides the campaign 2 reads, one of which leaves a watch, and 1 write; the first time 3 writes", function(of)
      local election, elected = of.session:election("/t"), 0
      local function once() -- `cron` at a time that does not come
        of:start(function() election:cron("0 0 29 2 *", function() end) end)
        of:settle()
        elected = elected + election:stop()
      end
      of.session:create("/t", "")
      of:costs({ create = 1, children = 1, get = 2, multi = 3, delete = 1 }, once)
      of:costs({ create = 1, children = 1, get = 2, multi = 1, delete = 1 }, once)
      assert.are.equal(2, elected)
    end },
  { "timer that remembers, a beat", "2 writes", function(of)
    local election = of.session:election("/t")
    of:start(function() election:every(10, function() end, { remember = true }) end)
    of:settle()
    of.zk.sleep(25)
    of:costs({ multi = 2 }, function() of.zk.sleep(10) end)
    election:stop()
  end },
  { "resign to the next one in line", "1 listing, 1 write", function(of)
    local terms, candidates = line_up(of, { of.session, of.other, of:another() })
    of:costs({ children = 1, delete = 1 }, function() assert(terms[1]:resign(candidates[2], 10)) end)
    assert(terms[2])
  end },
  { "resign to another one", "2 listings, 1 read that leaves a watch until it fires, 2 writes", function(of)
    local terms, candidates = line_up(of, { of.session, of.other, of:another() })
    of:costs({ children = 2, get = 1, multi = 1, delete = 1 }, function() assert(terms[1]:resign(candidates[3], 10)) end)
    assert(terms[3])
  end },
  { "step aside for a successor",
    "1 read, 1 write, and another campaign that waits; 1 listing and 1 read that leaves a watch by the one behind",
    function(of)
      local terms, candidates = line_up(of, { of.other, of.session, of:another() })
      of:costs({ get = 1 + 1, delete = 1, create = 1, children = 1, exists = 1 }, function() assert(terms[1]:resign(candidates[3], 10)) end)
      terms[3]:resign()
      of:settle()
      terms[2]:resign()
      of:settle()
      terms, candidates = line_up(of, { of.other, of:another(), of.session })
      of:costs({ children = 1, get = 1 }, function() assert(terms[1]:resign(candidates[3], 10)) end)
    end },
  { "by rank: campaign, no leader", "2 in one flight, 1 read, 1 listing, 1 write; then 1 listing, 1 read that leaves a watch",
    function(of)
      of.session:create("/r", "")
      of:theirs(of.other:election("/r", { rank = 0, quorum = 2 }), "campaign")
      local election = of.session:election("/r", { rank = 1, quorum = 2 })
      of:costs({ create = 1, children = 3, get = 2, multi = 1 }, function() return election:campaign() end)
    end },
  { "by rank: campaign, wait", "2 in one flight, 3 reads that leave watches", function(of)
    assert(of.other:election("/r", { rank = 0 }):campaign())
    of:wait({ create = 1, children = 1, get = 3 }, of.session:election("/r", { rank = 1 }), "campaign")
  end },
  { "by rank: campaign, too few candidates", "2 in one flight, 1 read and 1 listing that leave watches; "
    .. "without a change 1 listing after 1, 3, 7, 15 and 31 s, then each minute", function(of)
      of.session:create("/r", "")
      local election = of.session:election("/r", { rank = 1, quorum = 2 })
      of:costs({ create = 1, children = 2 + 5, get = 1 }, function()
        of:start(function() election:campaign() end)
        of.world:advance(55)
      end)
      for _ = 1, 3 do of:costs({ children = 1 }, function() of.world:advance(61) end) end
    end },
  { "by rank: the leader changes", "1 read, which leaves a watch, for each candidate that waits", function(of)
    local terms = ranked(of, { [9] = of.other, [8] = of:another(), [7] = of:another(), [0] = of.session })
    of:costs({ get = 1 }, function() terms[9]:resign() end)
    of:costs({ get = 1 }, function() terms[8]:resign() end)
    assert(terms[7])
  end },
  { "by rank: elected after one that has resigned", "1 read; then 1 listing", function(of)
    local terms = ranked(of, { [9] = of.other, [8] = of.session, [7] = of:another() })
    of:costs({ get = 1, children = 1 }, function() terms[9]:resign() end)
    assert(terms[8])
  end },
  { "by rank: elected after one that has died", "1 listing, 1 write; then 1 listing, 1 read that leaves a watch", function(of)
    local terms = ranked(of, { [9] = of.other, [8] = of.session, [7] = of:another() })
    of:costs({ children = 2, get = 1, multi = 1 }, function() of.world:expire(of.other) end)
    assert(terms[8])
  end },
  { "by rank: a candidate comes or goes", "1 listing by the leader", function(of)
    local terms = ranked(of, { [9] = of.session })
    local election = of.other:election("/r", { rank = 1 })
    of:costs({ children = 1 }, function() of:start(function() election:campaign() end) end)
    of:costs({ children = 1 }, function() election:cancel() end)
    assert(terms[9])
  end },
  { "by rank: the one ahead goes", "1 listing, 1 read that leaves a watch", function(of)
    local middle = of:another():election("/r", { rank = 8 })
    local terms = ranked(of, { [9] = of.other })
    of:theirs(middle, "campaign")
    of:wait({ create = 1, children = 1, get = 3 }, of.session:election("/r", { rank = 7 }), "campaign")
    of:costs({ children = 1, get = 1 }, function() middle:cancel() end)
    assert(terms[9])
  end },
  { "by rank: resign", "1 write", function(of)
    local terms = ranked(of, { [9] = of.session, [8] = of.other })
    of:costs({ multi = 1 }, function() terms[9]:resign() end)
    assert(terms[8])
  end },
  { "by rank: leader", "2 reads; 1 while it is the same", function(of)
    assert(of.other:election("/r", { rank = 0 }):campaign())
    local election = of.session:election("/r", { rank = 1 })
    of:costs({ get = 2 }, function() return election:leader() end)
    of:costs({ get = 1 }, function() return election:leader() end)
  end },
  { "by rank: another rank", "1 write, then 2 in one flight, 2 reads, for each candidate that waits", function(of)
    assert(of.other:election("/r", { rank = 9 }):campaign())
    local election = of.session:election("/r", { rank = 1 })
    of:start(function() election:campaign() end)
    of:settle()
    of:costs({ delete = 1, create = 1, children = 1, get = 2 }, function() election:update_rank(2) end)
  end },
  { "resign to a successor, by rank", "1 read, 2 writes", function(of)
    local term = assert(of.session:election("/r", { rank = 1 }):campaign())
    of:wait({ children = 1 }, of.other:election("/r", { rank = 2 }), "campaign")
    local candidates = of:another():election("/r", { rank = 0 }):candidates()
    local heir = candidates[1].leading and candidates[2] or candidates[1]
    of:costs({ get = 1, multi = 1, delete = 1 }, function() assert(term:resign(heir)) end)
  end },
}
