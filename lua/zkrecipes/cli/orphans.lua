-- What is left of a command when its minder was killed: zkr is the reaper of such processes, and kills them all. The minders of its other
-- commands are its children too.

local core = require "zkrecipes.core"

local M = {}

local PAUSE, PASSES = 10, 100 -- milliseconds after so many passes in which no process has ended

local adopted = false

-- From now on processes whose parents die become children of zkr, unless a minder is nearer. Adds those children to `spared` that zkr has
-- already: of a shell that has become zkr (`helper & exec zkr`).
function M.adopt(spared)
  if adopted then return end
  adopted = true
  local file = io.open "/proc/thread-self/children"
  for pid in file:read("a"):gmatch "%d+" do spared[tonumber(pid)] = true end
  file:close()
  core.adopt_orphans()
end

-- nil, or why zkr could not find them.
function M.problem(uv)
  if tonumber(uv.fs_readlink "/proc/self" or "") ~= uv.os_getpid() then
    return "/proc is not mounted, or belongs to other processes (`unshare --mount-proc`)"
  end
  if not uv.fs_stat "/proc/thread-self/children" then
    return "this kernel does not list the children of a process (CONFIG_PROC_CHILDREN)"
  end
end

-- A process that has become another user's (sudo) cannot be killed, so all there is to do is to say so, once.
local function tell(pid, told)
  if pid == 0 or told[pid] then return end
  told[pid] = true
  io.stderr:write(("zkr: process %d of the command is another user's, so zkr cannot end it, and waits for it\n"):format(pid))
end

-- Kills the children of zkr, and those that become its children thereby, until none is left but `spared` (process id > true). Blocks.
function M.kill(uv, spared)
  local told, idle = {}, 0
  repeat
    local met, reaped, foreign = core.kill_orphans(spared)
    tell(foreign, told)
    idle = reaped > 0 and 0 or idle + 1
    if met > 0 and idle > PASSES then uv.sleep(PAUSE) end
  until met == 0
end

return M
