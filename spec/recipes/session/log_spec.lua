-- The log of a session.

local env = require "spec.support.env"
local testing = require "zkrecipes.testing"
local zk = require "zkrecipes"

local run = env.run

local server

-- A session whose log lines go to a list; text() returns all of them.
local function logged(options)
  local lines = {}
  local all = { hosts = server.hosts, timeout = 2, tick = 0.5, log = function(level, text) lines[#lines + 1] = level .. " " .. text end }
  for name, value in pairs(options) do all[name] = value end
  return assert(zk.session(all)), function() return table.concat(lines, "\n") end
end

local function is_plain(text)
  for _, word in ipairs { "retcode", "errno", "Socket", "sessionId", "0000000000000000" } do
    assert.is_nil(text:find(word, 1, true), word)
  end
end

describe("the log", function()
  setup(function() server = assert(testing.start { tick_time = 500 }) end)
  teardown(function() server:stop() end)

  it("says why in plain words", run(function()
    local session, text = logged { hosts = server.hosts .. " , 127.0.0.1:1", timeout = 10 }
    assert(session:connected(200))
    server:kill()
    env.eventually("it says why", function() return text():find("127.0.0.1:1: cannot connect: Connection refused", 1, true) end)
    env.eventually("it rests", function() return text():find("warning no server can be reached; the session keeps trying", 1, true) end)
    env.eventually("a new session starts", function() return text():find("session (new): lost > connecting", 1, true) end)
    assert.matches("warning session %x+: suspended > lost: the lease ran out without a connection %([%d.:]+: cannot connect: " ..
      "Connection refused%)\n", text())
    local message = env.fails("connection_loss", session:get("/x", { timeout = 0.01 }))
    assert.matches("%(not connected: [%d.:]+: cannot connect: Connection refused%)$", message)
    assert(server:restart())
    assert(session:connected(200))
    session:close()
    is_plain(text())
    session, text = logged { timeout = 100 }
    assert(session:connected(200))
    assert(testing.expire(server, session.id))
    env.eventually("the session has expired", function() return text():find(": the session has expired", 1, true) end)
    env.eventually("a new session starts", function() return text():find("warning session %x+: %a+ > lost: the server has ended it\n") end)
    session:close()
    is_plain(text())
  end))

  it("says once that the server has granted another timeout", run(function()
    local session, text = logged { timeout = 0.7 }
    assert(session:connected(200))
    assert.matches("info session %x+: the servers granted a timeout of 1.000 s, not the 0.700 s that were asked for", text())
    session:close()
    session, text = logged {}
    assert(session:connected(200))
    session:close()
    assert.is_nil(text():find("granted", 1, true))
  end))
end)
