-- A server that speaks the protocol as a script says: it answers the handshake, `sync`, pings and the end of the session correctly, and
-- everything else by a function of the spec. It runs in a coroutine of the built-in host. Needs lua-socket.

local socket = require "socket"
local zk = require "zkrecipes"
local idling = require "spec.support.idling"
local wire = require "spec.support.wire"

local M = {}
local int, text = wire.int, wire.text

local NAMES = {}
for name, number in pairs(wire.OPS) do NAMES[number] = name end
NAMES[6], NAMES[7], NAMES[100] = "get_acl", "set_acl", "auth"

function M.long(n) return int(0) .. int(n) end

---A znode's stat; `fields` may name czxid, version, owner.
function M.stat(fields)
  fields = fields or {}
  return M.long(fields.czxid or 1) .. M.long(1) .. M.long(0) .. M.long(0) .. int(fields.version or 0) .. int(0) .. int(0)
    .. M.long(fields.owner or 0) .. int(0) .. int(0) .. M.long(1)
end

---A whole frame.
function M.frame(body) return int(#body) .. body end

---The frame of an answer.
function M.answer(xid, body, err) return M.frame(int(xid) .. M.long(1) .. int(err or 0) .. (body or "")) end

local PIECE = ("x"):rep(65536)

---The frame of an answer to `xid` with `bytes` bytes in all, its header of 16 included: `head`, many x, `tail`. It is a list of strings. In
---one string, such an answer would be copied five times, and the thread sanitizer looks at each byte of a copy.
function M.large_answer(xid, bytes, head, tail)
  local missing = bytes - 16 - #head - #tail
  local parts = { int(bytes) .. int(xid) .. M.long(1) .. int(0) .. head }
  for _ = 1, math.floor(missing / #PIECE) do parts[#parts + 1] = PIECE end
  parts[#parts + 1] = PIECE:sub(1, missing % #PIECE) .. tail
  return parts
end

---The frame of an event.
function M.event(kind, path) return M.answer(-1, int(kind) .. int(3) .. text(path)) end

local Server = {}
Server.__index = Server

---True if the client has connected once more, and not oftener. If the log says that the server was late, there may be more.
function Server:was_left_once(log)
  return self.connections == 2 or self.connections > 2 and table.concat(log):find("did not answer", 1, true) ~= nil
end

local function shake_hands(server)
  server.connections = server.connections + 1
  server.greet()
  return M.frame(int(0) .. int(server.timeout) .. M.long(server.id) .. text(("p"):rep(16)) .. "\0")
end

local function answer(server, body)
  local xid, op, rest = wire.to_int(body, 1), wire.to_int(body, 5), body:sub(9)
  local name = NAMES[op] or op
  local path = rest:sub(5, 4 + wire.to_int(rest .. "\0\0\0\0", 1))
  if name == "ping" then return M.answer(-2) end
  server.counts[name] = (server.counts[name] or 0) + 1
  local own = server.script(name, xid, path, server)
  if own then return own end
  if name == "close" or name == "auth" then return M.answer(xid) end
  return M.answer(xid, text(path))
end

-- A large answer does not fit into the socket at once.
local function send_string(sock, out)
  local sent, why, part = sock:send(out)
  while not sent and why == "timeout" do
    zk.sleep(0.001)
    sent, why, part = sock:send(out, part + 1)
  end
  return sent
end

-- out: a string, a list of them, or a function that returns the next one.
local function send(sock, out)
  if type(out) == "string" then return send_string(sock, out) end
  local at = 0
  local function following()
    at = at + 1
    return out[at]
  end
  for part in type(out) == "function" and out or following do
    if not send_string(sock, part) then return nil end
  end
  return true
end

-- Handles one request after the other; `nil` when the connection has ended.
local function serve(server, sock)
  local input, greeted, drops, idle = "", false, server.drops, idling()
  while not server.stopped and server.drops == drops do
    local got, why, part = sock:receive(4096)
    input = input .. (got or part or "")
    while #input >= 4 and #input >= 4 + wire.to_int(input, 1) do
      local length = wire.to_int(input, 1)
      local out = greeted and answer(server, input:sub(5, 4 + length)) or shake_hands(server)
      local ended = greeted and wire.to_int(input, 9) == wire.OPS.close
      greeted, input = true, input:sub(5 + length)
      if not send(sock, out) or ended then why = "closed" break end
    end
    if why == "closed" then break end
    local talks = greeted and server.events
    if talks then send(sock, server.events) end
    if talks then zk.sleep(0.001) else idle(got or part ~= "") end
  end
  sock:receive(1000000) -- what is unread would make a reset of the end
  sock:close()
end

local function nothing() end

-- Starts a server. `script(op, xid, path, server)` returns what to send for a request (see `send`); nil: the usual answer.
-- `greet()` is called before each handshake is answered; both may wait. While server.events is set, it is sent again and again.
function M.start(script, greet)
  local listener = assert(socket.bind("127.0.0.1", 0))
  listener:settimeout(0)
  local _, port = listener:getsockname()
  local server = setmetatable({ script = script, greet = greet or nothing, connections = 0, drops = 0, counts = {}, id = 77,
    timeout = 10000, hosts = "127.0.0.1:" .. port }, Server)
  zk.spawn(function()
    local idle = idling()
    while not server.stopped do
      local sock = listener:accept()
      if sock then
        sock:settimeout(0)
        sock:setoption("tcp-nodelay", true)
        zk.spawn(serve, server, sock)
      end
      idle(sock ~= nil)
    end
    listener:close()
  end)
  return server
end

function Server:stop() self.stopped = true end

-- Ends all connections; new ones are accepted.
function Server:drop() self.drops = self.drops + 1 end

return M
