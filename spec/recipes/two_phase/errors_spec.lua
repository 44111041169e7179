-- What a participant's functions may raise. Needs no server.
-- Tags: sanitize, one thread

local sim = require "zkrecipes.sim"

-- A participant that keeps what is called. handlers: what `prepare`, `commit` and `abort` do.
local function serving(two, handlers)
  local calls = {}
  local function handler(what)
    return function(id, data)
      calls[#calls + 1] = ("%s %s %s"):format(what, id, data)
      if handlers[what] then return handlers[what](id, data) end
      return true
    end
  end
  assert(two:serve("one", { prepare = handler "prepare", commit = handler "commit", abort = handler "abort" }))
  return calls
end

describe("a participant of a two-phase commit", function()
  it("takes an error that has no text for a no, and calls the rest again", function()
    local raises = setmetatable({}, { __tostring = function() error "no text" end })
    local no_string = setmetatable({}, { __tostring = function() return {} end })
    for _, mute in ipairs { raises, no_string } do
      local world = sim.new { seed = 1 }
      world:run(function()
        local logged = {}
        local two = world.zk.session({ log = function(_, text) logged[#logged + 1] = text end }):two_phase "/tp"
        local aborts = 0
        local calls = serving(two, { prepare = function() error(mute) end, abort = function()
          aborts = aborts + 1
          if aborts == 1 then return nil, mute end
          if aborts == 2 then error(mute) end
          return true
        end })
        assert.are.same({ "aborted", "'one' voted no: a table without a text" }, { two:run("t", "x", { "one" }, 20) })
        world.zk.sleep(100)
        assert.are.same({ "prepare t x", "abort t x", "abort t x", "abort t x" }, calls)
        assert.are.same({}, (two:pending()))
        assert.matches("abort of 't' failed: a table without a text; it is called again", table.concat(logged, "\n"))
      end)
    end
  end)

  it("takes zk.canceled for a no if it is not the participant that was canceled", function()
    local world = sim.new { seed = 1 }
    world:run(function()
      local host = world.zk
      local two = host.session():two_phase "/tp"
      local calls = serving(two, { prepare = function()
        host.all { function() error(host.canceled, 0) end } -- as after a limit of the function's own
      end })
      assert.are.same({ "aborted", "'one' voted no: the task was canceled" }, { two:run("t", "x", { "one" }, 20) })
      host.sleep(100)
      assert.are.same({ "prepare t x", "abort t x" }, calls)
      assert.are.same({}, (two:pending()))
    end)
  end)
end)
