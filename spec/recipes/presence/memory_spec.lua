-- A presence under exhausted memory, at every single allocation.
-- Tags: sanitize

local allocations = require "spec.support.allocations"
local env = require "spec.support.env"
local run = env.run

local check = allocations.check

describe("exhausted memory", function()
  it("in a presence: ready, update, leave, and a znode that is deleted from outside", run(function()
    local namespace = env.namespace()
    local session, other = env.session { namespace = namespace }, env.session { namespace = namespace }
    assert(session:create("/d", nil, { parents = true }))
    local count = allocations.at_every(function(n)
      local presence = check(session:presence("/d/p", "1"))
      if not presence then return end
      repeat local ready = check(presence:ready(200)) until ready
      repeat local updated = check(presence:update(tostring(n))) until updated
      local data, message, code
      repeat data, message, code = other:get("/d/p") until check(data, message, code)
      assert.equal(tostring(n), data)
      other:delete("/d/p")
      repeat local updated = check(presence:update("last")) until updated
      repeat local left = check(presence:leave(200)) until left
      repeat local synced = check(other:sync("/d/p")) until synced
      env.eventually("gone", function() return other:exists("/d/p") == false end)
    end)
    assert.is_true(count > 10)
    session:close()
  end))
end)
