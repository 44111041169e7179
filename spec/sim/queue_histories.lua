-- Histories of the queue in simulated worlds: producers, consumers, faults at random, killed consumers.
--
--     queue_histories.lua [SEEDS [FIRST]]     runs seeds FIRST.. (1); a violation is printed with its seed
--
-- Seeds take turns: without faults (exact order with one consumer, every item once), with all faults at random, with
-- consumers that are killed, and with producers alone in trouble whose items carry ids (every item once all the same).
-- Buckets are tiny, so that all of their life is in each history. What must hold:
--   lost        an item whose put succeeded is acked, or a dead letter
--   foreign     nothing comes out that nobody put in
--   stale       nobody loses a claim while his session lives
--   attempts    nobody is given an item more often than allowed
--   exclusive   nobody is given an item while the session of another one who has it lives
--   twice       no item is done twice where nothing can excuse it
--   order       of one producer's items, where nothing disturbs it
--   left        in the end there is no claim, no seat, no item, and the count says so
--   late        when the faults stop, all is done in time; and who only tries never waits for longer than a request may
--   spin        the servers are not asked without end, although foreign znodes lie among the items

local layout = require "zkrecipes.jobs.layout"
local sim = require "zkrecipes.sim"

local MODES = { "calm", "faults", "kills", "producers" }
local DRAIN = 900 -- virtual seconds for what is left when the faults have stopped
local TRY = 60    -- ... for claim(0): some requests, the last of which waits for a connection; and a pause
local ASKED, ASKED_PER_SECOND = 5000, 20 -- requests of all together where nobody is impatient; 860 were seen beside 20 a second

local function dice(seed)
  local state = seed * 2654435 % 2147483647 + 1
  return function(n)
    state = state * 16807 % 2147483647
    return state % n
  end
end

-- ---- A history ---------------------------------------------------------------------------------

