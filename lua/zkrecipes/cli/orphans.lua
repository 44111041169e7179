-- What is left of a command when its minder was killed: zkr is the reaper of such processes, and kills them all. The minders of its other
-- commands are its children too.

local core = require "zkrecipes.core"

local M = {}

local PAUSE = 10 -- milliseconds

-- From now on processes whose parents die become children of zkr, unless a minder is nearer.
M.adopt = core.adopt_orphans

local function read(path)
  local file = io.open(path)
  local text = file and file:read "a" or ""
  if file then file:close() end
  return text
end

local function lives(pid)
  local state = read("/proc/" .. pid .. "/stat"):match "%) (%a)"
  return state ~= nil and state ~= "Z" and state ~= "X"
end

-- The children of zkr, of all of its threads, that still run and are no minders.
local function children(uv, minders)
  local found, threads = {}, uv.fs_scandir "/proc/self/task"
  for thread in function() return uv.fs_scandir_next(threads) end do
    for pid in read("/proc/self/task/" .. thread .. "/children"):gmatch "%d+" do
      if lives(pid) and not minders[tonumber(pid)] then found[#found + 1] = tonumber(pid) end
    end
  end
  return found
end

-- A process that has become another user's (sudo) cannot be killed, so all there is to do is to say so, once.
local function kill_one(uv, pid, told)
  local _, _, code = uv.kill(pid, "sigkill")
  if code ~= "EPERM" or told[pid] then return end
  told[pid] = true
  io.stderr:write(("zkr: process %d of the command is another user's, so zkr cannot end it, and waits for it\n"):format(pid))
end

-- Kills the children of zkr, and those that become its children thereby, until none is left but `minders` (process id > true). Blocks.
function M.kill(uv, minders)
  local found, told = children(uv, minders), {}
  while #found > 0 do
    for _, pid in ipairs(found) do kill_one(uv, pid, told) end
    uv.sleep(PAUSE)
    found = children(uv, minders)
  end
end

return M
