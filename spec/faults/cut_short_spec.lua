-- A request that is cut short by the end of the session: its message says whether its change may have been made.

local zk = require "zkrecipes"
local env = require "spec.support.env"
local nonsense = require "spec.support.nonsense"
local wire = require "spec.support.wire"
local run, fails = env.run, env.fails

local DOUBT = "; the change may or may not have been made: check before you repeat it"
local TAILS = { closed = "$", auth_failed = " %(not connected: Authentication scheme digest failed[^)]*%)$" }
local NOT_MADE = "; the change was not made$"

-- Name > the request, and its name in the protocol.
local CHANGES = {
  create = { "create2", function(session) return session:create("/x", "") end },
  ["create with its parents"] = { "create2", function(session) return session:create("/x/y", "", { parents = true }) end },
  set = { "set", function(session) return session:set("/x", "") end },
  delete = { "delete", function(session) return session:delete("/x") end },
  multi = { "multi", function(session) return session:multi { { "set", "/x", "" } } end },
  set_acl = { "set_acl", function(session) return session:set_acl("/x", "open") end },
}
local READS = {
  get = { "get", function(session) return session:get("/x") end },
  exists = { "exists", function(session) return session:exists("/x") end },
}

-- A server that answers none of these requests, and refuses credentials.
local function start()
  local server = nonsense.start(function(name)
    if name == "auth" then return nonsense.answer(-4, "", -115) end
    if name ~= "sync" and name ~= "close" then return "" end
  end)
  local session = zk.session { hosts = server.hosts, request_timeout = 300 }
  assert(session:connected(200))
  return server, session
end

local ENDS = {
  closed = function(session) session:close(0) end,
  auth_failed = function(session) fails("auth_failed", session:add_auth("digest", "a:b")) end,
}

describe("a request that is cut short", function()
  for code, finish in pairs(ENDS) do
    for name, change in pairs(CHANGES) do
      it(("says that its change may have been made: %s, %s"):format(name, code), run(function()
        local server, session = start()
        local asked = env.start(function() return fails(code, change[2](session)) end)
        env.eventually("it is sent", function() return server.counts[change[1]] == 1 end)
        finish(session)
        assert.matches(DOUBT .. TAILS[code], asked())
        session:close(0)
        server:stop()
      end))
    end

    for name, read in pairs(READS) do
      it(("has changed nothing: %s, %s"):format(name, code), run(function()
        local server, session = start()
        local asked = env.start(function() return fails(code, read[2](session)) end)
        env.eventually("it is sent", function() return server.counts[read[1]] == 1 end)
        finish(session)
        assert.is_nil(asked():find("change", 1, true))
        session:close(0)
        server:stop()
      end))
    end
  end

  it("says that its change was not made, if it was not sent", run(function()
    for name, change in pairs(CHANGES) do
      local session = zk.session { hosts = "127.0.0.1:1", request_timeout = 300 }
      local asked = env.start(function() return fails("closed", change[2](session)) end)
      zk.sleep(0)
      session:close(0)
      assert.matches(NOT_MADE, asked(), nil, nil, name)
      assert.is_nil(fails("closed", change[2](session)):find("may have", 1, true))
    end
  end))

  it("says the same of the writes of a hold", run(function()
    local server, session
    server = nonsense.start(function(name, xid, path)
      if name == "create2" then return nonsense.answer(xid, wire.text(path .. "0000000000") .. nonsense.stat()) end
      if name == "children" then
        local seat = ("%016x-1-lock-0000000000"):format(server.id)
        return nonsense.answer(xid, "\0\0\0\1" .. wire.text(seat) .. nonsense.stat())
      end
      if name == "multi" then return "" end
    end)
    session = zk.session { hosts = server.hosts, request_timeout = 300 }
    local hold = assert(session:lock("/l"):acquire(200))
    local asked = env.start(function() return fails("closed", hold:set("/x", "1")) end)
    env.eventually("it is sent", function() return server.counts.multi == 1 end)
    session:close(0)
    assert.matches(DOUBT .. "$", asked())
    server:stop()
  end))
end)
