-- The signals that zkr gets while it runs commands. They go to the commands: one way for all commands of zkr that run one.
--
--   local relay = signals.relay(context [, heed])   from now on. heed(name, number, ends) is called first, in a coroutine; ends: the signal
--                                                   asks to end. If it returns true, nothing more is done
--   relay:add(child)      one more command (child.lua) that gets them
--   relay:remove(child)   its command has ended
--   relay:pass(number)    to all commands
--   relay:close()         signals do again what they did before
--
-- While no command runs, a signal that asks to end does what it did before, SIGTSTP stops zkr, and the others do nothing: what is meant for
-- the command must not end zkr between two commands. If all commands have been stopped at the terminal, zkr's job stops too.

local M = {}

local Relay = {}
Relay.__index = Relay

local SIGTSTP, SIGCONT = 20, 18
local MORE = { sigquit = 3, sigusr1 = 10, sigusr2 = 12, sigwinch = 28, sigtstp = SIGTSTP, sigcont = SIGCONT }
local ENDING = { sigint = true, sigterm = true, sighup = true, sigquit = true }

local function nothing() end

function Relay:pass(number)
  for child in pairs(self.children) do child:signal(number) end
end

local function heard(relay, name, number)
  local ends, runs = ENDING[name] == true, next(relay.children) ~= nil -- the command may end while `heed` waits
  if relay.heed(name, number, ends) then return end
  if runs then
    relay:pass(number)
  elseif ends then
    relay.before(name, number)
  elseif name == "sigtstp" then
    relay.context:suffer(name, number)
  end
end

-- Stops zkr's job. It runs on at once if the kernel sees that no shell could continue it.
local function stopped(relay, child)
  relay.children[child] = "stopped"
  for _, state in pairs(relay.children) do
    if state ~= "stopped" then return end
  end
  for each in pairs(relay.children) do relay.children[each] = "runs" end
  relay.context:suffer("sigtstp", SIGTSTP)
  relay:pass(SIGCONT)
end

function Relay:add(child)
  self.children[child] = "runs"
  child.on_stop = function() stopped(self, child) end
end

function Relay:remove(child) self.children[child] = nil end

function Relay:close() self.undo() end

function M.relay(context, heed)
  local relay = setmetatable({ context = context, heed = heed or nothing, children = {} }, Relay)
  relay.undo, relay.before = context:on_signal(function(name, number) heard(relay, name, number) end, MORE)
  return relay
end

return M
