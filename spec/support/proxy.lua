-- The specs' handle on dev/proxy.lua: every call blocks until the proxy has done it.
--
--   local proxy = require "spec.support.proxy".start(server)
--   local session = zk.session{ hosts = proxy.hosts }
--   proxy:drop_reply("create2")            -- the server does the next create2, the client gets no answer
--   ...
--   proxy:wait_for("fired", 1)
--   assert.equal(2, proxy:counts().create2)
--
-- Counters: every request by name (create2, getChildren2, delete, multi, ping, ...); `heartbeat` is the sync of "/"; `requests` is their
-- sum without pings, heartbeats, removeWatches and connects; `replies`, `events`, `connections`, `bytes_up`, `bytes_down`. counts() counts
-- a request when the server has answered it, even if a fault then drops the answer: a watch is set, a write is done. sent() counts it when
-- the client has sent it. It may still be on its way then, and what another session does may come before it.

local socket = require "socket"

local M = {}

local ROOT = debug.getinfo(1, "S").source:match("^@(.*)spec/support/proxy%.lua$") or ""

local Proxy = {}
Proxy.__index = Proxy

local zero = { __index = function() return 0 end }

local function ports_of(upstream)
  local hosts, ports = type(upstream) == "table" and upstream.hosts or upstream, {}
  if type(hosts) ~= "string" then error("a proxy needs a test server, an ensemble or a host string", 3) end
  for port in hosts:gmatch(":(%d+)") do ports[#ports + 1] = port end
  return ports
end

-- The proxy connects to us, so we need not poll for it, and no file is left behind.
local function launch(ports)
  local listener = assert(socket.bind("127.0.0.1", 0))
  local _, port = listener:getsockname()
  local pipe = io.popen(("exec env -u LD_PRELOAD -u LUA_PATH -u LUA_CPATH lua5.4 '%sdev/proxy.lua' --control %s %s"):format(ROOT, port,
    table.concat(ports, " ")), "w")
  listener:settimeout(200)
  local control = listener:accept()
  listener:close()
  return pipe, control
end

---Starts a proxy in front of a server, or of each member of an ensemble.
---@param upstream table|string test server, ensemble, or "127.0.0.1:port,..."
---@return table proxy with `hosts`, and `members`: the address in front of each server
function M.start(upstream)
  local pipe, control = launch(ports_of(upstream))
  if not control then error("dev/proxy.lua did not start: is Debian's lua-luv installed?", 2) end
  control:setoption("tcp-nodelay", true)
  local members = {}
  for port in assert(control:receive("*l")):gmatch("%d+") do members[#members + 1] = "127.0.0.1:" .. port end
  return setmetatable({ pipe = pipe, control = control, members = members, hosts = table.concat(members, ",") }, Proxy)
end

local function ask(proxy, ...)
  assert(proxy.control:send(table.concat({ ... }, " ") .. "\n"))
  local line = assert(proxy.control:receive("*l"))
  local word, rest = line:match("^(%S+) ?(.*)$")
  if word == "ok" then return rest end
  return nil, rest
end

local function must(proxy, ...)
  local rest, message = ask(proxy, ...)
  if not rest then error("proxy: " .. message, 3) end
  return rest
end

local function parse(text)
  local counts = setmetatable({}, zero)
  for name, value in text:gmatch("(%S+)=(%S+)") do counts[name] = tonumber(value) or value end
  return counts
end

local function parts(text)
  local list = {}
  for part in text:gmatch("[^\t]+") do list[#list + 1] = part end
  return list
end

-- Counters since the start or the last reset, with the requests that were answered; a counter that never changed reads as 0.
function Proxy:counts() return parse(must(self, "counts")) end

-- The same, with all requests that were sent: for what has no answer yet, and for what must not be sent.
function Proxy:sent() return parse(must(self, "sent")) end

-- Sets the counters to zero and empties the trace. Requests that have no answer yet are not counted any more. Armed faults stay.
function Proxy:reset() must(self, "reset") end

---The last requests, oldest first: "connection name path".
---@return string[] lines
function Proxy:trace() return parts(must(self, "trace")) end

---Connections whose client is still there: { id=, member=, session=, and its own counters }.
function Proxy:connections()
  local list = parts(must(self, "connections"))
  for i, text in ipairs(list) do
    list[i] = parse(text)
    list[i].session = text:match("session=(%S+)")
  end
  return list
end

-- Ends all connections now, by a reset (or options.fin). With options.side = "client" the server is not told, and what the proxy holds back
-- still reaches it.
---@param options? {fin: boolean, side: "both"|"client"|"server", member: integer}
function Proxy:cut(options)
  options = options or {}
  must(self, "cut", options.fin and "fin" or "rst", options.side or "both", options.member or "")
end

---Refuses new connections, until `heal`.
---@param member? integer only this one
function Proxy:refuse(member) must(self, "refuse", member or "") end

-- Drops all bytes (or those of one direction) while connections stay open, until `heal`.
---@param way? true|"up"|"down" up is client to server
---@param member? integer only this one
function Proxy:blackhole(way, member) must(self, "blackhole", type(way) == "string" and way or "both", member or "") end

-- Keeps back all bytes (or those of one direction); `heal` delivers them late.
---@param way? true|"up"|"down"
---@param member? integer only this one
function Proxy:freeze(way, member) must(self, "freeze", type(way) == "string" and way or "both", member or "") end

-- Delays all bytes by so much each way, until `heal`.
---@param ms integer milliseconds
---@param member? integer only this one
function Proxy:delay(ms, member) must(self, "delay", ms, member or "") end

---Ends refuse, blackhole, freeze and delay. Connections that lost bytes in a black hole are cut.
---@param member? integer only this one
function Proxy:heal(member) must(self, "heal", member or "") end

---Each of these arms one fault for the n-th request of that name from now (default the next; "*" is any request but
---pings, heartbeats and connects). See dev/proxy/faults.lua.
for _, kind in ipairs{ "drop_request", "drop_reply", "hold", "hold_reply", "die", "new_session" } do
  Proxy[kind] = function(self, op, n) must(self, "fault", kind, op, n or 1) end
end

-- Releases everything that `hold` and `hold_reply` keep.
function Proxy:release() must(self, "release") end

---Disarms all faults and forgets how many struck.
function Proxy:clear() must(self, "clear") end

---How many faults have struck.
---@return integer count
function Proxy:fired() return tonumber(must(self, "fired")) end

---Waits until `count` faults have "fired", exactly `count` connections are "live", or a counter has reached `count`.
---@param what string "fired", "live" or the name of a counter of counts()
---@param count? integer default 1
---@param timeout? number seconds; by default a time that no busy machine takes
---@return integer|nil value
---@return string? message
function Proxy:wait_for(what, count, timeout)
  local rest, message = ask(self, "wait", what, count or 1, math.floor((timeout or 300) * 1000))
  if rest then return tonumber(rest) end
  return nil, ("proxy: waited for %s = %d: %s"):format(what, count or 1, message)
end

---Ends the proxy and every connection through it.
function Proxy:stop()
  if not self.pipe then return end
  self.control:close()
  self.pipe:close()
  self.pipe = nil
end

return M
