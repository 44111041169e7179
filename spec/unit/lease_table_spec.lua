-- The table of docs/lease.md: how long a holder is valid without further answers. Needs no server.

local sim = require "zkrecipes.sim"

local COLUMNS = { false, 2, 0.5 } -- the option `tick`

-- The least and the most that is left without faults.
local function left_of(timeout, tick)
  local world = sim.new { tick_time = math.floor(1000 * math.min(tick or 2, timeout / 2)) }
  return (table.unpack or unpack)(world:run(function()
    local session = world:session { timeout = timeout, tick = tick or nil }
    local hold = assert(session:lock("/l"):acquire())
    assert.are.equal(timeout, session.timeout)
    world.zk.sleep(2 * timeout)
    local least, most = timeout, 0
    for _ = 1, 640 do
      world.zk.sleep(timeout / 640)
      least, most = math.min(least, hold:left()), math.max(most, hold:left())
    end
    return { least, most }
  end))
end

describe("docs/lease.md", function()
  local rows = 0
  for line in io.lines("docs/lease.md") do
    local timeout, cells = line:match("^| (%d+) s |(.*)$")
    local column = 0
    for cell in (cells or ""):gmatch("([^|]+)|") do
      column = column + 1
      local low, high = cell:match("([%d.]+) s to ([%d.]+) s")
      if low then
        rows = rows + 1
        local tick = COLUMNS[column]
        it(("says what is left with a timeout of %s s and the tick %s"):format(timeout, tick or "not said"), function()
          local least, most = left_of(tonumber(timeout), tick)
          local slack = 0.06 + tonumber(timeout) / 200
          assert.is_true(math.abs(least - low) < slack, least .. " instead of " .. low)
          assert.is_true(math.abs(most - high) < slack, most .. " instead of " .. high)
        end)
      end
    end
  end

  it("has the table", function() assert.are.equal(14, rows) end)
end)
