-- A client that may create in a lock's directory can create names with our tag. We never take such znodes for ours, and never delete them.
-- Tags: sanitize

local env = require "spec.support.env"
local run, fails = env.run, env.fails

describe("a lost create, beside foreign znodes with names like ours,", function()
  local proxy, session, other, hold
  before_each(function()
    local namespace = env.namespace()
    proxy = env.proxy()
    session = env.session { hosts = proxy.hosts, namespace = namespace, timeout = 100 }
    other = env.session { namespace = namespace, timeout = 100 }
  end)

  -- "/l/<our session>-<the first attempt>-lock-" .. number, made by the other session
  local function forge(number)
    local path = "/l/" .. session.id .. "-1-lock-" .. number
    assert(other:create(path, "", { ephemeral = true, parents = true }))
    return path
  end

  local function is_ours(path)
    local stat = assert(other:exists(path))
    return stat.ephemeral_owner == session.id
  end

  it("is not found if the end of a name is no number", run(function()
    assert(session:connected(200))
    local long = { forge(("A"):rep(5000)), forge "00000000001", forge "000000001", forge "0000000000x", forge "--000000001" }
    proxy:drop_request("create2", 1)
    hold = assert(session:lock("/l"):acquire(200))
    assert.are.equal(1, proxy:fired())
    assert.is_true(is_ours(hold.path))
    hold:release()
    env.eventually("it is gone", function() return other:exists(hold.path) == false end)
    for _, path in ipairs(long) do assert(other:exists(path)) end
  end))

  it("is found behind znodes of another session", run(function()
    assert(session:connected(200))
    local first = forge "0000000001"
    for _ = 1, 3 do assert(other:create("/l/x-", "", { sequential = true })) end -- our znode is the fifth
    proxy:drop_reply("create2", 1)
    local wait = env.start(function() return session:lock("/l"):acquire(200) end)
    env.eventually("the answer is lost", function() return proxy:fired() == 1 end)
    env.eventually("it waits behind the forged one", function()
      local all = other:lock("/l"):contenders()
      return #all == 2 and is_ours(all[2].path)
    end)
    assert(other:delete(first))
    hold = assert(wait())
    assert.is_true(is_ours(hold.path))
    assert.matches("lock%-0000000004$", hold.path)
    assert.are.equal(assert(other:exists(hold.path)).czxid, hold.token)
    hold:release()
    env.eventually("it is gone", function() return other:exists(hold.path) == false end)
  end))

  it("is removed without touching them", run(function()
    assert(session:connected(200))
    local before, behind = forge "0000000000", forge "0000000009"
    proxy:drop_reply("create2", 1)
    fails("timeout", session:lock("/l"):acquire(1))
    assert.are.equal(1, proxy:fired())
    env.eventually("ours is gone, theirs are not", function() return #assert(other:children "/l") == 2 end)
    assert(other:exists(before))
    assert(other:exists(behind))
  end))
end)
