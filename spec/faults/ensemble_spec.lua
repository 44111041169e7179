-- The lock on an ensemble of three real servers, when the leader dies, or the session's own server.

local zk = require "zkrecipes"
local testing = require "zkrecipes.testing"
local env = require "spec.support.env"

describe("an ensemble of three", function()
  local ensemble
  setup(function() ensemble = assert(testing.ensemble { members = 3, config = { syncLimit = 120 } }) end)
  teardown(function() ensemble:stop() end)

  local function session(namespace)
    return zk.session { hosts = ensemble.hosts, timeout = 120, tick = 0.5, namespace = namespace }
  end

  -- The member to which this session is connected.
  local function server_of(one)
    for _, member in ipairs(ensemble.members) do
      if member.hosts == one.server then
        return member
      end
    end
  end

  it("whose leader dies keeps holds and waiters, and works again", env.run(function()
    local namespace = env.namespace()
    local one, other = session(namespace), session(namespace)
    local hold = assert(one:lock("/l"):acquire(200))
    local wait = env.start(function() return other:lock("/l"):acquire(300) end)
    env.queue_of(one, "/l", 2)
    local leader = assert(ensemble:leader(300))
    leader:kill()
    env.eventually("the others go on", function() return (one:set("/l", "x")) end)
    assert.is_true(hold:valid())
    hold:release()
    local mine = assert(wait())
    assert.is_true(mine.token > hold.token)
    mine:release()
    assert(leader:restart())
    env.queue_of(one, "/l", 0)
    one:close()
    other:close()
  end))

  it("whose serving member dies moves the session to another member; the hold stays valid", env.run(function()
    local one = session(env.namespace())
    local hold = assert(one:lock("/l"):acquire(200))
    local id, member = one.id, server_of(one)
    member:kill()
    env.eventually("another member serves", function()
      return one.state == "connected" and one.server ~= member.hosts
    end)
    assert.are.equal(id, one.id)
    assert.is_true(hold:valid())
    assert(hold:create("/guarded", "x"))
    hold:release()
    assert(member:restart())
    one:close()
  end))
end)

describe("an ensemble that may be reconfigured", function()
  it("can remove a follower", env.run(function()
    local ensemble = assert(testing.ensemble { members = 3,
      config = { reconfigEnabled = true, standaloneEnabled = false, syncLimit = 120 }, jvm = { "-Dzookeeper.skipACL=yes" } })
    local leader = assert(ensemble:leader(300))
    local leaving
    for id, member in ipairs(ensemble.members) do
      leaving = member ~= leader and id or leaving
    end
    local session = zk.session { hosts = leader.hosts, timeout = 60 }
    local config, stat = assert(session:reconfig { leaving = tostring(leaving) })
    assert.is_nil(config:find("server." .. leaving .. "=", 1, true))
    assert.are.equal(2, select(2, config:gsub("server%.", "")))
    assert.matches("^%x+$", stat.mzxid)
    session:close()
    ensemble:stop()
  end))
end)
