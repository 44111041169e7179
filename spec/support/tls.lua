-- What the specs of TLS need: certificates of all kinds, servers that are not what they should be, and a relay that records what the client
-- sends.

local socket = require "socket"
local supervisor = require "zkrecipes.testing.supervisor"
local zk = require "zkrecipes"
local certificates = require "zkrecipes.testing.certificates"
local idling = require "spec.support.idling"
local process = require "spec.support.process"

local M = {}

-- A folder with a CA of its own, which the caller removes.
function M.folder()
  local folder = process.output("mktemp -d /tmp/zkrecipes-tls.XXXXXX"):match("%S+")
  assert(certificates.found(folder))
  return folder
end

function M.remove(folder) os.execute("rm -rf '" .. folder .. "'") end

-- A program of OpenSSL's that speaks TLS on a port: `flags` as for `openssl s_server`. It passes what it receives on to `behind`, a plain
-- server, and each part of the answers as one record.
function M.openssl_server(files, flags, behind)
  local port = supervisor.ports(1)[1]
  local plain = behind and behind:gsub("^(.*):(%d+)$", "/dev/tcp/%1/%2") or "/dev/null"
  local pid = process.output(
    ("bash -c \"exec openssl s_server -quiet -accept 127.0.0.1:%s -cert '%s' -key '%s' %s <>%s >&0\" >/dev/null 2>&1 & echo $!")
      :format(port, files.cert, files.key, flags or "", plain))
  local deadline = zk.now() + 100
  while zk.now() < deadline do
    local sock = socket.tcp()
    sock:settimeout(1)
    local up = sock:connect("127.0.0.1", port)
    sock:close()
    if up then break end
    zk.sleep(0.01)
  end
  return { hosts = "127.0.0.1:" .. port, stop = function() process.output("kill " .. pid) end }
end

-- ---- Servers of a coroutine ------------------------------------------------------------------------------------------------------------

local function listen(body, address)
  local listener = assert(socket.bind(address or "127.0.0.1", 0))
  listener:settimeout(0)
  local _, port = listener:getsockname()
  local server = { hosts = (address or "127.0.0.1") .. ":" .. port, port = port, connections = 0, sent = {} }
  function server.stop() server.stopped = true end
  zk.spawn(function()
    local idle = idling()
    while not server.stopped do
      local sock = listener:accept()
      if sock then
        sock:settimeout(0)
        server.connections = server.connections + 1
        server.sent[server.connections] = ""
        zk.spawn(body, server, sock, server.connections)
      end
      idle(sock ~= nil)
    end
    listener:close()
  end)
  return server
end

-- Reads what there is; nil: the end.
local function receive(sock)
  local got, why, part = sock:receive(65536)
  if got or part ~= "" then return got or part end
  return why == "timeout" and "" or nil
end

local function send(sock, bytes)
  local at = 1
  while at <= #bytes do
    local sent, why, part = sock:send(bytes, at)
    if not sent and why ~= "timeout" then return nil end
    at = (sent or part) + 1
    if at <= #bytes then zk.sleep(0.001) end
  end
  return true
end

-- Notes what the client sends, until it ends the connection.
local function note(server, sock, number)
  local got, idle = receive(sock), idling()
  while got and not server.stopped do
    server.sent[number] = server.sent[number] .. got
    idle(got ~= "")
    got = receive(sock)
  end
end

-- A server that says this when the client has said something, and then perhaps that it ends the connection; `text` nil: it says nothing.
function M.talker(text, ends)
  return listen(function(server, sock, number)
    local idle = idling()
    while server.sent[number] == "" and not server.stopped do
      server.sent[number] = receive(sock) or "the end"
      idle(false)
    end
    if text then send(sock, text) end
    if ends then sock:shutdown("send") end
    note(server, sock, number)
    sock:close()
  end)
end

-- A port that is full: the system drops each further attempt to connect.
function M.full()
  local listener = assert(socket.bind("127.0.0.1", 0, 0))
  local _, port = listener:getsockname()
  local waiting, connected = {}, true
  while connected do
    local sock = socket.tcp()
    sock:settimeout(0.5)
    connected = sock:connect("127.0.0.1", port)
    waiting[#waiting + 1] = sock
  end
  local function stop()
    for _, sock in ipairs(waiting) do sock:close() end
    listener:close()
  end
  return { hosts = "127.0.0.1:" .. port, stop = stop }
end

-- A relay in front of a server, on this address of the machine. relay.sent[i] is what the client has sent on its i-th connection.
-- relay.fault(count, bytes, i) may change what the server sends there, after `count` bytes, or return nil: the connection ends. relay.cut()
-- ends all connections.
function M.relay(hosts, address)
  local relay = listen(function(relay, sock, number)
    local generation, count, idle = relay.generation, 0, idling()
    local up = socket.connect(hosts:match("^(.*):(%d+)$"))
    if not up then return sock:close() end -- it restarts
    up:settimeout(0)
    sock:setoption("tcp-nodelay", true)
    up:setoption("tcp-nodelay", true)
    while not relay.stopped and relay.generation == generation do
      local from, to = receive(sock), receive(up)
      if not from or not to then break end
      relay.sent[number] = relay.sent[number] .. from
      if from ~= "" and not send(up, from) then break end
      if to ~= "" then
        local changed = relay.fault and relay.fault(count, to, number) or not relay.fault and to
        count = count + #to
        if not changed or not send(sock, changed) then break end
      end
      idle(from ~= "" or to ~= "")
    end
    -- What the client has sent until it hears of the end.
    sock:shutdown("send")
    note(relay, sock, number)
    sock:close()
    up:close()
  end, address)
  relay.generation = 0
  function relay.cut() relay.generation = relay.generation + 1 end
  return relay
end

-- Why these bytes are not a stream of TLS's records, or nil. The last record may be incomplete.
function M.problem(bytes)
  local at = 1
  while at + 4 <= #bytes do
    local kind, major, minor, high, low = bytes:byte(at, at + 4)
    if kind < 20 or kind > 23 or major ~= 3 or minor > 4 or high * 256 + low > 16384 + 256 then
      return ("at %d: %s"):format(at, (bytes:sub(at, at + 15):gsub(".", function(c) return ("%02x "):format(c:byte()) end)))
    end
    at = at + 5 + high * 256 + low
  end
end

-- Makes the server's bytes end, turn to zeroes, or change, at each of these places in turn: one fault for each connection of the relay.
-- Returns how many faults there are.
function M.spoil(relay, last, step)
  local faults = {}
  for at = 0, last, step do
    faults[#faults + 1] = { at = at, change = function() return nil end }
    faults[#faults + 1] = { at = at, change = function(bytes) return ("\0"):rep(#bytes) end }
    faults[#faults + 1] = { at = at, change = function(bytes) return (bytes:gsub("^.", "Z")) end }
  end
  relay.fault = function(count, bytes, number)
    local fault = faults[number]
    if not fault or count + #bytes <= fault.at then return bytes end
    local kept = math.max(0, fault.at - count)
    local rest = fault.change(bytes:sub(kept + 1))
    return rest and bytes:sub(1, kept) .. rest
  end
  return #faults
end

return M
