-- copas 4: the contract, and its peculiarities.

local env = require "spec.support.env"
local loop = require "spec.support.loops.copas4"
local copas = require "copas"
local socket = require "socket"
local zk = require "zkrecipes".using "copas"

assert(copas.pauseforever, "this is no copas 4")
require "spec.adapters.contract"("copas4", loop)
require "spec.adapters.copas_pcall"("copas4", loop)

describe("copas4", function()
  -- A timer causes the client's last work, so its descriptor does not become readable.
  it("ends also if a timer causes the last work", function()
    local adapter = assert(loadfile "lua/zkrecipes/adapters/copas.lua")()
    local udp, due, ended = socket.udp4(), socket.gettime() + 0.02, false
    adapter.attach {
      fd = function() return udp:getfd() end, now = socket.gettime, idle = function() return ended end,
      timeout = function() return not ended and math.max(due - socket.gettime(), 0) or nil end,
      dispatch = function() ended = socket.gettime() >= due end,
    }
    adapter.keep()
    local ends = loop.run(20, function() return false end)
    udp:close()
    if not ends then copas.cancelall() end -- the watcher would keep all later loops
    assert.is_true(ends)
  end)

  local _ = copas.cancelall and it("continues after all threads were canceled", function() -- since 4.9
    local session, got, stuck
    copas.loop(function() end) -- cancelall needs a loop that has run
    loop.start(function()
      session = zk.session { hosts = env.server().hosts, namespace = env.namespace(), timeout = 60 }
      assert(session:create("/a", "data"))
      stuck = true
      zk.sleep(1000)
    end)
    loop.run(200, function() return stuck end)
    copas.cancelall()
    loop.start(function()
      got = session:get("/a")
      session:close()
    end)
    assert.is_true(loop.run(200, function() return false end))
    assert.are.equal("data", got)
  end)
end)
