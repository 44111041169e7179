-- The status lists presences, partitioners, participants and subscriptions until they are over. Needs no server.
-- Tags: sanitize, one thread

local collect = require "spec.support.collect"
local page = require "zkrecipes.status.page"
local sim = require "zkrecipes.sim"
local status = require "zkrecipes.status.status"

local function nothing() return true end

-- Each makes an object: returns what it shows, and a function that ends it.
local KINDS = {
  presence = function(session)
    local presence = assert(session:presence("/p/a"))
    assert(presence:ready(10))
    return "/p/a", "present", function() assert(presence:leave(10)) end
  end,
  partitioner = function(session, zk)
    local partitioner = assert(session:partitioner("/parts", { "a", "b" }))
    repeat zk.sleep(0.1) until #partitioner:mine() == 2
    return "/parts", "2 of 2 parts", function() partitioner:close() end
  end,
  participant = function(session)
    local handlers = { prepare = nothing, commit = nothing, abort = nothing }
    local participant = assert(assert(session:two_phase("/two")):serve("me", handlers))
    return "/two", "'me', 0 transactions at work", function() participant:close() end
  end,
  subscription = function(session)
    local topic = assert(session:topic "/topic")
    assert(topic:publish "x")
    local subscription = assert(topic:subscribe { from = "start" })
    assert(subscription:next(10))
    return "/topic", "read up to 1", function() subscription:close() end
  end,
}

describe("the status of what a program takes part in", function()
  for kind, make in pairs(KINDS) do
    it("shows a " .. kind .. " until it is over", function()
      local world = sim.new()
      world:run(function()
        local zk = world.zk
        local session = zk.session {}
        local function shown()
          for _, object in ipairs(zk.status().objects) do
            if object.kind == kind then return object end
          end
        end
        local path, state, finish = make(session, zk)
        assert.same({ kind, path, state }, { shown().kind, shown().path, shown().state })
        assert.matches(path, page.html { zk.status() }, 1, true)
        assert.matches('"kind":"' .. kind .. '"', status.json(zk.status()), 1, true)
        finish()
        assert.is_nil(shown())
        session:close()
      end)
    end)

    -- A participant serves until it is stopped.
    if kind ~= "participant" then it("forgets a " .. kind .. " that the program drops", function()
      local world = sim.new()
      world:run(function()
        local zk = world.zk
        local session = zk.session {}
        make(session, zk)
        for _ = 1, 5 do
          collect()
          zk.sleep(1)
        end
        for _, object in ipairs(zk.status().objects) do assert.is_not.equal(kind, object.kind) end
        session:close()
      end)
    end) end
  end
end)
