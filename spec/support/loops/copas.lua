-- The loop of copas, 1 and 4, for the contract of adapters (spec/adapters/contract.lua).

local copas = require "copas"
local socket = require "socket"

local M = { ends = copas.finished ~= nil, sleep = copas.pause }

local sleepers = {}

-- copas 1 has no sleep. A coroutine waits for a socket there, so this is a socket that becomes "dirty" in time.
local function sleep_on_socket(seconds)
  local udp, at = socket.udp4(), socket.gettime() + seconds
  local sleeper = { at = at, close = function() end }
  function sleeper.getfd() return udp:getfd() end
  function sleeper.dirty() return socket.gettime() >= at end
  function sleeper.receive() return socket.gettime() >= at and 1 or nil, "timeout" end
  sleepers[sleeper] = true
  copas.receive(sleeper, 1)
  sleepers[sleeper] = nil
  udp:close()
end

M.sleep = M.sleep or sleep_on_socket

function M.start(fn) copas.addthread(fn) end

function M.run(limit, over)
  local deadline = socket.gettime() + limit
  while not over() and socket.gettime() < deadline do
    local next_at = deadline
    for sleeper in pairs(sleepers) do next_at = math.min(next_at, sleeper.at) end
    copas.step(math.max(next_at - socket.gettime(), 0))
    if M.ends and copas.finished() then return true end
  end
  return false
end

return M
