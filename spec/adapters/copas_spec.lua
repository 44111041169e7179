-- copas: the contract, for the generation that is there; and what is its own.

local matrix = require "spec.adapters.matrix"
if not matrix.runs "copas" then return end

local env = require "spec.support.env"
local loop = require "spec.support.loops.copas"
local copas = require "copas"
local zk = require "zkrecipes".using "copas"

require "spec.adapters.contract"("copas", loop)

describe("copas", function()
  it("waits inside of the pcall that it brings for Lua 5.1", function()
    local results
    local pcall_there = pcall(require, "coxpcall") and require "coxpcall".pcall or pcall
    loop.start(function()
      local ok, data = pcall_there(function()
        local session = zk.session { hosts = env.server().hosts, namespace = env.namespace() }
        session:create("/a", "data")
        local data = session:get("/a")
        session:close()
        return data
      end)
      results = { ok, data }
    end)
    loop.run(10, function() return results end)
    assert.are.same({ true, "data" }, results)
  end)

  local _ = copas.cancelall and it("goes on after everything was canceled", function()
    local session, got, stuck
    copas.loop(function() end) -- cancelall wants it to have run
    loop.start(function()
      session = zk.session { hosts = env.server().hosts, namespace = env.namespace() }
      assert(session:create("/a", "data"))
      stuck = true
      zk.sleep(1000)
    end)
    loop.run(10, function() return stuck end)
    copas.cancelall()
    loop.start(function()
      got = session:get("/a")
      session:close()
    end)
    assert.is_true(loop.run(10, function() return false end))
    assert.are.equal("data", got)
  end)
end)
