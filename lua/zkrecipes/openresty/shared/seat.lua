-- Decides which worker of a host writes a shared tree into the dictionary. At most one process writes at any time.
--
-- Each watching worker has a seat. Seats are numbered; the one with the highest number may write. The keys, each behind the tree's prefix:
--
--   #seat:N   the process in seat N: its pid, when it was started (/proc), when it took the seat; pid 0: it has left
--   #busy:N   the process in seat N is writing
--   #turn     the number of the last seat whose process began to write
--   #beat     a seat's number, and when its process wrote last
--
-- 1. A worker looks at the last seat. It may take the next one if that process has left, is dead, or has not written for STALE seconds.
--    `add` is atomic, so only one worker gets it.
-- 2. Each time that a process writes, it sets its #busy first. Then it looks whether there is a later seat; if so, it does not write, and
--    ends. It makes #busy false when it has written: in place, so that the next time needs no memory.
-- 3. A process that has a new seat waits until no process in an earlier seat is busy and alive. Then it writes, and moves #turn.
--
-- Why two processes never write at the same time: all keys are in one memory, and each access to it locks the dictionary, so all
-- processes see one order. Either the old process sees the new seat in 2 and does not write, or the new seat was added after that look;
-- then the new process finds #busy in 3, and waits. It takes no clock for that: STALE only decides when another worker tries.
--
-- What can go wrong: a process is killed while it is busy: it is dead, so 3 does not wait for it. It is stopped (SIGSTOP) while it is busy:
-- no process writes until it goes on or dies; the readers see that in the age. A new process has its pid: the start time differs. A worker
-- was slow, and takes a seat that was deleted meanwhile: #turn is beyond it, so it gives the seat up. The dictionary is full: no seat.

local clock = require "zkrecipes.openresty.shared.clock"
local core = require "zkrecipes.core"

local M = {}

local STALE = 10 -- seconds
local EARLIER = 8 -- seats whose keys a process may have left, because it was killed while it deleted them

local Seat = {}
Seat.__index = Seat

-- ---- Processes ---------------------------------------------------------------------------------

-- When the process was started, in ticks since the boot; nil: it is dead, or was not reaped yet.
local function started(pid)
  local file = io.open("/proc/" .. pid .. "/stat")
  local text = file and file:read("*a")
  if file then file:close() end
  local state, rest = (text or ""):match("^.*%) (%a) (.*)$")
  if not state or state:find("[ZX]") then return nil end
  local at = 3 -- the number of the field in `state`
  for field in rest:gmatch("%S+") do
    at = at + 1
    if at == 22 then return field end
  end
end

-- The texts have one length, so that the dictionary replaces them in place, which needs no memory.
local function seat_text(pid, start) return ("%010d %20s %016.3f"):format(pid, start, clock.now()) end

local function holder_of(text)
  local pid, start, at = (text or ""):match("^(%d+) +(%d+) ([%d.]+)$")
  return tonumber(pid), start, tonumber(at)
end

-- The process of this seat is another one, and lives.
local function lives(seat, text)
  local pid, start = holder_of(text)
  if not pid or pid == 0 or pid == seat.pid and start == seat.start then return false end
  return started(pid) == start
end

-- ---- Taking ------------------------------------------------------------------------------------

function M.new(dict, prefix)
  local pid = ngx.worker.pid()
  local start = started(pid)
  if not start then core.misuse("shared_tree needs /proc: it tells which processes live") end
  return setmetatable({ dict = dict, prefix = prefix, pid = pid, start = start, active = false }, Seat)
end

local function key(seat, kind, number) return seat.prefix .. kind .. (number or "") end

local function turn(seat) return seat.dict:get(key(seat, "#turn")) or 0 end

-- The last number.
local function last(seat)
  local number = turn(seat)
  while seat.dict:get(key(seat, "#seat:", number + 1)) do number = number + 1 end
  return number
end

local function is_free(seat, number)
  local text = seat.dict:get(key(seat, "#seat:", number))
  if not lives(seat, text) then return true end
  local _, _, seen = holder_of(text)
  local beat_number, beat = (seat.dict:get(key(seat, "#beat")) or ""):match("^(%d+) ([%d.]+)$")
  if tonumber(beat_number) == number then seen = math.max(seen, tonumber(beat)) end
  return clock.now() - seen > STALE
end

-- True if this process has got the next seat. Otherwise nil; and "no memory", if that is why.
function Seat:take()
  local number = last(self)
  if not is_free(self, number) then return nil end
  number = number + 1
  local name = key(self, "#seat:", number)
  local done, problem = self.dict:safe_add(name, seat_text(self.pid, self.start))
  if not done then return nil, problem ~= "exists" and problem or nil end
  if turn(self) > number then
    self.dict:delete(name)
    return nil
  end
  self.number, self.active = number, false
  return true
end

-- ---- Writing -----------------------------------------------------------------------------------

-- The processes before this one write no more.
local function is_alone(seat)
  for number = turn(seat), seat.number - 1 do
    local text = seat.dict:get(key(seat, "#seat:", number))
    if seat.dict:get(key(seat, "#busy:", number)) and lives(seat, text) then return false end
  end
  return true
end

local function forget_others(seat, from)
  for number = from, seat.number - 1 do
    seat.dict:delete(key(seat, "#seat:", number))
    seat.dict:delete(key(seat, "#busy:", number))
  end
end

-- Moves #turn to this seat. True; or nil and why not.
local function activate(seat)
  if not is_alone(seat) then
    seat.dict:replace(key(seat, "#seat:", seat.number), seat_text(seat.pid, seat.start)) -- in place
    return nil, "wait"
  end
  local before = turn(seat)
  if not seat.dict:safe_set(key(seat, "#turn"), seat.number) then return nil, "no_memory" end
  forget_others(seat, math.max(before - EARLIER, 1))
  seat.active = true
  return true
end

-- Begins to write. Until `finish` the caller must not wait. True; or nil and why not: "over" (another process has the next seat), "wait"
-- (one before still writes; call it again), "no_memory" (call it again).
function Seat:begin()
  local busy = key(self, "#busy:", self.number)
  local done, why = self.dict:safe_set(busy, true), "no_memory"
  if done and (self.dict:get(key(self, "#seat:", self.number + 1)) or turn(self) > self.number) then done, why = nil, "over" end
  if done and not self.active then done, why = activate(self) end
  if done and not self.dict:safe_set(key(self, "#beat"), ("%010d %016.3f"):format(self.number, clock.now())) then
    done, why = nil, "no_memory"
  end
  if done then return true end
  self:finish()
  return nil, why
end

function Seat:finish() self.dict:replace(key(self, "#busy:", self.number), false) end -- in place

-- Gives the seat up, so that another worker takes the next one at once.
function Seat:leave()
  self.dict:replace(key(self, "#seat:", self.number), seat_text(0, "0")) -- in place
  self:finish()
end

core.own(debug.getinfo(1, "S").source)
return M
