-- Histories of the queue in simulated worlds: producers, consumers, random faults, killed consumers.
--
--     histories.lua [--seeds N] [--from S]      seeds S (1) to S + N - 1; ends at the first violation and prints it with its seed
--     histories.lua --seed S                    one seed, with the trace of its world
--
-- There are four kinds of histories, by the seed: without faults (exact order with one consumer, every item once); with all faults at
-- random; with killed consumers; and with faults of producers only, whose items have ids (every item once). In some of them consumers take,
-- or drop claimed items, or their claims are canceled, or they die in a session that is newer than their presence; requests of an earlier
-- session arrive late; producers remove their items; dead letters are put back; the queue has a capacity or the simple format; many
-- coroutines of each producer put at the same moment, and producers are killed; or items are put under the same few ids for minutes
-- (tidy.c). Buckets are tiny, so each history contains their whole life. The rules:
--   lost        an item whose put succeeded is acked, taken, removed, or a dead letter. One item may be gone for each take that ended
--               without an answer or by a kill, or that came too late and could not be put back; in the simple format also for each
--               take that was canceled
--   foreign     no consumer gets an item that was never put, or whose put was refused
--   taken       an item that was taken is not given again
--   removed     nor is an item that was removed, or that a remove did not find
--   redriven    all dead letters are put back, and each may be tried as often as a new item
--   capacity    there are no more items than the capacity and what the other producers may put at the same moment
--   stale       no consumer loses a claim while its session lives
--   attempts    no item is given more often than `attempts` allows
--   over        no item is given whose session is over, however late its consumer runs (if nobody else ends sessions)
--   exclusive   no item is given while the session of a consumer that holds it lives
--   twice       no item is done twice, unless a fault excuses it (lists.lua: a lost answer does not, while an item of its list is there)
--   order       the items of one producer come in their order, if there are no faults; and an item whose put began after that of another
--               one had ended comes behind it
--   left        in the end there is no claim, no idle lock, no item and no void znode, and the count is 0
--   bytes       a session counts the bytes of all ephemeral znodes that it has, and in the end no others
--   late        after the faults all items are done in time; and a try never waits for longer than a request may
--   spin        the number of requests is bounded, also with foreign znodes among the items

local actors = require "spec.histories.queue.actors"
local bytes = require "spec.histories.queue.bytes"
local ids = require "spec.histories.queue.ids"
local arguments = require "zkrecipes.recipes.queue.arguments"
local layout = require "spec.support.queue_layout"
local lists = require "spec.histories.queue.lists"
local parse = require "spec.histories.options"
local sim = require "zkrecipes.sim"

local violation = actors.violation

local SEEDS = 5000
local options = parse(arg, { seeds = true, from = true, seed = true }, { first = true })

local MODES = { "calm", "faults", "kills", "producers" }
local PAUSE = 12
local ASKED, ASKED_PER_SECOND = 5000, 20 -- most requests of all clients if all wait without a limit; 860 were seen besides 20 a second

