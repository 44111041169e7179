-- Misuse of the faults of a simulated world. Needs no server; one session is not simulated, because that is misuse too.
-- Tags: sanitize

local deaf = require "spec.support.deaf"
local sim = require "zkrecipes.sim"
local zk = require "zkrecipes"

local assert_misuse = deaf.assert_misuse

describe("misuse of faults", function()
  it("raises at the caller's line", function()
    local world, other = sim.new(), sim.new()
    local session, foreign = world:session(), other:session()
    local real = deaf.deaf_session()
    local lock = session:lock("/l")
    for _, name in ipairs { "cut", "disconnect", "partition", "heal", "pause", "move", "lose_request", "lose_reply",
      "plan", "planned", "expire", "step_clock" } do
      local function refuses(value, text)
        if name == "plan" then
          assert_misuse(function() world:plan(value, "cut") end, "bad argument #1 to 'plan' %(" .. text)
        elseif value ~= nil or name ~= "heal" then
          assert_misuse(function() world[name](world, value) end, "bad argument #1 to '" .. name .. "' %(" .. text)
        end
      end
      refuses(nil, "session or process of this world expected, got nil")
      refuses(1, "session or process of this world expected, got number")
      refuses({}, "session or process of this world expected, got table")
      refuses(lock, "session or process of this world expected, got userdata")
      refuses(io.stderr, "session or process of this world expected, got userdata")
      refuses(zk, "session or process of this world expected, got table")
      refuses(other.zk, "session or process of this world expected, got table")
      refuses(foreign, "session or process of this world expected, got one of another world")
      refuses(real, "session or process of this world expected, got one of another world")
    end
    assert_misuse(function() world:partition(session, "up") end, "bad argument #2 to 'partition' %(unknown direction " ..
      "'up'; there are: both, to_client, to_server%)")
    assert_misuse(function() world:lose_reply(session, "creat") end, "bad argument #2 to 'lose_reply' %(unknown kind of " ..
      "request 'creat'; there are: add_auth, any, children, create,")
    assert_misuse(function() world:lose_reply(session, 1) end, "bad argument #2 to 'lose_reply' %(unknown kind of " ..
      "request of type number")
    assert_misuse(function() world:lose_request(session, "get", 0) end, "bad argument #3 to 'lose_request' %(integer")
    assert_misuse(function() world:plan(session, "fire") end, "bad argument #2 to 'plan' %(unknown fault 'fire'; there " ..
      "are: cut, delay, expire, late_request, lose_reply, lose_request, new_session, pause%)")
    assert_misuse(function() world:plan(session, "late_request", { seconds = 2, down = 1 }) end,
      "bad argument #3 to 'plan' %(option 'down': a request that is 2 s late is done only if the client connects again later")
    assert_misuse(function() world:plan(session, "cut", { of = 1 }) end, "bad argument #3 to 'plan' %(unknown option 'of'")
    assert_misuse(function() world:plan(session, "cut", { nth = 1.5 }) end, "bad argument #%d to 'plan'")
    assert_misuse(function() world:plan(session, "delay", { seconds = -1 }) end, "bad argument #3 to 'plan'")
    assert_misuse(function() world:pause(session) end, "bad argument #2 to 'pause' %(seconds expected")
    assert_misuse(function() world:pause(session, 1e6) end, "bad argument #2 to 'pause' %(a pause lasts at most")
    assert_misuse(function() world:move(session, 4) end, "bad argument #2 to 'move' %(integer from 1 to 3 expected, got 4")
    assert_misuse(function() world:stop_server(0) end, "bad argument #1 to 'stop_server' %(integer from 1 to 3")
    assert_misuse(function() world:start_server("1") end, "bad argument #1 to 'start_server'")
    assert_misuse(function() world:lag(1, 1) end, "bad argument #1 to 'lag' %(server 1 is the leader")
    assert_misuse(function() world:isolate_server(1) end, "bad argument #1 to 'isolate_server' %(server 1 is the leader")
    assert_misuse(function() world:faults(1) end, "bad argument #1 to 'faults' %(table of options expected")
    assert_misuse(function() world:faults { late_request = 0.1, max_delay = 1 } end, "bad argument #1 to 'faults' " ..
      "%(option 'late_request': without 'max_down'")
    assert_misuse(function() world:faults { cut = 2 } end, "bad argument #1 to 'faults' %(option 'cut': share from 0 to 1")
    assert_misuse(function() world:faults { cut = 0.6, delay = 0.6 } end, "bad argument #1 to 'faults' %(a request meets")
    assert_misuse(function() world:faults { cut = 0.1, max_down = -1 } end, "bad argument #1 to 'faults'")
    assert_misuse(function() world:faults { cutt = 0.1 } end, "bad argument #1 to 'faults' %(unknown option 'cutt'")
    local one, two = world.zk.session(), world.zk.session()
    assert_misuse(function() world:cut(one) end, "bad argument #1 to 'cut' %(the session is not connected, and its")
    one:close(0) two:close(0) real:close(0)
  end)
end)
