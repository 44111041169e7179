-- Calls that wait, for spec/unit/kill_spec.lua: { name, prepare(state), act(state): is killed, again(state): raises unless the handle
-- works, finish(state): releases what `prepare` and `again` have left }. state: { world, zk, session, other, other_zk }.

local M = {}

local function add(name, prepare, act, again, finish)
  M[#M + 1] = { name = name, prepare = prepare, act = act, again = function(state) again(state) return true end, finish = finish }
end

local function later(state, seconds, fn)
  state.other_zk.spawn(function()
    state.other_zk.sleep(seconds)
    fn()
  end)
end

-- A try does not wait for a connection.
local function connect(state) assert(state.session:connected(200)) end

-- ---- Locks -------------------------------------------------------------------------------------

local function lock_ways(what, make, timeout, busy)
  local method = ("%s, %s"):format(what, timeout == 0 and "a try" or busy and "held elsewhere" or "free")
  add(method, function(state)
    state.lock = make(state.session)
    if timeout == 0 then connect(state) end
    if busy then
      local hold = assert(make(state.other):acquire(200))
      later(state, 2, function() hold:release() end)
    end
  end, function(state) state.lock:acquire(timeout) end, function(state)
    assert(state.lock:acquire(200)):release()
    assert(state.lock:acquire(0)):release()
    local list = state.lock.contenders and assert(state.lock:contenders()) or {}
    assert(#list <= 1, #list .. " contend")
  end)
end

for what, options in pairs { ["a lock"] = {}, ["a cohort"] = { cohort = true }, ["a reentrant lock"] = { reentrant = true },
  ["a revocable lock"] = { on_request = function(hold) hold:release() end },
  ["a revocable cohort"] = { cohort = true, on_request = function(hold) hold:release() end } } do
  local function make(session) return session:lock("/l", options) end
  lock_ways(what, make, nil, false)
  lock_ways(what, make, 0, false)
  lock_ways(what, make, nil, true)
end

local function make_multilock(session)
  return session:multilock { session:lock("/a"), session:lock("/b"), session:rwlock("/c"):writer() }
end
lock_ways("a multilock", make_multilock, nil, false)
lock_ways("a multilock", make_multilock, 0, false)
lock_ways("a multilock", make_multilock, nil, true)
lock_ways("a writer", function(session) return session:rwlock("/rw"):writer() end, nil, true)

add("lock:request", function(state)
  state.asked = 0
  local lock
  lock = state.other:lock("/l", { on_request = function() state.asked = state.asked + 1 end })
  state.held = assert(lock:acquire(200))
  state.lock = state.session:lock("/l")
end, function(state) state.lock:request() end, function(state)
  assert(state.lock:request() == 1)
  state.world:advance(1)
  assert(state.asked >= 1)
end, function(state) state.held:release() end)

-- ---- Barriers ----------------------------------------------------------------------------------

add("barrier:wait", function(state)
  state.barrier = state.session:barrier("/b")
  assert(state.barrier:close())
  later(state, 2, function() state.other:barrier("/b"):open() end)
end, function(state) state.barrier:wait() end, function(state)
  assert(state.barrier:close())
  later(state, 1, function() state.other:barrier("/b"):open() end)
  assert(state.barrier:wait(200))
end)

-- ---- Presences ---------------------------------------------------------------------------------

local function present_again(state)
  assert(state.presence:update("again", 200))
  assert(select(1, state.other:get "/here") == "again")
  assert(state.presence:leave(200))
  assert(state.presence:state() == "left")
end

for _, method in ipairs { "ready", "update" } do
  add("presence:" .. method .. ", blocked", function(state)
    assert(state.other:create("/here", ""))
    state.presence = state.session:presence "/here"
    later(state, 2, function() assert(state.other:delete "/here") end)
  end, function(state) state.presence[method](state.presence) end, present_again)
end

add("presence:leave", function(state)
  state.presence = state.session:presence "/here"
  assert(state.presence:ready(200))
end, function(state) state.presence:leave() end, function(state)
  assert(state.presence:leave(200))
  assert(state.other:sync "/here")
  assert(not state.other:exists "/here")
end)

add("changes:next", function(state)
  state.tree = state.session:tree("/t")
  state.changes = state.tree:changes()
  later(state, 2, function() state.other:create("/t", "1") end)
end, function(state) state.changes:next() end, function(state)
  local data = tostring(state.world:now())
  state.other:create("/t", "")
  assert(state.other:set("/t", data))
  assert(state.tree:await(function(tree) return tree:get() == data end, 200))
  local last
  repeat
    local change = state.changes:next(0)
    last = change or last
  until not change
  assert(last == nil or last.data == data)
end, function(state) state.tree:close() end)

add("latch:count_down", function(state) state.latch = state.session:latch("/b", 3) end,
  function(state) state.latch:count_down() end, function(state)
    for _ = 1, 3 do assert(state.latch:count_down()) end
    assert(state.latch:wait(200))
  end)

add("counter:add", function(state) state.counter = state.session:counter("/n") end,
  function(state) state.counter:add(1) end, function(state)
    local sum = assert(state.counter:add(1))
    assert(sum == 1 or sum == 2)
    assert(state.counter:add(1) == sum + 1)
  end)

add("config:update", function(state) state.config = state.session:config("/n", { default = "0" }) end,
  function(state) state.config:update(function(value) return value .. "1" end) end, function(state)
    local ok, value = state.config:update(function(found) return found .. "1" end)
    assert(ok and (value == "01" or value == "011"))
  end, function(state) state.config:close() end)

add("ids:next", function(state) state.ids = state.session:ids("/n", { block = 1 }) end,
  function(state) state.ids:next() end, function(state)
    local number = assert(state.ids:next())
    assert(assert(state.ids:next()) > number)
  end)

add("ids:next_name", function(state) state.ids = state.session:ids("/n") end,
  function(state) state.ids:next_name("name-") end, function(state)
    assert(assert(state.ids:next_name("name-")) < assert(state.ids:next_name("name-")))
  end)

-- Members of the other process join and leave for a while.
local function accompany(state, fn)
  state.other_zk.spawn(function()
    local over = state.world:now() + 60
    while not state.enough and state.world:now() < over do
      fn()
      state.other_zk.sleep(0.2)
    end
  end)
end

local function partner(state)
  local barrier = state.other:double_barrier("/d", 2)
  if barrier:enter(3) then
    state.other_zk.sleep(0.5)
    barrier:leave(20)
  end
end

local function enter_and_leave(state)
  local barrier = state.barrier
  if barrier.member then assert(barrier:leave(300)) end
  local entered
  repeat entered = barrier:enter(10) until entered
  assert(barrier:leave(300))
  state.enough = true
end

add("double_barrier:enter", function(state)
  state.barrier = state.session:double_barrier("/d", 2)
  accompany(state, function() partner(state) end)
end, function(state)
  if state.barrier:enter(20) then state.enough = true end
end, enter_and_leave)

add("double_barrier:leave", function(state)
  state.barrier = state.session:double_barrier("/d", 2)
  accompany(state, function() partner(state) end)
  repeat until state.barrier:enter(10)
end, function(state)
  assert(state.barrier:leave(200))
  state.enough = true
end, enter_and_leave)

add("cyclic_barrier:wait", function(state)
  state.barrier = state.session:cyclic_barrier("/c", 2)
  accompany(state, function() state.other:cyclic_barrier("/c", 2):wait(3) end)
end, function(state)
  assert(state.barrier:wait(200))
  state.enough = true
end, function(state)
  assert(state.barrier:wait(200))
  state.enough = true
end)

-- ---- Elections ---------------------------------------------------------------------------------

for what, options in pairs { ["an election"] = {}, ["an election by rank"] = { rank = 1 } } do
  local function prepare(state)
    state.election = state.session:election("/e", options)
    local term = assert(state.other:election("/e", options):campaign(200))
    later(state, 2, function() term:resign() end)
  end
  local function again(state)
    assert(state.election:campaign(300)):resign()
    assert(#assert(state.election:candidates()) == 0)
    assert(#state.election:attempts() == 0)
  end
  add(what .. ": campaign", prepare, function(state) state.term = state.election:campaign() end, again)
  add(what .. ": a try", function(state)
    state.election = state.session:election("/e", options)
    connect(state)
  end, function(state) state.term = state.election:campaign(0) end, again)
  add(what .. ": lead", prepare, function(state)
    local term
    state.election:lead(function(its)
      term = its
      if not state.ended then
        state.ended = true
        state.zk.spawn(function() state.election:stop() end)
      end
      state.zk.sleep(100)
    end)
    state.term = term
  end, again)
  add(what .. ": observe", prepare, function(state)
    local next_leader = state.election:observe()
    for _ = 1, 2 do next_leader() end
  end, again)

  -- The successor stands behind another candidate.
  add(what .. ": resign to a successor", function(state)
    state.election = state.session:election("/e", options)
    state.term = assert(state.election:campaign(200))
    for _ = 1, 2 do
      local election = state.other:election("/e", options)
      state.other_zk.spawn(function()
        local term = election:campaign()
        state.other_zk.sleep(1)
        if term then term:resign() end
      end)
      repeat state.world:advance(0.1) until #assert(state.election:candidates()) == 2 or _ == 2
    end
    repeat state.world:advance(0.1) until #assert(state.election:candidates()) == 3
    state.candidates = state.election:candidates()
  end, function(state) state.term:resign(state.candidates[3], 20) end, function(state)
    if state.term:valid() then
      assert(state.term:proclaim("still here"))
      state.term:resign()
    end
    assert(state.election:campaign(300)):resign()
  end)
  add(what .. ": proclaim", function(state)
    state.election = state.session:election("/e", options)
    state.term = assert(state.election:campaign(200))
  end, function(state) state.term:proclaim("first") end, function(state)
    assert(state.term:proclaim("second"))
    assert(state.election:leader().value == "second")
    state.term:resign()
    assert(state.election:campaign(300)):resign()
  end)
end

-- ---- Queues ------------------------------------------------------------------------------------

local function queue_way(name, prepare, act)
  add("queue: " .. name, function(state)
    state.queue = state.session:queue("/q")
    prepare(state)
  end, act, function(state)
    state.item = nil
    assert(state.queue:put("again", { id = "again" }))
    local seen
    repeat
      local item = assert(state.queue:claim(200))
      seen = item.data
      assert(item:ack())
    until seen == "again"
    assert(state.queue:put("once more"))
    assert(state.queue:take(200))
  end)
end

local function nothing() end
local function put(state) assert(state.queue:put("first")) end
local function claim(state)
  put(state)
  state.item = assert(state.queue:claim(200))
end

queue_way("put", nothing, put)
queue_way("put with an id", nothing, function(state) state.queue:put("first", { id = "one" }) end)
queue_way("put with a delay", nothing, function(state) state.queue:put("first", { delay = 0.1 }) end)
queue_way("put_all", nothing, function(state) state.queue:put_all { "a", { data = "b", priority = 1 }, { data = "c", id = "c" } } end)
queue_way("claim", put, function(state) state.queue:claim() end)
queue_way("claim, a try", put, function(state) state.queue:claim(0) end)
queue_way("claim of what comes later", function(state)
  later(state, 2, function() state.other:queue("/q"):put("late") end)
end, function(state) state.queue:claim() end)
queue_way("take", put, function(state) state.queue:take() end)
queue_way("ack", claim, function(state) state.item:ack() end)
queue_way("nack", claim, function(state) state.item:nack() end)
queue_way("nack with a delay", claim, function(state) state.item:nack(0.2) end)
queue_way("size", put, function(state) state.queue:size() end)
queue_way("peek", put, function(state) state.queue:peek() end)
queue_way("remove", function(state) assert(state.queue:put("first", { id = "one" })) end, function(state) state.queue:remove("one") end)
queue_way("items", put, function(state) for _ in state.queue:items() do nothing() end end)
queue_way("redrive", function(state)
  local queue = state.session:queue("/q", { attempts = 1 })
  assert(queue:put("dead"))
  assert(queue:claim(200)):nack()
end, function(state) state.queue:redrive() end)

local function simple_way(name, act)
  add("simple queue: " .. name, function(state)
    state.queue = state.session:queue("/s", { format = "simple" })
    put(state)
  end, act, function(state)
    assert(state.queue:put("again"))
    repeat local data = assert(state.queue:take(200)) until data == "again"
  end)
end

simple_way("put", put)
simple_way("put_all", function(state) state.queue:put_all { "a", "b" } end)
simple_way("take", function(state) state.queue:take() end)
simple_way("take of what comes later", function(state)
  later(state, 2, function() state.other:queue("/s", { format = "simple" }):put("late") end)
  state.queue:take()
  state.queue:take()
end)
simple_way("size", function(state) state.queue:size() end)
simple_way("peek", function(state) state.queue:peek() end)
simple_way("items", function(state) for _ in state.queue:items() do nothing() end end)

-- ---- Other calls -------------------------------------------------------------------------------

local function tasks_end(state) assert(not state.task or state.task:wait(600) == nil) end

add("zk.all", nothing, function(state)
  state.zk.all { function() state.zk.sleep(1) end, function() state.session:exists("/") end }
end, tasks_end)
add("zk.any", nothing, function(state)
  state.zk.any { function() state.zk.sleep(1) end, function() state.zk.sleep(50) end }
end, tasks_end)
add("task:wait", function(state) state.task = state.zk.spawn(function() state.zk.sleep(3) end) end,
  function(state) state.task:wait() end, tasks_end)
add("hold:on_lost", function(state) state.hold = assert(state.session:lock("/l"):acquire(200)) end,
  function(state)
    state.hold:on_lost(function() end)
    state.hold:lost(1)
  end, function(state)
    state.hold:release()
    assert(state.session:lock("/l"):acquire(200)):release()
  end)
add("delete_tree", function(state)
  for i = 1, 3 do assert(state.session:create("/t/" .. i .. "/x", "", { parents = true })) end
end, function(state) state.session:delete_tree("/t") end, function(state)
  assert(state.session:exists("/t") == false or state.session:delete_tree("/t"))
end)
add("zk.status", function(state)
  local hold = assert(state.other:lock("/l"):acquire(200))
  state.zk.spawn(function()
    local ours = state.session:lock("/l"):acquire()
    if ours then ours:release() end
  end)
  later(state, 20, function() hold:release() end)
  state.world:advance(1)
end, function(state) state.zk.status { queues = true } end, function(state)
  assert(#state.zk.status { queues = true }.queues <= 1)
  state.world:advance(20)
end)

return M
