-- What sessions, znodes and watches cost real servers: docs/scale.md. `make bench-servers`. Heap of a server, after a full collection,
-- before and after so many of each; CPU of each member of an ensemble per heartbeat. Needs jcmd, which is a part of a JDK.

local scale_wire = require "spec.support.scale_wire"
local testing = require "zkrecipes.testing"
local wire = require "spec.support.wire"
local zk = require "zkrecipes"

local SESSIONS, ZNODES, BEATS = 5000, 10000, 30000
local LONG, LIMIT = 110, 300 -- seconds
local JVM = { "-Xmx2g", "-XX:TieredStopAtLevel=4" }

-- ---- Heap --------------------------------------------------------------------------------------

-- Live bytes.
local function heap(server)
  local bytes
  for _ = 1, 2 do -- what a first collection releases may hold more
    local pipe = assert(io.popen("jcmd " .. server.pid .. " GC.class_histogram"))
    bytes = tonumber(pipe:read("*a"):match("Total%s+%d+%s+(%d+)"))
    pipe:close()
  end
  return assert(bytes, "jcmd gave no histogram")
end

local function show(what, count, bytes) print(("%-60s %6.0f bytes each, of %d"):format(what, bytes / count, count)) end

-- What fn() adds to the heap.
local function grown(server, what, count, fn)
  local before = heap(server)
  fn()
  show(what, count, heap(server) - before)
end

local function watch_all(client, paths)
  for _, path in ipairs(paths) do client:send("exists", wire.text(path) .. "\1") end
  for _ = 1, #paths do assert(client:receive()) end
end

local function measure_heap()
  local server = assert(testing.start { jvm = JVM })
  local raw, watcher, paths, gone = {}, assert(wire.connect(server.hosts, { timeout = 110000 })), {}, {}
  local session = zk.session { hosts = server.hosts, timeout = LONG }
  assert(session:connected(LIMIT))
  grown(server, "a session", SESSIONS, function()
    for i = 1, SESSIONS do raw[i] = assert(wire.connect(server.hosts, { timeout = 110000 })) end
  end)
  assert(session:create("/l", ""))
  grown(server, "a contender's znode", ZNODES, function()
    local lock = session:lock("/l")
    for _ = 1, ZNODES do zk.spawn(function() lock:acquire() end) end
    repeat
      zk.sleep(0.1)
      paths = assert(session:children("/l"))
    until #paths == ZNODES
    assert(session:sync("/l"))
  end)
  for i, name in ipairs(paths) do paths[i], gone[i] = "/l/" .. name, "/l/" .. name:match("^.*%-%x+%-") .. "gone" end
  grown(server, "a watch on a znode of its own", ZNODES, function() watch_all(watcher, paths) end)
  grown(server, "a watch on a path without a znode", ZNODES, function() watch_all(watcher, gone) end)
  grown(server, "a session's watch on a path that all watch", SESSIONS, function()
    for i = 1, SESSIONS do assert(raw[i]:exists("/l", true)) end
  end)
  print("load " .. io.open("/proc/loadavg"):read("*l"))
  server:stop()
end

-- ---- Heartbeats --------------------------------------------------------------------------------

-- CPU seconds of a process.
local function cpu(server)
  local file = assert(io.open(("/proc/%s/stat"):format(server.pid)))
  local text = file:read("*a"):match("%) (.*)$")
  file:close()
  local words = {}
  for word in text:gmatch("%S+") do words[#words + 1] = tonumber(word) or 0 end
  return (words[12] + words[13]) / 100
end

-- Each client has a connection of its own; its next heartbeat follows the answer.
local function beat(clients, rounds)
  for _ = 1, rounds do
    for _, client in ipairs(clients) do client:send("sync", wire.text("/")) end
    for _, client in ipairs(clients) do assert(client:receive()) end
  end
end

local function measure_heartbeats(at_once)
  local ensemble = assert(testing.ensemble { jvm = JVM })
  local leader, follower, clients = assert(ensemble:leader()), ensemble:followers()[1], {}
  for i = 1, at_once do clients[i] = assert(wire.connect(follower.hosts, { timeout = 110000 })) end
  beat(clients, BEATS / at_once) -- warms up
  local before = { leader = cpu(leader), follower = cpu(follower) }
  beat(clients, BEATS / at_once)
  print(("heartbeats through a follower, %d at once: %.0f us of the leader's CPU each, %.0f us of the follower's; load %s"):format(at_once,
    (cpu(leader) - before.leader) / BEATS * 1e6, (cpu(follower) - before.follower) / BEATS * 1e6, io.open("/proc/loadavg"):read("*l")))
  ensemble:stop()
end

-- ---- Bytes -------------------------------------------------------------------------------------

local function measure_bytes()
  local server = assert(testing.start())
  for _, others in ipairs { 10, 110 } do
    local of = scale_wire.behind(server, "/l" .. others, others)
    print(("behind %d: a join %d requests, %d bytes sent, %d received; a hand-off %d, %d events, %d bytes sent, %d received"):format(others,
      of.join.requests, of.join.up, of.join.down, of.hand_off.requests, of.hand_off.events, of.hand_off.up, of.hand_off.down))
  end
  server:stop()
end

zk.run(function()
  measure_bytes()
  measure_heap()
  for _, at_once in ipairs { 1, 10, 300 } do measure_heartbeats(at_once) end
  io.stdout:flush()
  os.exit(0) -- many wait still
end)
