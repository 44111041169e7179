-- A group under exhausted memory, at every single allocation of the core.
-- Tags: sanitize

local allocations = require "spec.support.allocations"
local collect = require "spec.support.collect"
local env = require "spec.support.env"

local check = allocations.check

describe("exhausted memory", function()
  it("in a group: join, await, changes, leave", env.run(function()
    local session = env.session()
    assert(session:create("/g", nil, { parents = true }))
    local count = allocations.at_every(function()
      local group = check(session:group "/g")
      local changes = group and check(group:changes())
      local member = changes and check(group:join("1", { id = "m" }))
      if not member then return end
      repeat local ready = check(member:ready(200)) until ready
      repeat local list = check(group:await(1, 200)) until list
      repeat local change = check(changes:next(200)) until change and change.kind == "joined"
      repeat local left = check(member:leave(200)) until left
      repeat local change = check(changes:next(200)) until change and change.kind == "left"
      changes:close()
      group:close()
    end)
    assert.is_true(count > 20)
    env.eventually("nothing is watched", function()
      collect() -- groups whose join or changes failed were dropped
      return session:usage().watched_bytes == 0
    end)
    session:close()
  end))
end)
