-- What is left of a command when its minder was killed: zkr is the reaper of such processes, and kills them all. The minders of its other
-- commands are its children too.

local core = require "zkrecipes.core"

local M = {}

local PAUSE, PASSES = 10, 100 -- milliseconds after so many passes in which no process has ended

-- From now on processes whose parents die become children of zkr, unless a minder is nearer.
M.adopt = core.adopt_orphans

-- A process that has become another user's (sudo) cannot be killed, so all there is to do is to say so, once.
local function tell(pid, told)
  if pid == 0 or told[pid] then return end
  told[pid] = true
  io.stderr:write(("zkr: process %d of the command is another user's, so zkr cannot end it, and waits for it\n"):format(pid))
end

-- Kills the children of zkr, and those that become its children thereby, until none is left but `minders` (process id > true). Blocks.
function M.kill(uv, minders)
  local told, idle = {}, 0
  repeat
    local met, reaped, foreign = core.kill_orphans(minders)
    tell(foreign, told)
    idle = reaped > 0 and 0 or idle + 1
    if met > 0 and idle > PASSES then uv.sleep(PAUSE) end
  until met == 0
end

return M