local function new_history(seed)
  local roll = dice(seed)
  for _ = 1, 5 do roll(2) end
  local history = { seed = seed, roll = roll, mode = MODES[seed % #MODES + 1], world = sim.new { seed = seed, trace = arg[2] and print },
    put = {}, maybe = {}, done = {}, held = {}, order = {}, producing = 0, consumers = {}, stop = false }
  history.patient = roll(2) == 0
  history.attempts = roll(3) == 0 and 2 or 1000
  history.count = roll(4) == 0 and 1 or 2 + roll(2)
  if history.mode == "calm" then history.count = 1 + roll(3) end
  return history
end

local function violation(history, what, text)
  error(("seed %d (%s): %s: %s"):format(history.seed, history.mode, what, text), 0)
end

local function queue_of(history, zk)
  local session = zk.session { timeout = 4 + history.roll(6) }
  return session:queue("/jobs", { attempts = history.attempts }), session
end

-- ---- Producers ---------------------------------------------------------------------------------

local function options_of(history, name)
  local options = {}
  if history.mode == "producers" or history.roll(4) == 0 then options.id = name end
  if history.mixed and history.roll(3) == 0 then options.priority = history.roll(3) end
  if history.mixed and history.roll(4) == 0 then options.delay = history.roll(5) end
  return options
end

local function put(history, queue, zk, name)
  local options = options_of(history, name)
  for _ = 1, 1 + history.roll(2) * (options.id and 1 or 0) do
    local ok, _, code = queue:put(name, options)
    if ok then
      history.put[name] = true
    elseif code == "connection_loss" then
      history.maybe[name] = true
    else
      violation(history, "put", tostring(code))
    end
  end
  if history.roll(3) == 0 then zk.sleep(history.roll(1000) / 500) end
end

local function produce(history, zk, number)
  local queue = queue_of(history, zk)
  for i = 1, 3 + history.roll(8) do
    if history.roll(5) == 0 and history.mode ~= "producers" then
      local list = {}
      for j = 1, 1 + history.roll(6) do list[j] = ("%d:%03d.%d"):format(number, i, j) end
      local ok = queue:put_all(list)
      for j = 1, #list do history[ok and "put" or "maybe"][list[j]] = true end
    else
      put(history, queue, zk, ("%d:%03d"):format(number, i))
    end
  end
  history.producing = history.producing - 1
end

-- ---- Consumers ---------------------------------------------------------------------------------

local function check_given(history, item, session)
  local name, held = item.data, history.held[item.data]
  if not history.put[name] and not history.maybe[name] and not name:find "^%d+:%d+" then
    violation(history, "foreign", name)
  end
  if held and held.path == item.path and held.id ~= session.id and history.world:alive(held.id) then
    violation(history, "exclusive", name .. " is given to two")
  end
  if item.attempts > history.attempts then violation(history, "attempts", name .. ": " .. item.attempts) end
  history.held[name] = { id = session.id, path = item.path }
  local _, stat = history.world:get(item.state.claim)
  item.owner = stat and stat.ephemeral_owner
  history.given = (history.given or 0) + 1
end

local function note_done(history, item)
  local name = item.data
  history.held[name] = nil
  history.done[name] = (history.done[name] or 0) + 1
  table.insert(history.order, name)
  local twice = history.done[name] > 1
  if twice and (history.mode == "calm" or history.mode == "producers" and item.id) then
    violation(history, "twice", name)
  end
end

local function nack(history, consumer, item)
  history.held[item.data] = nil
  history.nacked = true
  local delay = history.roll(3) == 0 and history.roll(4) or nil
  local code
  repeat code = select(3, item:nack(delay)) until code ~= "connection_loss" or consumer.dead
end

local function consume(history, zk, consumer, task)
  local queue, session = consumer.queue, consumer.session
  while not history.stop and not consumer.dead do
    task.waiting = true
    local limit = history.patient and 10 * DRAIN or history.roll(4)
    local from = history.world:now()
    local item = queue:claim(limit)
    if limit == 0 and history.world:now() - from > TRY then violation(history, "late", "claim(0)") end
    task.waiting = nil
    if item and consumer.dead then break end
    if item then
      check_given(history, item, session)
      if history.roll(4) == 0 then zk.sleep(history.roll(100) / 50) end
      if consumer.dead then break end
      if history.nacks and history.roll(6) == 0 and not history.stop then
        nack(history, consumer, item)
      else
        local ok, code, _
        repeat ok, _, code = item:ack() until code ~= "connection_loss" or consumer.dead
        if ok then
          note_done(history, item)
        elseif code == "lost" and item.owner and history.world:alive(item.owner) then
          violation(history, "stale", "the claim of " .. item.data .. " was lost, but its session lives")
        else
          history.held[item.data] = nil
          if code ~= "lost" then history.unsure = true end
        end
      end
    else
      zk.sleep(0.01)
    end
  end
end

local function start_consumer(history)
  local zk = history.world:process()
  local consumer = { zk = zk, tasks = {} }
  consumer.queue, consumer.session = queue_of(history, zk)
  table.insert(history.consumers, consumer)
  for _ = 1, 1 + history.roll(3) * (history.exact and 0 or 1) do
    local task = {}
    task.task = zk.spawn(consume, history, zk, consumer, task)
    table.insert(consumer.tasks, task)
  end
end

-- kill -9: nothing of it is heard any more.
local function kill(history, consumer)
  history.world:disconnect(consumer.zk)
  consumer.dead = true
end

-- ---- Trouble -----------------------------------------------------------------------------------

local function trouble(history)
  local world, roll = history.world, history.roll
  if history.mode == "faults" then
    world:faults { lose_request = 0.02, lose_reply = 0.04, late_request = 0.01, delay = 0.02, cut = 0.02,
      expire = 0.01, pause = 0.005, new_session = 0.005, max_down = history.remote and 300 or 2, max_pause = 12, max_delay = 1 }
  elseif history.mode == "producers" then
    for i = 1, #history.producers do
      for _ = 1, 4 do
        world:plan(history.producers[i], roll(2) == 0 and "lose_reply" or "lose_request", { nth = 1 + roll(20) })
      end
    end
  elseif history.mode == "kills" then
    world.zk.spawn(function()
      for _ = 1, 2 + roll(3) do
        world.zk.sleep(roll(300) / 100)
        local victim = history.consumers[1 + roll(#history.consumers)]
        if not victim.dead then
          if roll(3) == 0 then world:expire(victim.zk) else
            kill(history, victim)
            start_consumer(history)
          end
        end
      end
      history.killed = true
    end)
  end
end

-- Somebody leaves znodes in the buckets that are no items, some of them under the names of items.
local function litter(history)
  local world, roll = history.world, history.roll
  local session = world:session()
  for i = 1, 2 + roll(6) do
    world.zk.sleep(roll(100) / 50)
    for _, lane in ipairs { "lanes/00000", "later", "dead" } do
      local path = "/jobs/" .. lane
      local names = world:children(path) or {}
      local bucket = #names > 0 and path .. "/" .. names[1 + roll(#names)]
      local name = ("%s0_0_%d-q-%010d"):format(lane == "later" and "0000000000001-" or "", i, roll(20))
      if bucket and bucket:find "/b%-" then session:create(bucket .. "/" .. (roll(3) == 0 and "foreign" or name), "litter") end
    end
  end
end

-- ---- The end -----------------------------------------------------------------------------------

local function drain(history)
  local world = history.world
  local zk = world:process()
  local queue = zk.session():queue("/jobs", { attempts = history.attempts })
  local deadline = world:now() + DRAIN
  local empty = 0 -- twice, because an item that moves to another lane meanwhile may be missed by the count
  while empty < 2 do
    local ready = history.producing == 0 and (history.mode ~= "kills" or history.killed)
    empty = ready and queue:size() == 0 and empty + 1 or 0
    if history.producing == 0 and history.mode == "faults" and not history.healed then
      history.healed = true
      world:heal()
      deadline = world:now() + DRAIN
    end
    if history.patient and world:requests() > ASKED + ASKED_PER_SECOND * world:now() then
      violation(history, "spin", world:requests() .. " requests")
    end
    if world:now() > deadline then violation(history, "late", world:dump("/jobs")) end
    zk.sleep(0.5)
  end
  history.stop = true
  for _, consumer in ipairs(history.consumers) do
    for i = 1, #consumer.tasks do
      if consumer.tasks[i].waiting then consumer.tasks[i].task:cancel() end
    end
  end
  local dead = {}
  while not pcall(function()
    for letter in queue:dead() do dead[letter.data] = true end
  end) do zk.sleep(0.1) end
  return dead, queue, zk
end

local function check_left(history, queue)
  local world = history.world
  local size
  repeat size = queue:size() until size
  if size ~= 0 then violation(history, "left", size .. " items by count") end
  local listed, first
  repeat listed, first = pcall(queue:items()) until listed -- it raises when the connection is lost
  if first then violation(history, "left", first.data) end
  for _, folder in ipairs { "claims", "seat" } do
    local names = world:children("/jobs/" .. folder) or {}
    if #names > 0 then violation(history, "left", folder .. ": " .. table.concat(names, " ")) end
  end
end

local function check_order(history)
  local last = {}
  for _, name in ipairs(history.order) do
    local producer = name:match "^%d+"
    if last[producer] and last[producer] > name then
      violation(history, "order", name .. " after " .. last[producer])
    end
    last[producer] = name
  end
end

local function check_end(history, dead)
  for name in pairs(history.put) do
    if not history.done[name] and not dead[name] and not history.unsure then violation(history, "lost", name) end
    if not history.done[name] and history.attempts == 1000 and not history.unsure then violation(history, "lost", name) end
  end
  if history.exact then check_order(history) end
end

local function run(seed)
  local history = new_history(seed)
  local roll, world = history.roll, history.world
  history.mixed, history.nacks = roll(2) == 0, roll(3) == 0
  history.remote, history.littered = roll(3) == 0, roll(2) == 0 and history.patient
  history.exact = history.mode == "calm" and history.count == 1 and not history.mixed and not history.nacks
  history.producers = {}
  world:run(function()
    for i = 1, 1 + roll(3) do
      history.producing = history.producing + 1
      local zk = world:process()
      history.producers[i] = zk
      zk.spawn(produce, history, zk, i)
    end
    trouble(history)
    if history.littered then world.zk.spawn(litter, history) end
    for _ = 1, history.count do start_consumer(history) end
    local dead, queue, zk = drain(history)
    zk.sleep(15) -- the waiting claims end
    check_left(history, queue)
    check_end(history, dead)
  end)
  return history
end

-- ---- All ---------------------------------------------------------------------------------------

layout.BUCKET = 5
local seeds, first = tonumber(arg[1]) or 1000, tonumber(arg[2]) or 1
local sum = { histories = 0, put = 0, given = 0, again = 0 }
for seed = first, first + seeds - 1 do
  local ok, history = pcall(run, seed)
  if not ok then
    print(("after %d histories: %s"):format(sum.histories, tostring(history)))
    os.exit(1)
  end
  sum.histories = sum.histories + 1
  for _ in pairs(history.put) do sum.put = sum.put + 1 end
  sum.given = sum.given + (history.given or 0)
  if seed % 50 == 0 then collectgarbage() end
end
print(("%d histories of the queue: %d items put, given to consumers %d times, none lost"):format(sum.histories, sum.put, sum.given))
