-- A transaction whose answer was lost asks the server: a sync, and behind it a read. Here the session has so much to send that the sync is
-- the last request in flight when the server falls silent, and the read still waits in the session's queue. The session is lost, and in the
-- next one the read is answered while the sync of the old one is still out. Such a read proves nothing.

local sim = require "zkrecipes.sim"

local IN_FLIGHT = 2000 -- ZR_IN_FLIGHT_MAX
local ROUNDS = 18      -- the reads that were there first are answered in so many rounds; then the server is silent

-- A put whose answer is lost; `ahead` reads are sent after it and before its sync. Returns what put returned, and the items in the end.
local function lose_put(ahead)
  local world = sim.new { seed = 1, servers = 2, tick_time = 2000, latency = 0.15, jitter = 0 }
  local result, items = nil, {}
  world:run(function()
    local a, b = world:process(), world:process()
    local session = a.session { timeout = 10, request_timeout = 3000 }
    assert(session:connected(10))
    world:move(session, 1)
    world:advance(5)
    assert(session:connected(10))
    local queue, done = session:queue "/q", 0
    assert(queue:put "first")
    world:advance(10)
    world:partition(session, "both")
    local function read()
      session:exists "/x"
      done = done + 1
    end
    for _ = 1, IN_FLIGHT - 1 do a.spawn(read) end
    a.spawn(function() result = { queue:put("second", { timeout = 3000 }) } end)
    for _ = 1, ahead do a.spawn(read) end
    world:advance(0)
    world:cut(session)
    world:heal(session)
    while session.state == "connected" do world:advance(0.001) end
    assert(session:connected(20))
    while done < ahead do world:advance(0.001) end
    world:pause_server(2, 100)
    while session.state == "connected" do world:advance(0.001) end
    while not result do world:advance(0.01) end
    world:advance(300)
    local other = b.session { timeout = 10, request_timeout = 300 }
    assert(other:connected(20))
    local item = other:queue("/q"):take(10)
    while item do
      items[#items + 1] = item
      item = other:queue("/q"):take(10)
    end
  end)
  return result, items
end

describe("a transaction that asks whether it was done", function()
  it("does not believe a read whose sync is in another session", function()
    for off = -1, 1 do
      local result, items = lose_put(ROUNDS * IN_FLIGHT + off)
      assert.same({ true }, { result[1] })
      assert.same({ "first", "second" }, items, off)
    end
  end)
end)
