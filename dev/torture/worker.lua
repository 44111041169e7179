-- One process of the torture run: many coroutines that take locks and add one to a register which each lock guards. dev/torture/workers.lua
-- starts it and reads the log: our standard output.
--
-- A line of the log: time, coroutine, what, and its details. The clock is the same for all processes of the machine. A line is written
-- before an action that it announces (waits, writes, releases), or after one that it reports (holds, wrote, refused, gives_up). So the log
-- claims less than was true, never more.

local zk = require "zkrecipes"
local queue = require "dev.torture.queue"
local kinds = require "dev.torture.kinds"
local meetings = require "dev.torture.meetings"
local randoms = require "dev.torture.random"

local hosts, namespace, timeout, coroutines, names, seed, stream, finish, ca = ...
timeout, coroutines = tonumber(timeout), tonumber(coroutines)

local LOCKS = {}
for name in names:gmatch("%S+") do LOCKS[#LOCKS + 1] = name end
local PATIENCE = 60 -- seconds that a coroutine waits if it wants the lock in any case

io.stdout:setvbuf("line") -- one write per line: the file has all that was logged before a kill -9
local over = false

local function note_at(time, name, ...)
  io.write(table.concat({ string.format("%.6f", time), name, ... }, " "), "\n")
end

local function note(name, ...)
  note_at(zk.now(), name, ...)
end

-- ---- A hold ------------------------------------------------------------------------------------

-- The first check notes the time after it, every later one the time before it. From the first to the last noted time the hold was certainly
-- valid, because a hold that has ended never becomes valid again.
local function begins(turn)
  local valid = turn.hold:valid()
  note(turn.name, valid and "valid" or "invalid")
  return valid
end

local function still(turn)
  local time = zk.now()
  local valid = turn.hold:valid()
  note_at(time, turn.name, valid and "valid" or "invalid")
  return valid
end

local function write(turn, send)
  local value = turn.known + 1
  local data = value .. " " .. turn.hold.token
  note(turn.name, "writes", value)
  local stat, _, code = send(turn.register, data)
  turn.written = stat and data or nil
  if stat then
    turn.known = value
    note(turn.name, "wrote", value, stat.mzxid)
  else
    note(turn.name, "refused", value, code)
  end
end

-- Reads the register and writes one more. Correct only as long as no other process writes in between.
local function add_one(turn)
  local data, _, code = turn.session:get(turn.register)
  if code then return note(turn.name, "unread", code) end
  if not still(turn) then return end
  turn.known = tonumber(data:match("^%d+"))
  write(turn, function(...) return turn.hold:set(...) end)
end

-- Writes with a hold that is lost. hold:set knows of the loss and sends no request. So half of the coroutines send a multi with a check of
-- the znode through the new session. The server must refuse it, unless the znode still exists. (Our lease ends before the session on the
-- server. As long as the znode exists, no other contender is granted.) The znode of the unfair lock has the same name for all contenders,
-- so such a check proves nothing there.
local function write_stale(turn)
  if not turn.known then return end
  if turn.which == "unfair" or turn.random:chance(0.5) then
    return write(turn, function(...) return turn.hold:set(...) end)
  end
  write(turn, function(path, data)
    local results, message, code = turn.session:multi { { "check", turn.hold.path }, { "set", path, data } }
    return results and results[2], message, code
  end)
end

-- Reads the register twice; it must not change meanwhile. `expected`: its value; nil: any value.
local function read_same(hold, session, name, random, expected)
  local before = session:get("/register-writer")
  zk.sleep(random:between(0, 0.05))
  local after = session:get("/register-writer")
  if not (before and after and hold:valid()) then return end
  local same = before == after and (expected == nil or before == expected)
  note(name, same and "read" or "torn", expected or "", before, after)
end

-- A writer becomes a reader, and reads what it has written.
local function downgrade(turn)
  local hold = turn.hold
  if not (hold.downgrade and turn.random:chance(0.2) and hold:downgrade()) then return end
  note(turn.name, "downgrades")
  read_same(hold, turn.session, turn.name, turn.random, turn.written)
end

-- Some coroutines hold the lock for long, so that faults meet a holder. Several only hold the pool for long, so that it is full.
local function work(turn)
  local random = turn.random
  local long = random:chance(0.015)
  local rounds = long and 10 or math.floor(random:between(1, 3.5))
  local shared = turn.which == "pool"
  local valid = begins(turn)
  while valid and rounds > 0 do
    if not shared then add_one(turn) end
    zk.sleep((long or shared) and random:between(0.05, 0.15) or random:between(0, 0.01))
    rounds, valid = rounds - 1, still(turn)
  end
  if not (valid or shared) then write_stale(turn) end
  if valid and turn.which == "writer" then downgrade(turn) end
end

-- ---- A turn ------------------------------------------------------------------------------------

-- Most attempts wait without a limit, some only try, some have a short limit.
local function limit_of(random)
  local dice = random:next()
  if dice < 0.1 then return 0 end
  return dice < 0.25 and random:between(0.05, 2) or PATIENCE
end

-- Shares the read/write lock: while it is held, no process writes.
local function read_twice(session, name, random)
  local hold = session:rwlock("/locks/writer"):read(limit_of(random))
  if not hold then return end
  read_same(hold, session, name, random)
  hold:release()
end

local function take_turn(session, locks, name, random)
  local which, limit = random:pick(LOCKS), limit_of(random)
  if which == "writer" and random:chance(0.4) then return read_twice(session, name, random) end
  note(name, "waits", which)
  local hold, _, code = kinds.take(session, locks, which, limit, random)
  if not hold then
    note(name, "gives_up", code)
    return zk.sleep(random:between(0, 0.1))
  end
  note(name, "holds", hold.token)
  if which == "pool" then note(name, "permits", hold.permits) end
  work { session = session, hold = hold, name = name, random = random, which = which, register = "/register-" .. which }
  note(name, "releases")
  hold:release()
end

local function contend(session, locks, name)
  local random = randoms.new(seed, stream * 1000 + name)
  while not over do
    take_turn(session, locks, name, random)
  end
end

-- ---- The process -------------------------------------------------------------------------------

local function tell_states(session)
  local state, seen = session:next_state(0)
  while state do
    note(0, "state", state, session.id or "-")
    state, seen = session:next_state(seen)
  end
end

-- Sometimes all waiters of a lock are told to give up at once.
local function cancel_now_and_then(locks)
  local random = randoms.new(seed, stream * 1000)
  while not over do
    zk.sleep(random:between(0.5, 6))
    locks[random:pick(LOCKS)]:cancel()
  end
end

local function await_end()
  while not over do
    zk.sleep(0.1)
    local file = io.open(finish)
    over = file ~= nil
    if file then file:close() end
  end
end

zk.run(function()
  local session = zk.session { hosts = hosts, timeout = timeout, tick = 0.5, namespace = namespace,
    tls = ca ~= "" and { ca = ca } }
  zk.spawn(tell_states, session)
  local locks, tasks, random = {}, { await_end }, randoms.new(seed, stream)
  for _, which in ipairs(LOCKS) do locks[which] = kinds.make(session, which, random) end
  for name = 1, coroutines do
    tasks[#tasks + 1] = function() contend(session, locks, name) end
  end
  tasks[#tasks + 1] = function() cancel_now_and_then(locks) end
  local life = { over = function() return over end, tag = ("%d-%.6f"):format(stream, zk.now()), random = random }
  for _, part in ipairs { queue, meetings } do
    for _, task in ipairs(part.tasks(session, life, function(...) note(0, ...) end)) do tasks[#tasks + 1] = task end
  end
  zk.all(tasks)
  session:close()
  note(0, "ends")
end)
