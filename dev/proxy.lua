#!/usr/bin/env lua5.4
-- A TCP proxy between ZooKeeper clients and servers. It counts what passes, and breaks it on command.
--
--   lua5.4 dev/proxy.lua 2181 2182 2183
--
-- It listens once per server port given, prints "CONTROL PORT PORT ..." and obeys commands on the control port: one line each, answered by
-- a line "ok ..." or "error ..."; see `commands` below, and spec/support/proxy.lua for the client's side. With --control PORT first, it
-- connects to that port instead and writes "PORT PORT ..." there. All ports are on 127.0.0.1. It ends when its standard input or its parent
-- ends, so no proxy survives its test.

local root = arg[0]:match("^(.*)/[^/]*$") or "."
package.path = root .. "/?.lua;" .. root .. "/../lua/?.lua;" .. package.path

local uv = require "luv"
local connection = require "proxy.connection"
local faults = require "proxy.faults"
local frames = require "proxy.frames"
local supervisor = require "zkrecipes.testing.supervisor"

local TRACE = 5000

local world = { counts = {}, sent = {}, connections = {}, waiters = {}, faults = faults.new(), trace = {}, last_id = 0 }
local links = {}

function world:count(name, amount)
  self.counts[name] = (self.counts[name] or 0) + amount
end

function world:note(from, name, path)
  self.sent[name] = (self.sent[name] or 0) + 1
  if frames.by_call(name) then self.sent.requests = (self.sent.requests or 0) + 1 end
  if #self.trace >= TRACE then self.trace = table.move(self.trace, TRACE // 2, #self.trace, 1, {}) end
  table.insert(self.trace, ("%d %s %s"):format(from.id, name, (path:gsub("%c", "?"))))
end

function world:add(one)
  self.last_id = self.last_id + 1
  self.connections[self.last_id] = one
  self:count("connections", 1)
  return self.last_id
end

function world:remove(one)
  self.connections[one.id] = nil
end

-- What `wait` can wait for: the number of live connections, of faults that struck, or any counter.
local function value_of(what)
  if what == "fired" then return world.faults.fired end
  if what ~= "live" then return world.counts[what] or 0 end
  local count = 0
  for _, one in pairs(world.connections) do
    if one:live() then count = count + 1 end
  end
  return count
end

local function fulfilled(waiter)
  local value = value_of(waiter.what)
  if waiter.what == "live" then return value == waiter.n end
  return value >= waiter.n
end

function world:changed()
  for waiter in pairs(self.waiters) do
    if fulfilled(waiter) then waiter.answer("ok " .. value_of(waiter.what)) end
  end
end

local function chosen(member)
  if not member then return links end
  return { links[tonumber(member)] or error("no such member: " .. member, 0) }
end

