-- Faults that wait for a certain request: "the n-th create2 from now on". A fault strikes once.
--
--   drop_request  the connection ends before the request reaches the server (earlier requests do reach it)
--   drop_reply    the server gets and does the request; its answer is dropped and the connection ends
--   hold          the request, and all behind it on its connection, waits in the proxy until released
--   hold_reply    its answer, and all behind it, waits in the proxy until released
--   die           as drop_reply, and new connections are refused until `heal`
--   new_session   (of connect only) the server is not told which session the client has, and begins a new one

local frames = require "proxy.frames"

local M = {}

M.KINDS = { drop_request = true, drop_reply = true, hold = true, hold_reply = true, die = true, new_session = true }

local Faults = {}
Faults.__index = Faults

function M.new()
  return setmetatable({ armed = {}, fired = 0 }, Faults)
end

---Arms a fault.
---@param kind string one of KINDS
---@param op string name of a request; "*" for any that is not sent by the clock
---@param n integer which one, counted from now
function Faults:arm(kind, op, n)
  table.insert(self.armed, { kind = kind, op = op, left = n })
end

function Faults:clear()
  self.armed, self.fired = {}, 0
end

local function concerns(fault, name)
  return fault.op == name or fault.op == "*" and frames.by_call(name)
end

---Shows a request to the armed faults.
---@param name string
---@return string|nil kind of the fault whose moment this is
function Faults:strike(name)
  local struck
  for i = #self.armed, 1, -1 do
    local fault = self.armed[i]
    if concerns(fault, name) then
      fault.left = fault.left - 1
      if fault.left <= 0 and not struck then struck = table.remove(self.armed, i) end
    end
  end
  return struck and struck.kind
end

return M
