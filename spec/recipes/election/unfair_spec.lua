-- The unfair election: the path is the leader's znode.

local zk = require "zkrecipes"
local env = require "spec.support.env"
local run, fails = env.run, env.fails

local function pair()
  local namespace = env.namespace()
  return env.session { namespace = namespace }, env.session { namespace = namespace }
end

describe("an unfair election", function()
  it("has one leader at a time, and each candidate leads once", run(function()
    local one, other = pair()
    local waits, leading, last = {}, 0, ""
    for i = 1, 20 do
      local session = i % 2 == 0 and one or other
      waits[i] = env.start(function()
        local term = assert(session:election("/e", { fair = false, value = "n" .. i }):campaign(300))
        leading = leading + 1
        assert.are.equal(1, leading)
        assert.is_true(term.token > last, "the token did not grow")
        assert.is_true(term:valid(), "not valid")
        last = term.token
        zk.sleep(0)
        leading = leading - 1
        term:resign()
      end)
    end
    for i = 1, 20 do waits[i]() end
    env.eventually("the znode is gone", function() return one:exists("/e") == false end)
  end))

  it("gets the leader in one read, with value and readiness", run(function()
    local one, other = pair()
    local election = other:election("/e", { fair = false })
    assert.is_nil(election:leader())
    local term = assert(one:election("/e", { fair = false, value = "one" }):campaign())
    assert.are.same({ "one", false, term.token }, (function(l) return { l.value, l.ready, l.token } end)(election:leader()))
    assert(term:ready())
    assert(term:proclaim("two"))
    local leader = election:leader()
    assert.are.same({ "two", true }, { leader.value, leader.ready })
    assert.are.same({ "two" }, { election:candidates()[1].value })
    fails("timeout", election:campaign(0))
    term:resign()
    local proxy = env.proxy()
    local proxied = env.session { hosts = proxy.hosts }
    local mine = proxied:election("/p", { fair = false })
    assert.is_nil(mine:leader())
    proxy:reset()
    assert.is_nil(mine:leader())
    assert.are.equal(1, proxy:sent().getData)
  end))

  it("can be observed: each leader, and that there is none", run(function()
    local one, other = pair()
    local seen = {}
    local _, task = env.start(function()
      for leader in other:election("/e", { fair = false }):observe() do
        seen[#seen + 1] = leader and leader.value or "nobody"
      end
    end)
    for i = 1, 3 do
      env.eventually("no leader", function() return seen[#seen] == "nobody" end)
      local term = assert(one:election("/e", { fair = false, value = "n" .. i }):campaign())
      env.eventually("it is seen", function() return seen[#seen] == "n" .. i end)
      term:resign()
    end
    env.eventually("no leader", function() return seen[#seen] == "nobody" end)
    assert.are.same({ "nobody", "n1", "nobody", "n2", "nobody", "n3", "nobody" }, seen)
    task:cancel()
  end))

  it("runs a function only on the leader", run(function()
    local one, other = pair()
    local inside, runs = 0, 0
    local elections, waits = {}, {}
    for i, session in ipairs { one, other } do
      elections[i] = session:election("/e", { fair = false })
      waits[i] = env.start(function()
        return elections[i]:lead(function()
          inside = inside + 1
          assert.are.equal(1, inside)
          zk.sleep(0.002)
          runs, inside = runs + 1, inside - 1
        end)
      end)
    end
    env.eventually("it runs", function() return runs > 10 end)
    for i = 1, 2 do
      elections[i]:stop()
      fails("canceled", waits[i]())
    end
  end))

  it("refuses a rank", run(function()
    local ok, problem = pcall(function() pair():election("/e", { fair = false, rank = 1 }) end)
    assert.is_false(ok)
    assert.matches("cannot be combined", problem)
  end))
end)
