-- One proxied connection: a client's socket, a socket to the server, and a flow of frames each way.
--
-- A flow passes on whole frames only, and all frames of one read in one write. So a fault always falls between two frames, and each side
-- has received exactly what the counters say. Behind the scan there is a queue, which is empty while the link is healthy. Delay and freeze
-- keep frames there; a black hole is a queue that drops them.

local uv = require "luv"
local frames = require "proxy.frames"

local M = {}
local END = {}

-- Milliseconds. Under `make shake` half of the requests are on their way to the server so long, at most.
local SHAKE = tonumber(os.getenv "SHAKE") or 0

local Flow = {}
Flow.__index = Flow

local Connection = {}
Connection.__index = Connection

local function new_flow(connection, way, from, to)
  return setmetatable({ connection = connection, way = way, from = from, to = to, buffer = "", queue = {},
    timer = uv.new_timer() }, Flow)
end

local function reset(handle)
  if handle:is_closing() then return end
  if not handle:close_reset() then handle:close() end
end

local function finish(handle)
  if handle:is_closing() then return end
  local function close() if not handle:is_closing() then handle:close() end end
  handle:read_stop()
  if not handle:shutdown(close) then close() end
end

function Flow:deliver(item)
  if item == END then
    local function flushed()
      self.done = true
      self.connection:close_when_done()
    end
    if self.to:is_closing() or not self.to:shutdown(flushed) then flushed() end
  elseif not self.to:is_closing() then
    self.to:write(item)
  end
end

function Flow:flush()
  local link = self.connection.link
  while self.queue[1] and not link.frozen[self.way] do
    local wait = self.queue[1].due - uv.now()
    if wait > 0 then return self.timer:start(wait, 0, function() self:flush() end) end
    self:deliver(table.remove(self.queue, 1).item)
  end
end

local function lag(way) return way == "up" and math.random(0, 1) * math.random(0, SHAKE) or 0 end

function Flow:emit(item)
  local link = self.connection.link
  local delay = link.delay + lag(self.way)
  if link.blackhole[self.way] then
    self.connection.lossy = true
  elseif delay == 0 and not link.frozen[self.way] and not self.queue[1] then
    self:deliver(item)
  else
    uv.update_time()
    table.insert(self.queue, { item = item, due = uv.now() + delay })
    self:flush()
  end
end

-- Each function returns nil to pass the frame on, or "cut", "hold" or "forget".
local inspect = {}

local function verdict(world, kind)
  world.faults.fired = world.faults.fired + 1
  if kind == "die" then world.refuse() end
  return kind:match("^hold") or "cut"
end

function inspect.up(connection, data, at, last)
  local world = connection.world
  local xid, name, path = "connect", "connect", ""
  if connection.greeted then xid, name, path = frames.request(data, at, last) end
  connection.greeted = true
  connection.asked[xid] = name
  world:note(connection, name, path)
  local kind = world.faults:strike(name)
  if kind == "drop_request" then return verdict(world, kind) end
  connection.open = connection.open + 1
  if kind == "new_session" then world.faults.fired = world.faults.fired + 1 return "forget" end
  if kind == "hold" then return verdict(world, kind) end
  if kind then connection.marked[xid] = kind end
end

function inspect.down(connection, data, at, last)
  local xid = "connect"
  if connection.session then
    xid = frames.reply(data, at, last)
  else
    connection.session = frames.session(data, at, last)
  end
  if xid == frames.EVENT then return connection:count("events") end
  connection:answered(xid)
  connection.open = connection.open - 1
  local kind = connection.marked[xid]
  if kind then
    connection.marked[xid] = nil
    return verdict(connection.world, kind)
  end
end

function Flow:obey(word, data, at)
  if at > 1 then self:emit(data:sub(1, at - 1)) end
  if word == "cut" then return self.connection:finish_after(self) end
  self.exempt = true
  if word == "forget" then
    self.buffer = frames.without_session(data:sub(at))
    return self:scan()
  end
  self.buffer, self.stalled = data:sub(at), true
