-- Decides which worker of a host writes a shared tree into the dictionary. At most one process writes at any time.
--
-- A worker that wants to write becomes the next *writer*. Writers are numbered; only the last one may write. The keys, each behind the
-- tree's prefix:
--
--   #writer:N   the process of writer N: its pid, when it was started (/proc), when it became the writer; pid 0: it has left
--   #busy:N     writer N is writing
--   #begun      the number of the last writer that has begun to write
--   #beat       a writer's number, and when it wrote last
--
-- 1. A worker looks at the last writer. It may become the next one if that process has left, is dead, or has not written for STALE seconds.
--    `add` is atomic, so only one worker gets the number.
-- 2. Each time that a writer writes, it sets its #busy first. Then it looks whether there is a later writer; if so, it does not write, and
--    ends. It makes #busy false when it has written: in place, so that the next time needs no memory.
-- 3. A new writer waits until no earlier writer is busy, unless that is known to be dead. Then it writes, and moves #begun.
--
-- Why two processes never write at the same time: all keys are in one memory, and each access to it locks the dictionary, so all
-- processes see one order. Either the earlier writer sees the new one in 2 and does not write, or the new one was added after that look;
-- then the new writer finds #busy in 3, and waits. It takes no clock for that: STALE only decides when another worker tries.
--
-- What can go wrong: a process is killed while it is busy: it is dead, so 3 does not wait for it. It is stopped (SIGSTOP) while it is busy:
-- no process writes until it goes on or dies; the readers see that in the age. A new process has its pid: the start time differs. It
-- cannot be told whether a process is dead (processes.lua): then it counts as one that lives. A worker was slow, and takes a number that
-- was deleted meanwhile: #begun is beyond it, so it gives the number up. The dictionary is full: there is no writer.

local clock = require "zkrecipes.openresty.shared.clock"
local core = require "zkrecipes.core"
local processes = require "zkrecipes.openresty.shared.processes"

local M = {}

local STALE = 10 -- seconds
local EARLIER = 8 -- writers whose keys may have been left, because a process was killed while it deleted them

local Writer = {}
Writer.__index = Writer

-- ---- Processes ---------------------------------------------------------------------------------

-- The texts have one length, so that the dictionary replaces them in place, which needs no memory.
local function writer_text(pid, start) return ("%010d %20s %016.3f"):format(pid, start, clock.now()) end

local function holder_of(text)
  local pid, start, at = (text or ""):match("^(%d+) +(%d+) ([%d.]+)$")
  return tonumber(pid), start, tonumber(at)
end

-- False if this text names no process, or this one, or one that is known to be dead.
local function may_live(writer, text)
  local pid, start = holder_of(text)
  if not pid or pid == 0 or pid == writer.pid and start == writer.start then return false end
  local now, dead = processes.started(pid)
  if now then return now == start end
  return not dead
end

-- ---- Taking ------------------------------------------------------------------------------------

-- Nil: /proc cannot be read now.
function M.new(dict, prefix)
  local pid = ngx.worker.pid()
  local start = processes.started(pid)
  if not start then return nil end
  return setmetatable({ dict = dict, prefix = prefix, pid = pid, start = start, active = false }, Writer)
end

local function key(writer, kind, number) return writer.prefix .. kind .. (number or "") end

local function begun(writer) return writer.dict:get(key(writer, "#begun")) or 0 end

-- The last number.
local function last(writer)
  local number = begun(writer)
  while writer.dict:get(key(writer, "#writer:", number + 1)) do number = number + 1 end
  return number
end

local function is_free(writer, number)
  local text = writer.dict:get(key(writer, "#writer:", number))
  if not may_live(writer, text) then return true end
  local _, _, seen = holder_of(text)
  local beat_number, beat = (writer.dict:get(key(writer, "#beat")) or ""):match("^(%d+) ([%d.]+)$")
  if tonumber(beat_number) == number then seen = math.max(seen, tonumber(beat)) end
  return clock.now() - seen > STALE
end

-- True if this process is the next writer. Otherwise nil; and "no memory", if that is why.
function Writer:take()
  local number = last(self)
  if not is_free(self, number) then return nil end
  number = number + 1
  local name = key(self, "#writer:", number)
  local done, problem = self.dict:safe_add(name, writer_text(self.pid, self.start))
  if not done then return nil, problem ~= "exists" and problem or nil end
  if begun(self) > number then
    self.dict:delete(name)
    return nil
  end
  self.number, self.active = number, false
  return true
end

-- ---- Writing -----------------------------------------------------------------------------------

-- True if no earlier writer writes any more.
local function is_alone(writer)
  for number = begun(writer), writer.number - 1 do
    local text = writer.dict:get(key(writer, "#writer:", number))
    if writer.dict:get(key(writer, "#busy:", number)) and may_live(writer, text) then return false end
  end
  return true
end

local function forget_others(writer, from)
  for number = from, writer.number - 1 do
    writer.dict:delete(key(writer, "#writer:", number))
    writer.dict:delete(key(writer, "#busy:", number))
  end
end

-- Moves #begun to this writer. True; or nil and why not.
local function activate(writer)
  if not is_alone(writer) then
    writer.dict:replace(key(writer, "#writer:", writer.number), writer_text(writer.pid, writer.start)) -- in place
    return nil, "wait"
  end
  local before = begun(writer)
  if not writer.dict:safe_set(key(writer, "#begun"), writer.number) then return nil, "no_memory" end
  forget_others(writer, math.max(before - EARLIER, 1))
  writer.active = true
  return true
end

-- Begins to write. Until `finish` the caller must not wait. True; or nil and why not: "over" (there is a later writer), "wait"
-- (an earlier one still writes; call it again), "no_memory" (call it again).
function Writer:begin()
  local busy = key(self, "#busy:", self.number)
  local done, why = self.dict:safe_set(busy, true), "no_memory"
  if done and (self.dict:get(key(self, "#writer:", self.number + 1)) or begun(self) > self.number) then done, why = nil, "over" end
  if done and not self.active then done, why = activate(self) end
  if done and not self.dict:safe_set(key(self, "#beat"), ("%010d %016.3f"):format(self.number, clock.now())) then
    done, why = nil, "no_memory"
  end
  if done then return true end
  self:finish()
  return nil, why
end

function Writer:finish() self.dict:replace(key(self, "#busy:", self.number), false) end -- in place

-- Ends, so that another worker becomes the next writer at once.
function Writer:leave()
  self.dict:replace(key(self, "#writer:", self.number), writer_text(0, "0")) -- in place
  self:finish()
end

core.own(debug.getinfo(1, "S").source)
return M