local ASKED_AT_ALL = 50000 -- of all histories; 6,700 were seen

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
  local history = { seed = seed, roll = roll, mode = MODES[seed % #MODES + 1],
    world = sim.new { seed = seed, trace = options.seed and print },
    dead = {}, began = {}, ended = {}, seen = {}, lists = {},
    put = {}, maybe = {}, refused = {}, removed = {}, maybe_removed = {}, absent = {}, taken = {}, gone = 0, done = {},
    held = {}, order = {}, producing = 0, consumers = {}, stop = false }
  history.simple = roll(8) == 0
  history.patient = roll(2) == 0
  history.attempts = not history.simple and roll(3) == 0 and 2 or 1000
  history.count = roll(4) == 0 and 1 or 2 + roll(2)
  if history.mode == "calm" then history.count = 1 + roll(3) end
  return history
end

-- ---- Trouble -----------------------------------------------------------------------------------

local function trouble(history)
  local world, roll = history.world, history.roll
  if history.mode == "faults" then
    local faults = { lose_request = 0.02, lose_reply = 0.04, late_request = 0.01, delay = 0.02, cut = 0.02, expire = 0.01,
      pause = 0.005, new_session = 0.005, max_down = 2, max_pause = PAUSE, max_delay = 1 }
    if history.takes then -- some requests are still on their way when another session checks their outcome
      faults.delay, faults.max_delay, faults.new_session, faults.max_down = 0.2, 2, 0.04, 0.3
    end
    if history.slow then faults.delay, faults.max_delay = 0.2, 6 end -- answers come after the end of their session
    if history.outrun then -- a new session puts and removes an item before the last request of the old one arrives
      faults.delay, faults.max_delay, faults.new_session, faults.max_down = 0.2, 3, 0.1, 0.3
    end
    if history.remote then faults.max_down = 300 end
    if history.pauses then faults.expire, faults.new_session = 0, 0 end -- a session ends only when its lease is over
    world:faults(faults)
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
        if history.crowded and roll(2) == 0 then
          local producer = history.producers[1 + roll(#history.producers)]
          world:disconnect(producer)
          history.dead[producer] = true
        end
        local victim = history.consumers[1 + roll(#history.consumers)]
        if not victim.dead then
          if roll(3) == 0 then world:expire(victim.zk) else
            actors.kill(history, victim)
            actors.start_consumer(history)
          end
        end
      end
      history.killed = true
    end)
  end
end

-- Creates znodes in the buckets that are no items, some of them with names of items.
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

-- Puts dead letters back while others work.
local function redrive(history)
  local roll = history.roll
  local zk = history.world:process()
  local queue = actors.queue_of(history, zk)
  for _ = 1, 1 + roll(3) do
    zk.sleep(roll(500) / 100)
    queue:redrive(roll(2) == 0 and 1 + roll(3) or nil)
  end
end

-- ---- The end -----------------------------------------------------------------------------------

local function is_ready(history)
  return history.producing == 0 and (history.mode ~= "kills" or history.killed)
end

-- Without those of `zk`, which asks for the size again and again.
local function check_requests(history, zk)
  local world, most = history.world, ASKED_AT_ALL
  if history.patient then most = ASKED + ASKED_PER_SECOND * world:now() end
  local asked = world:requests() - world:requests(zk)
  if asked > most then violation(history, "spin", asked .. " requests") end
end

-- How many znodes in the lanes are named as items, but are none: `size` counts them. And how many are void.
local function count_others(history)
  local world, strangers, void = history.world, 0, 0
  for _, lane in ipairs(world:children "/jobs/lanes" or {}) do
    for _, bucket in ipairs(world:children("/jobs/lanes/" .. lane)) do
      local path = ("/jobs/lanes/%s/%s"):format(lane, bucket)
      for _, name in ipairs(bucket:find "^b%-" and world:children(path) or {}) do
        if layout.is_void(name) then
          void = void + 1
        elseif layout.is_item(name) and not layout.decode(world:get(path .. "/" .. name)) then
          strangers = strangers + 1
        end
      end
    end
  end
  return strangers, void
end

-- Waits until the queue is empty. It checks twice, because the count may miss an item that moves to another lane. If a paused consumer may
-- have taken an item, it checks for longer than a pause.
local function wait_until_empty(history, zk, queue)
  local world, empty = history.world, 0
  local enough = (history.takes or history.simple) and history.mode == "faults" and 3 * PAUSE or 2
  local deadline = world:now() + actors.DRAIN
  while empty < enough do
    local size = queue:size()
    local strangers, void = count_others(history)
    if void > 0 then queue:peek() end -- the next look deletes them
    empty = is_ready(history) and size == strangers and void == 0 and empty + 1 or 0
    if history.producing == 0 and history.mode == "faults" and not history.healed then
      history.healed = true
      world:heal()
      deadline = world:now() + actors.DRAIN
    end
    check_requests(history, zk)
    bytes.check_least(history)
    if world:now() > deadline then violation(history, "late", world:dump("/jobs")) end
    zk.sleep(0.5)
  end
end

local function insist(zk, fn, ...)
  local value = fn(...)
  while value == nil do
    zk.sleep(0.1)
    value = fn(...)
  end
  return value
end

local function list_dead(queue, zk)
  local dead, count
  while not pcall(function()
    dead, count = {}, 0
    for letter in queue:dead() do dead[letter.data], count = true, count + 1 end
  end) do zk.sleep(0.1) end
  return dead, count
end

-- Call it when the queue is empty and all faults are over: every dead letter must come back, and all of them must be done.
local function redrive_all(history, zk, queue)
  history.nacks = false
  local _, listed = list_dead(queue, zk)
  local counted, back = insist(zk, queue.dead_size, queue), queue:redrive()
  if counted ~= listed or back and back ~= listed then
    violation(history, "redriven", ("%d listed, %d counted, %s put back"):format(listed, counted, tostring(back)))
  end
  insist(zk, queue.redrive, queue)
  wait_until_empty(history, zk, queue)
end

local function drain(history)
  local zk = history.world:process()
  local queue = actors.queue_of(history, zk)
  wait_until_empty(history, zk, queue)
  if history.redrives then redrive_all(history, zk, queue) end
  history.stop = true
  for _, consumer in ipairs(history.consumers) do
    for i = 1, #consumer.tasks do
      if consumer.tasks[i].waiting then consumer.tasks[i].task:cancel() end
    end
  end
  return history.simple and {} or list_dead(queue, zk), queue, zk
end

local function check_left(history, queue, zk)
  local world = history.world
  local size = insist(zk, queue.size, queue)
  local strangers, void = count_others(history)
  if size ~= strangers or void > 0 then violation(history, "left", ("%d items by count, %d void"):format(size, void)) end
  local listed, first
  repeat listed, first = pcall(queue:items()) until listed -- raises if the connection is lost
  if first then violation(history, "left", first.data) end
  for _, folder in ipairs { "claims", "seat" } do
    local names = world:children("/jobs/" .. folder) or {}
    if #names > 0 then violation(history, "left", folder .. ": " .. table.concat(names, " ")) end
  end
  bytes.check(history, zk)
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

-- The items of all producers.
local function check_line(history)
  local began, ended, order = history.began, history.ended, history.order
  local latest, which = -1, nil -- the put that began last among the items that came before
  for _, name in ipairs(order) do
    if ended[name] and ended[name] < latest then violation(history, "order", ("%s after %s"):format(name, which)) end
    if (began[name] or -1) > latest then latest, which = began[name], name end
  end
end

-- The items that are not done, without an excuse.
local function missing(history, dead)
  local names = {}
  for name in pairs(history.put) do
    local excused = history.removed[name] or history.maybe_removed[name] or dead[name] and history.attempts < 1000
    if not history.done[name] and not excused then names[#names + 1] = name end
  end
  return names
end

local function check_end(history, dead)
  local names = missing(history, dead)
  local excused = history.unsure or history.unlisted or #names <= actors.missing(history)
  if not excused then violation(history, "lost", table.concat(names, " ")) end
  if history.redrives and next(dead) then violation(history, "redriven", next(dead) .. " is dead again") end
  local doubled = lists.doubled(history)
  if doubled then violation(history, "twice", doubled .. " of a list that was there") end
  if history.exact then
    check_order(history)
    check_line(history)
  end
end

local function roll_shape(history)
  local roll = history.roll
  history.mixed, history.nacks = roll(2) == 0, roll(3) == 0
  history.priorities = roll(3) == 0 and 12 or 3
  history.remote, history.littered = roll(3) == 0, roll(2) == 0 and history.patient and not history.simple
  history.takes, history.removes = roll(3) == 0, roll(3) == 0
  history.redrives = history.attempts < 1000 and roll(2) == 0
  if roll(4) == 0 and not (history.simple or history.littered or history.takes or history.redrives) then
    history.capacity = 3 + roll(roll(2) == 0 and 2 or 20)
  end
  history.nightly = math.floor(history.seed / #MODES) % 4 == 3 and not (history.simple or history.littered or history.capacity)
  if history.nightly then history.patient = true end
  history.crowded = math.floor(history.seed / 5) % 3 == 0 and not (history.simple or history.capacity or history.nightly)
  if history.crowded and history.mode == "calm" and roll(2) == 0 then
    history.count, history.mixed, history.nacks = 1, false, false
  end
  -- A consumer stops behind a nack.
  history.retires = math.floor(history.seed / #MODES) % 7 == 6 and history.patient and history.count > 1 and not history.simple
  if history.retires then history.nacks = true end
  history.slow = math.floor(history.seed / #MODES) % 4 == 1
  history.exact = history.mode == "calm" and history.count == 1 and not (history.mixed or history.nacks or history.nightly)
  history.pauses = history.mode == "faults" and math.floor(history.seed / #MODES) % 8 == 3 -- never with `cancels`
  history.drops = math.floor(history.seed / #MODES) % 16 == 2 and not history.exact
  -- Items are removed at the moment at which they are moved, because they are due.
  history.timely = math.floor(history.seed / #MODES) % 16 == 6 and not (history.simple or history.capacity or history.exact)
  history.outrun = math.floor(history.seed / #MODES) % 16 == 10 and not (history.simple or history.capacity or history.exact)
  if history.timely or history.outrun then history.removes, history.crowded = true, false end
  -- Consumers get a new session while they claim, and die long after the end of the one before, while others wait without a limit.
  history.changes = math.floor(history.seed / #MODES) % 16 == 14 and history.mode == "kills"
  if history.changes then history.patient = true end
  if math.floor(history.seed / 3) % 2 == 0 and not history.takes then history.prefetch = math.floor(history.seed / 6) % 7 end
  history.batches = history.seed % 5 == 2 and not (history.simple or history.exact)
  history.cancels = math.floor(history.seed / #MODES) % 8 == 1 and not history.exact
end

local function run(seed)
  local history = new_history(seed)
  local roll, world = history.roll, history.world
  roll_shape(history)
  history.producers = {}
  world:run(function()
    if history.nightly then ids.begin(history, violation) end
    for i = 1, 1 + roll(3) do
      history.producing = history.producing + 1
      local zk = world:process()
      history.producers[i] = zk
      zk.spawn(actors.produce, history, zk, i)
    end
    trouble(history)
    if history.littered then world.zk.spawn(litter, history) end
    if history.redrives then world.zk.spawn(redrive, history) end
    for _ = 1, history.count do actors.start_consumer(history) end
    local dead, queue, zk = drain(history)
    zk.sleep(15) -- until the waiting claims have ended
    check_left(history, queue, zk)
    check_end(history, dead)
    if history.nightly then ids.check_end(history, zk, queue, dead) end
  end)
  return history
end

-- ---- All ---------------------------------------------------------------------------------------

arguments.BUCKET = 5
if jit then jit.off() end -- compiled code would keep worlds that are over
local from = tonumber(options.seed or options.from) or 1
local seeds = options.seed and 1 or tonumber(options.seeds) or SEEDS
local sum = { histories = 0, put = 0, given = 0 }
for seed = from, from + seeds - 1 do
  local ok, history = pcall(run, seed)
  if not ok then
    print(("after %d histories: --recipe queue --seed %d: %s"):format(sum.histories + 1, seed, tostring(history)))
    print(("%d passed, 1 failed"):format(sum.histories))
    os.exit(1)
  end
  sum.histories = sum.histories + 1
  for _ in pairs(history.put) do sum.put = sum.put + 1 end
  sum.given = sum.given + (history.given or 0)
  if seed % 50 == 0 then collectgarbage() end
end
print(("%d histories of the queue: %d items put, given to consumers %d times, none lost"):format(sum.histories, sum.put, sum.given))
print(("%d passed, 0 failed"):format(sum.histories))