end

function Flow:scan()
  local data, at = self.buffer, 1
  local last, raw = frames.last(data, at)
  while last do
    local word = not self.exempt and inspect[self.way](self.connection, data, at, last)
    self.exempt = false
    if word then return self:obey(word, data, at) end
    at = last + 1
    last, raw = frames.last(data, at)
  end
  if raw or self.connection.raw then self.connection.raw, at = true, #data + 1 end
  self.buffer = data:sub(at)
  if at > 1 then self:emit(at > #data and data or data:sub(1, at - 1)) end
  if self.ended then self:emit(END) end
  if self.connection.draining and self.connection.open == 0 then self.connection:finish() end
end

function Flow:release()
  if not self.stalled then return end
  self.stalled = false
  self:scan()
end

function Flow:receive(chunk)
  if chunk then
    self.connection:count("bytes_" .. self.way, #chunk)
    self.buffer = self.buffer .. chunk
  else
    if self.ended then return end
    self.ended = true
  end
  if not self.stalled then self:scan() end
  self.connection.world:changed()
end

function Flow:start()
  self.from:read_start(function(_, chunk) self:receive(chunk) end)
end

---Takes over a client's socket and connects it to the link's server.
---@param world table counters, faults, list of connections
---@param link table state of the listening port: port, delay, frozen, blackhole
---@param client userdata uv_tcp_t
function M.open(world, link, client)
  local server = uv.new_tcp()
  local self = setmetatable({ world = world, link = link, client = client, server = server, counts = {}, asked = {},
    marked = {}, open = 0 }, Connection)
  self.up, self.down = new_flow(self, "up", client, server), new_flow(self, "down", server, client)
  self.id = world:add(self)
  client:nodelay(true)
  server:connect("127.0.0.1", link.upstream, function(err)
    if err then return self:reset("both") end
    server:nodelay(true)
    self.up:start()
    self.down:start()
  end)
end

function Connection:count(name, amount)
  amount = amount or 1
  self.counts[name] = (self.counts[name] or 0) + amount
  self.world:count(name, amount)
end

-- Counts a request, unless the counters were reset after it was sent. Those without an xid of their own (ping, setWatches) share a negative
-- one.
function Connection:answered(xid)
  local name = self.asked[xid]
  if xid == "connect" or xid >= 0 then self.asked[xid] = nil end
  self:count("replies")
  if not name then return end
  self:count(name)
  if frames.by_call(name) then self:count("requests") end
end

---Is the client still there?
function Connection:live()
  return not self.up.ended and not self.client:is_closing()
end

function Connection:forget()
  for _, flow in ipairs{ self.up, self.down } do
    flow.queue, flow.buffer, flow.stalled, flow.ended = {}, "", false, true
    if not flow.timer:is_closing() then flow.timer:close() end
  end
  self.world:remove(self)
end

-- The end of the client's stream is passed on, and the server may still answer. The end of the server's stream ends the connection.
function Connection:close_when_done()
  if not self.down.done then return end
  for _, handle in ipairs{ self.client, self.server } do
    if not handle:is_closing() then handle:close() end
  end
  self:forget()
end

---Ends both sides; what was passed on before still arrives.
function Connection:finish()
  finish(self.client)
  finish(self.server)
  self:forget()
end

-- The end after a fault of `flow`. A request is cut off only after all requests before it were answered, so that what the client knows does
-- not depend on which side is faster.
function Connection:finish_after(flow)
  if flow.way == "down" or self.open == 0 then return self:finish() end
  self.client:read_stop()
  flow.buffer, self.draining = "", true
end

-- Ends it at once with a reset. With "client", only the client learns of it: frames in the proxy still go to the server. With "server", the
-- other way round.
---@param side "both"|"client"|"server"
function Connection:reset(side)
  if side == "both" then
    reset(self.client)
    reset(self.server)
    return self:forget()
  end
  reset(self[side])
  self[side == "client" and "up" or "down"]:receive(nil)
end

return M