local function each_connection(member, act)
  local wanted, found = {}, {}
  for _, link in ipairs(chosen(member)) do wanted[link] = true end
  for _, one in pairs(world.connections) do
    if wanted[one.link] then found[#found + 1] = one end
  end
  for _, one in ipairs(found) do act(one) end
end

local WAYS = { both = { up = true, down = true }, up = { up = true }, down = { down = true } }

local function ways(word)
  return WAYS[word] or error("both, up or down, not " .. tostring(word), 0)
end

local function number(word)
  return math.tointeger(tonumber(word)) or error("a whole number, not " .. tostring(word), 0)
end

local function listen(link)
  local listener = uv.new_tcp()
  local ok = listener:bind("127.0.0.1", link.port) and listener:listen(128, function(err)
    local client = uv.new_tcp()
    if not err and listener:accept(client) then connection.open(world, link, client) else client:close() end
    world:changed()
  end)
  if not ok then listener:close() return false end
  link.listener = listener
  return true
end

local function pairs_of(counts)
  local words = {}
  for name, value in pairs(counts) do words[#words + 1] = name .. "=" .. value end
  return table.concat(words, " ")
end

local commands = {}

function commands.counts() return pairs_of(world.counts) end

-- The same, but with the requests that were sent.
function commands.sent()
  local all = {}
  for _, counts in ipairs { world.counts, world.sent } do
    for name, value in pairs(counts) do all[name] = value end
  end
  return pairs_of(all)
end

function commands.reset()
  world.counts, world.sent, world.trace = {}, {}, {}
  each_connection(nil, function(one) one.counts, one.asked = {}, {} end)
end

function commands.trace() return table.concat(world.trace, "\t") end

function commands.connections()
  local rows = {}
  each_connection(nil, function(one)
    if one:live() then
      rows[#rows + 1] = ("id=%d member=%d session=%s %s"):format(one.id, one.link.member, one.session or "none",
        pairs_of(one.counts))
    end
  end)
  return table.concat(rows, "\t")
end

-- cut rst|fin both|client|server [member]
function commands.cut(how, side, member)
  each_connection(member, function(one)
    if how == "fin" then one:finish() else one:reset(side) end
  end)
end

function world.refuse(member)
  for _, link in ipairs(chosen(member)) do
    if link.listener then link.listener:close() end
    link.listener = nil
  end
end

commands.refuse = world.refuse

function commands.blackhole(way, member)
  for _, link in ipairs(chosen(member)) do link.blackhole = ways(way) end
end

function commands.freeze(way, member)
  for _, link in ipairs(chosen(member)) do link.frozen = ways(way) end
end

function commands.delay(ms, member)
  for _, link in ipairs(chosen(member)) do link.delay = number(ms) end
end

-- After a black hole, bytes are missing in the middle of the connection, which TCP never allows: it is cut. Frozen bytes arrive late.
function commands.heal(member)
  for _, link in ipairs(chosen(member)) do
    link.blackhole, link.frozen, link.delay = {}, {}, 0
    if not link.listener and not listen(link) then error("port " .. link.port .. " was taken", 0) end
  end
  each_connection(member, function(one)
    if one.lossy then return one:reset("both") end
    one.up:flush()
    one.down:flush()
  end)
end

-- fault KIND OP N
function commands.fault(kind, op, n)
  if not faults.KINDS[kind] then error("unknown fault " .. tostring(kind), 0) end
  world.faults:arm(kind, op, number(n))
end

function commands.fired() return world.faults.fired end

function commands.clear() world.faults:clear() end

function commands.release()
  each_connection(nil, function(one)
    one.up:release()
    one.down:release()
  end)
end

-- wait WHAT N MILLISECONDS: answers when the count is reached, or "error timeout ..."
function commands.wait(reply, what, n, ms)
  local waiter, timer = { what = what, n = number(n) }, uv.new_timer()
  function waiter.answer(line)
    world.waiters[waiter] = nil
    timer:close()
    reply(line)
  end
  world.waiters[waiter] = true
  timer:start(number(ms), 0, function() waiter.answer("error timeout " .. value_of(what)) end)
end

local function obey(line, reply)
  local words = {}
  for word in line:gmatch("%S+") do words[#words + 1] = word end
  local command = commands[words[1]]
  if not command then return reply("error unknown command: " .. line) end
  if words[1] == "wait" then words[1] = reply else table.remove(words, 1) end
  local ok, result = pcall(command, table.unpack(words))
  if not ok then return reply("error " .. tostring(result)) end
  if words[1] ~= reply then reply("ok " .. tostring(result or "")) end
  world:changed()
end

local function serve_control(socket)
  local buffer = ""
  local function reply(line)
    if not socket:is_closing() then socket:write(line .. "\n") end
  end
  socket:nodelay(true)
  socket:read_start(function(err, chunk)
    if err or not chunk then return socket:is_closing() or socket:close() end
    buffer = buffer .. chunk
    for line in buffer:gmatch("([^\n]*)\n") do obey(line, reply) end
    buffer = buffer:match("[^\n]*$")
  end)
end

local function open_control()
  local control = uv.new_tcp()
  assert(control:bind("127.0.0.1", 0))
  assert(control:listen(16, function()
    local socket = uv.new_tcp()
    if control:accept(socket) then serve_control(socket) end
  end))
  return control:getsockname().port
end

-- After `refuse` and `heal` the port must still be free for us.
local function open_link(member, upstream)
  local link = { member = member, upstream = upstream, blackhole = {}, frozen = {}, delay = 0 }
  repeat link.port = supervisor.ports(1)[1] until listen(link)
  links[member] = link
  return link.port
end

local function leave() os.exit(0) end

local function watch_parent()
  local parent, stdin, timer = uv.os_getppid(), uv.new_pipe(false), uv.new_timer()
  assert(stdin:open(0))
  stdin:read_start(function(_, chunk) if not chunk then leave() end end)
  timer:start(500, 500, function() if uv.os_getppid() ~= parent then leave() end end)
end

local function call_back(port, line)
  local socket = uv.new_tcp()
  socket:connect("127.0.0.1", port, function(err)
    if err then return leave() end
    serve_control(socket)
    socket:write(line)
  end)
end

local first = arg[1] == "--control" and 3 or 1
local ports = {}
for i = first, #arg do ports[#ports + 1] = open_link(#ports + 1, number(arg[i])) end
local line = table.concat(ports, " ") .. "\n"
if first == 3 then
  call_back(number(arg[2]), line)
else
  io.stdout:write(open_control(), " ", line)
  io.stdout:flush()
end
watch_parent()
uv.run()
