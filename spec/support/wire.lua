-- A minimal ZooKeeper client, for specs that must see single frames: blocking, one request at a time unless `send` and `receive` are called
-- separately, no heartbeats, no reconnect. Needs lua-socket.

local socket = require "socket"

local M = {}

local OPS = { create = 1, delete = 2, exists = 3, get = 4, set = 5, sync = 9, ping = 11, children = 12, create2 = 15,
  multi = 14, close = -11 }
M.OPS = OPS
M.EPHEMERAL, M.SEQUENTIAL = 1, 2

local function int(n)
  n = n % 4294967296
  return string.char(math.floor(n / 16777216), math.floor(n / 65536) % 256, math.floor(n / 256) % 256, n % 256)
end

local function text(s)
  return s and int(#s) .. s or int(-1)
end

local function to_int(s, at)
  local a, b, c, d = s:byte(at, at + 3)
  local n = ((a * 256 + b) * 256 + c) * 256 + d
  return n < 2147483648 and n or n - 4294967296
end

local function to_hex(s)
  return (s:gsub(".", function(c) return ("%02x"):format(c:byte()) end))
end

local function from_hex(s)
  return (s:gsub("%x%x", function(h) return string.char(tonumber(h, 16)) end))
end

M.int, M.text, M.to_int = int, text, to_int

local Client = {}
Client.__index = Client

---Connects and opens a session.
---@param hosts string the first address is used
---@param options? {timeout: integer, id: string, password: string, patience: number} session timeout in ms (10000), a
---session to take over, seconds to wait for any answer (200)
---@return table|nil client with `id`, `password`, `timeout` as the server said
---@return string? message
function M.connect(hosts, options)
  options = options or {}
  local host, port = hosts:match("^([^:,]+):(%d+)")
  local sock, message = socket.connect(host, tonumber(port))
  if not sock then return nil, message end
  sock:setoption("tcp-nodelay", true)
  sock:settimeout(options.patience or 200)
  local self = setmetatable({ sock = sock, xid = 0 }, Client)
  self:frame(int(0) .. from_hex(("0"):rep(16)) .. int(options.timeout or 10000) .. from_hex(options.id or ("0"):rep(16))
    .. text(from_hex(options.password or ("0"):rep(32))) .. "\0")
  local answer, why = self:read()
  if not answer then sock:close() return nil, why end
  self.timeout, self.id, self.password = to_int(answer, 5), to_hex(answer:sub(9, 16)), to_hex(answer:sub(21, 36))
  if self.timeout == 0 then sock:close() return nil, "expired" end
  return self
end

function Client:frame(body)
  return self.sock:send(int(#body) .. body)
end

function Client:read()
  local head, message = self.sock:receive(4)
  if not head then return nil, message end
  return self.sock:receive(to_int(head, 1))
end

---Sends a request without waiting.
---@return integer xid
function Client:send(op, payload)
  local xid = -2
  if op ~= "ping" then self.xid = self.xid + 1; xid = self.xid end
  self:frame(int(xid) .. int(OPS[op]) .. (payload or ""))
  return xid
end

---The next frame from the server.
---@return table|nil frame {xid=, err=, body=}
---@return string? message "closed", "timeout"
function Client:receive()
  local answer, message = self:read()
  if not answer then return nil, message end
  return { xid = to_int(answer, 1), err = to_int(answer, 13), body = answer:sub(17) }
end

---One request and its answer.
---@return integer|nil err 0 when it went well
---@return string body_or_message
function Client:request(op, payload)
  local xid = self:send(op, payload)
  local frame
  repeat
    local message
    frame, message = self:receive()
    if not frame then return nil, message end
  until frame.xid == xid
  return frame.err, frame.body
end

local OPEN_ACL = int(1) .. int(31) .. text("world") .. text("anyone")

function M.create_payload(path, data, flags)
  return text(path) .. text(data or "") .. OPEN_ACL .. int(flags or 0)
end

function Client:create(path, data, flags)
  local err, body = self:request("create2", M.create_payload(path, data, flags))
  return err, err == 0 and body:sub(5, 4 + to_int(body, 1)) or body
end

function Client:delete(path) return self:request("delete", text(path) .. int(-1)) end
function Client:exists(path, watch) return self:request("exists", text(path) .. (watch and "\1" or "\0")) end
function Client:sync(path) return self:request("sync", text(path)) end
function Client:ping() return self:request("ping") end

function Client:get(path, watch)
  local err, body = self:request("get", text(path) .. (watch and "\1" or "\0"))
  return err, err == 0 and body:sub(5, 4 + to_int(body, 1)) or body
end

---Closes the session.
function Client:close()
  local err = self:request("close")
  self.sock:close()
  return err
end

-- Drops the connection; the session lives on.
function Client:abandon()
  self.sock:close()
end

return M
