-- The double barrier, on a real server.
-- Tags: sanitize

local child = require "spec.support.child"
local collect = require "spec.support.collect"
local env = require "spec.support.env"
local run, fails, raises = env.run, env.fails, env.raises

-- Opens this many sessions on one namespace.
local function sessions(count)
  local all, namespace = {}, env.namespace()
  for i = 1, count do all[i] = env.session { namespace = namespace } end
  return all
end

describe("a double barrier", function()
  it("is entered by n members together, and left together", run(function()
    local all, entered, left, waits = sessions(3), 0, 0, {}
    for i = 1, 3 do
      waits[i] = env.start(function()
        local barrier = all[i]:double_barrier("/b", 3)
        assert(barrier:enter(200))
        entered = entered + 1
        env.eventually("all are in", function() return entered == 3 end)
        if i == 1 then env.eventually("the others leave", function() return #all[1]:children("/b") == 2 end) end
        assert.are.equal(0, left)
        assert(barrier:leave(200))
        left = left + 1
      end)
      if i < 3 then
        env.eventually("it waits", function() return #(all[1]:children("/b") or {}) == 2 * i end)
        assert.are.equal(0, entered)
      end
    end
    for i = 1, 3 do waits[i]() end
    assert.are.same({}, all[1]:children("/b"))
  end))

  it("does not count members that gave up or died", run(function()
    local all = sessions(3)
    env.late(all[1]:double_barrier("/b", 2):enter(0.05))
    local wait = env.start(function() return all[1]:double_barrier("/b", 2):enter(200) end)
    env.eventually("it waits", function() return #(all[2]:children("/b") or {}) == 2 end)
    all[1]:close()
    fails("closed", wait())
    env.late(all[2]:double_barrier("/b", 2):enter(0.05))
    env.queue_of(all[2], "/b", 0)
  end))

  it("takes surplus members into the next round", run(function()
    local all, rounds, waits = sessions(2), 0, {}
    for i = 1, 6 do
      waits[i] = env.start(function()
        local barrier = all[i % 2 + 1]:double_barrier("/b", 2)
        assert(barrier:enter(300))
        rounds = rounds + 1
        assert(barrier:leave(300))
      end)
    end
    for i = 1, 6 do waits[i]() end
    assert.are.equal(6, rounds)
    assert.are.same({}, all[1]:children("/b"))
  end))

  it("is left when a member dies inside", run(function()
    local all = sessions(2)
    local dying = env.start(function() return all[1]:double_barrier("/b", 2):enter(200) end)
    local barrier = all[2]:double_barrier("/b", 2)
    assert(barrier:enter(200))
    assert(dying())
    for i = 1, 9 do assert(all[2]:create("/b/round-" .. i, nil)) end -- foreign znodes, not our rounds
    env.late(barrier:leave(0.05))
    all[1]:close()
    assert.are.same({ true, 1 }, { barrier:leave(200) })
    raises("enter first", function() barrier:leave() end)
    assert.are.equal(9, #all[2]:children("/b"))
  end))

  it("tells a member that gives up how many came", run(function()
    local all = sessions(2)
    local wait = env.start(function() return all[2]:double_barrier("/b", 3):enter(200) end)
    local function is_told(limit)
      env.queue_of(all[1], "/b", 2) -- members that gave up in the background are gone
      local _, message, code, came = all[1]:double_barrier("/b", 3):enter(limit)
      if code ~= "timeout" then return false end -- no server has answered in time
      assert.are.same({ "double_barrier:enter /b: 2 of 3 came", 2 }, { message, came })
      return true
    end
    for _, limit in ipairs { 0, 0.05 } do is_told(limit) end
    env.eventually("a limit passes after an answer", function() return is_told(2) end)
    env.queue_of(all[1], "/b", 2)
    all[2]:close()
    fails("closed", wait())
    env.eventually("a limit passes after an answer", function()
      return select(2, all[1]:cyclic_barrier("/c", 3):wait(1)) == "cyclic_barrier:wait /c: 1 of 3 came"
    end)
  end))

  -- Returns a barrier for each session; all have entered the same round.
  local function entered(all)
    local barriers, waits = {}, {}
    for i = 1, #all do
      barriers[i] = all[i]:double_barrier("/b", #all)
      waits[i] = env.start(barriers[i].enter, barriers[i], 200)
    end
    for i = 1, #all do assert(waits[i]()) end
    return barriers
  end

  -- Begins to leave all of them. Returns a function that waits for the results of each.
  local function leaving(barriers, first)
    local waits = {}
    for i = first or 1, #barriers do
      waits[i] = env.start(function() return { barriers[i]:leave(200) } end)
    end
    return function()
      local results = {}
      for i = first or 1, #barriers do results[#results + 1] = waits[i]() end
      return results
    end
  end

  it("tells all leaving members the same number of dead members, however late each leaves", run(function()
    local all = sessions(4)
    local barriers = entered(all)
    local first = env.start(function() return { barriers[2]:leave(200) } end)
    env.eventually("it has left", function() return #all[1]:children("/b") == 4 end)
    all[1]:close()
    env.eventually("a limit passes after an answer", function()
      return env.late(barriers[3]:leave(2)) == "double_barrier:leave /b: 1 of 4 is still inside"
    end)
    local others = leaving(barriers, 3)
    assert.are.same({ { true, 1 }, { true, 1 }, { true, 1 } }, { first(), others()[1], others()[2] })
    assert.are.same({}, all[2]:children("/b"))
  end))

  it("counts a killed process as dead, but not a process that has left before", run(function()
    local children, namespace = {}, env.namespace()
    local session = env.session { namespace = namespace }
    for i = 1, 2 do
      children[i] = child.start(namespace, 15, nil, { script = "inside" })
      children[i]:tell("enter 3")
    end
    local barrier = session:double_barrier("/b", 3)
    assert(barrier:enter(200))
    for i = 1, 2 do assert.are.equal("entered", children[i]:answer()) end
    children[1]:tell("leave")
    env.eventually("it has left", function() return #session:children("/b") == 3 end)
    for i = 1, 2 do children[i]:signal("KILL") end
    assert.are.same({ true, 1 }, { barrier:leave(200) })
    env.eventually("nothing is left, once the mark of the first has gone with its session", function()
      if #session:children("/b") == 0 then return true end
      leaving(entered { session, session })() -- the next round sweeps
    end)
    for i = 1, 2 do children[i]:stop() end
  end))

  it("counts a leaving member once if the answer is lost, whether the request was done or not", run(function()
    for _, fault in ipairs { "drop_reply", "drop_request" } do
      local proxy, namespace = env.proxy(), env.namespace()
      local faulty = env.session { hosts = proxy.hosts, namespace = namespace }
      local barriers = entered { faulty, env.session { namespace = namespace } }
      proxy[fault](proxy, "multi", 1)
      assert.are.same({ { true, 0 }, { true, 0 } }, leaving(barriers)())
      assert.are.equal(1, proxy:fired())
      assert.are.same({}, faulty:children("/b"))
    end
  end))

  it("leaves nothing if it is dropped after its leave has timed out", run(function()
    local all = sessions(3)
    local barriers = entered(all)
    local function drop()
      env.eventually("a limit passes after an answer", function()
        local _, _, code = barriers[1]:leave(2)
        return code == "timeout"
      end)
      barriers[1] = nil
    end
    drop()
    local round
    for _, name in ipairs(all[2]:children("/b")) do round = name:find("^round%-") and name or round end
    assert.are.equal(1, #all[2]:children("/b/" .. round))
    env.eventually("its mark is gone", function()
      collect()
      return #all[2]:children("/b/" .. round) == 0
    end)
    assert.are.same({ { true, 0 }, { true, 0 } }, leaving(barriers, 2)())
    assert.are.same({}, all[2]:children("/b"))
  end))

  it("ends with its session if barrier and session are dropped", run(function()
    local namespace = env.namespace()
    local function enter_and_drop() assert(env.session({ namespace = namespace }):double_barrier("/b", 1):enter(200)) end
    enter_and_drop()
    local session = env.session { namespace = namespace }
    env.eventually("its member is gone", function()
      collect()
      for _, name in ipairs(session:children("/b")) do
        if name:find("^m%-") then return false end
      end
      return true
    end)
  end))
end)
