-- What TLS costs: the same requests by TLS and in plain text, in turns, on one server whose JIT is warm. The ratios are medians over the
-- rounds. `make bench-tls ROUNDS=8`.

local testing = require "zkrecipes.testing"
local zk = require "zkrecipes"

local ROUNDS = tonumber(os.getenv "ROUNDS" or "") or 8
local LARGE = ("x"):rep(64000)

-- All of the JIT, unlike in tests.
local server = assert(testing.start { tls = true, jvm = { "-XX:TieredStopAtLevel=4", "-Xmx512m" },
  config = { ["ssl.clientAuth"] = "need" } })

-- Seconds, and seconds of CPU of this process, that `work` takes.
local function measure(work)
  local from, cpu = zk.now(), os.clock()
  work()
  return zk.now() - from, os.clock() - cpu
end

local function one_by_one(session, path, count)
  for _ = 1, count do assert(session:get(path)) end
end

-- `width` coroutines, each with one request at a time.
local function together(session, path, count, width)
  local tasks = {}
  for i = 1, width do tasks[i] = function() one_by_one(session, path, count / width) end end
  zk.all(tasks)
end

local WORK = {
  { "get 100 bytes, one at a time", function(session) one_by_one(session, "/small", 1000) end },
  { "get 100 bytes, 256 in flight", function(session) together(session, "/small", 10240, 256) end },
  { "get 64 kB, one at a time", function(session) one_by_one(session, "/large", 300) end },
  { "get 64 kB, 32 in flight", function(session) together(session, "/large", 640, 32) end },
}

local function median(list)
  table.sort(list)
  return list[math.floor(#list / 2) + 1]
end

local function load_now()
  local file = io.open("/proc/loadavg")
  local text = file and file:read("*l") or "?"
  if file then file:close() end
  return text:match("^%S+")
end

zk.run(function()
  local plain = zk.session { hosts = "127.0.0.1:" .. server.port, timeout = 60 }
  local secure = zk.session { hosts = server.hosts, tls = server.tls, timeout = 60 }
  assert(plain:connected(60) and secure:connected(60))
  assert(plain:create("/small", ("x"):rep(100)) and plain:create("/large", LARGE))
  for _ = 1, 3 do
    for _, work in ipairs(WORK) do
      work[2](plain)
      work[2](secure)
    end
  end
  print(("TLS beside plain text: %d rounds, load of the machine %s"):format(ROUNDS, load_now()))
  for _, work in ipairs(WORK) do
    local times, cpus = {}, {}
    for i = 1, ROUNDS do
      local time, cpu = measure(function() work[2](plain) end)
      local more_time, more_cpu = measure(function() work[2](secure) end)
      times[i], cpus[i] = more_time / time, more_cpu / cpu
    end
    print(("%-32s time %.2f, our CPU %.2f"):format(work[1], median(times), median(cpus)))
  end
  plain:close()
  secure:close()
end)
server:stop()
