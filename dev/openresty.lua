-- Nginx under load, for make load-openresty and make soak-openresty. $ZK_HOSTS names the servers.
--
--   load           latency of plain requests in one worker, before and while 10,000 other requests wait for locks
--   soak SECONDS   two workers; clients that take a lock and wait, some of which disconnect; a reload every 5 seconds, except in the last
--                  fifth of the time, because new workers start from zero. It checks what has grown: the queues, sessions, watches, memory,
--                  descriptors

local nginx = require "spec.support.nginx"
local process = require "spec.support.process"
local socket = require "socket"
local zk = require "zkrecipes"

local HOSTS = os.getenv("ZK_HOSTS")
local WAITERS, LOCKS, WORKERS = 10000, 100, 2

local HTTP = ([[
  init_worker_by_lua_block {
    local zk = require "zkrecipes"
    session = zk.shared { hosts = "%s", timeout = 10, namespace = "/load" }
    locks = {}
    for i = 1, %d do locks[i] = session:lock("/" .. i) end
    zk.spawn(function() session:election("/leader"):every(1, function() end) end)
  }
]]):format(HOSTS, LOCKS)

local SERVER = [[
  location = /wait {
    lua_check_client_abort on;
    content_by_lua_block {
      local hold, message, code = locks[tonumber(ngx.var.arg_lock)]:acquire(tonumber(ngx.var.arg_limit))
      if not hold then return ngx.say(code) end
      if ngx.var.arg_work then ngx.sleep(tonumber(ngx.var.arg_work)) end
      ngx.say(hold:valid() and "held" or "LOST")
      hold:release()
    }
    log_by_lua_block { require("zkrecipes.openresty").release() }
  }
  location = /keep { content_by_lua_block {
    kept = {}
    for i = 1, #locks do kept[i] = assert(locks[i]:acquire(10)) end
  } }
  location = /free { content_by_lua_block { for i = 1, #kept do kept[i]:release() end } }
  location = /count { content_by_lua_block {
    collectgarbage() collectgarbage()
    local status = require("zkrecipes").status()
    ngx.say(#status.waiting, " ", #status.holds, " ", math.floor(collectgarbage("count")), " ", ngx.worker.pid())
  } }
]]

local function wrk(it)
  return process.output(("wrk -t1 -c4 -d5 --latency http://127.0.0.1:%d/plain"):format(it.port))
end

local function latency(text)
  return ("median %s, 99 %%: %s, %s requests/s"):format(text:match("50%%%s+(%S+)"), text:match("99%%%s+(%S+)"),
    text:match("Requests/sec:%s+(%S+)"))
end

local function kilobytes(pid) return process.output("awk '/VmRSS/ {print $2}' /proc/" .. pid .. "/status") end

-- ---- Many waiters ------------------------------------------------------------------------------

local function waiting(it) return tonumber((select(2, it:get("/count", 60)):match("^%d+"))) end

local function load_it()
  local it = nginx.start { http = HTTP, server = SERVER, connections = math.floor(WAITERS * 1.25), -- it closes new ones
    main = "worker_rlimit_nofile " .. math.floor(WAITERS * 1.5) .. ";" } -- when only a sixteenth is left
  it:get("/keep", 60)
  local pid = it:workers()[1]
  print("no waiter:       " .. latency(wrk(it)) .. ", " .. kilobytes(pid) .. " kB")
  local open, from = {}, socket.gettime()
  for i = 1, WAITERS do
    open[i] = it:open(("/wait?limit=600&lock=%d"):format(i % LOCKS + 1))
    if i % 100 == 0 then it:get("/plain") end -- not more than nginx's backlog accepts
  end
  repeat socket.sleep(0.2) until waiting(it) >= WAITERS
  print(("%d wait, after %.1f s"):format(WAITERS, socket.gettime() - from))
  print(("%d wait:      "):format(WAITERS) .. latency(wrk(it)) .. ", " .. kilobytes(pid) .. " kB")
  from = socket.gettime()
  it:get("/free")
  local held = 0
  for i = 1, WAITERS do held = held + (select(2, nginx.answer(open[i], 120)) == "held\n" and 1 or 0) end
  print(("%d of %d have had their turn, after %.1f s"):format(held, WAITERS, socket.gettime() - from))
  it:stop()
  return held == WAITERS
end

-- ---- Soak --------------------------------------------------------------------------------------

local function ask(command) -- a four-letter word
  local host, port = HOSTS:match("^([^:,]+):(%d+)")
  local connection = assert(socket.connect(host, tonumber(port)))
  connection:send(command)
  local text = connection:receive("*a") or ""
  connection:close()
  return text
end

local function ours(name) return tonumber(ask("mntr"):match(name .. "%s+(%d+)")) end

-- Sum of both workers, after a collection: kB of Lua.
local function lua_memory(it)
  local memory, sum = {}, 0
  process.eventually(function()
    local kb, pid = select(2, it:get("/count")):match("(%d+) (%d+)\n")
    memory[pid] = tonumber(kb)
    return next(memory, (next(memory)))
  end)
  for _, kb in pairs(memory) do sum = sum + kb end
  return sum
end

-- Sum of all processes of this nginx.
local function sums(it)
  local memory, descriptors = 0, 0
  for _, pid in ipairs(it:workers()) do
    memory = memory + (tonumber(kilobytes(pid)) or 0)
    descriptors = descriptors + tonumber(process.output("ls /proc/" .. pid .. "/fd 2>/dev/null | wc -l"))
  end
  return { workers = #it:workers(), memory = memory, lua = lua_memory(it), descriptors = descriptors,
    ephemerals = ours("zk_ephemerals_count"), watches = ours("zk_watch_count"), connections = ours("zk_num_alive_connections") }
end

local function show(when, found)
  print(("%s: %d workers, %d kB, %d of Lua, %d descriptors; %d connections, %d ephemerals, %d watches"):format(when,
    found.workers, found.memory, found.lua, found.descriptors, found.connections, found.ephemerals, found.watches))
end

-- One round of clients: some disconnect, the others are answered.
local function clients(it, tally)
  local open = {}
  for i = 1, 30 do
    open[i] = it:open(("/wait?limit=5&lock=%d&work=0.001"):format(math.random(10)))
  end
  for i = 1, 30 do
    if i % 3 == 0 then
      open[i]:close()
      tally.gone = tally.gone + 1
    else
      local status, body = nginx.answer(open[i], 30)
      local word = status == 200 and body:gsub("\n", "") or "failed"
      tally[word] = (tally[word] or 0) + 1
    end
  end
end

-- Waits until the earlier workers are gone, and only the candidates for the timer hold or wait.
local function settle(it, before, tally)
  local settled = process.eventually(function()
    for _, pid in ipairs(before) do
      if process.runs(pid) then return false end
    end
    return #it:workers() == WORKERS and ours("zk_ephemerals_count") == WORKERS
  end, 20)
  if not settled then tally.stuck = (tally.stuck or 0) + 1 end
  return sums(it)
end

local function reload(it, tally)
  local before = it:workers()
  it:signal("HUP")
  tally.reloads = tally.reloads + 1
  return before
end

local function with_reloads(it, tally, seconds)
  local from, first = socket.gettime(), nil
  while socket.gettime() - from < seconds do
    clients(it, tally)
    if (socket.gettime() - from) / 5 > tally.reloads + 1 then
      local before = reload(it, tally)
      if tally.reloads % 10 == 1 then
        local now = settle(it, before, tally)
        first = first or now
        show(("after %d reloads"):format(tally.reloads), now)
      end
    end
  end
  return first, settle(it, reload(it, tally), tally)
end

-- Compares the figures after the first rounds with those after all rounds.
local function without(it, tally, seconds)
  local from, first = socket.gettime(), nil
  while socket.gettime() - from < seconds do
    clients(it, tally)
    if not first and socket.gettime() - from > seconds / 4 then
      first = settle(it, {}, tally)
      show("the same workers", first)
    end
  end
  return first, settle(it, {}, tally)
end

-- How much each figure may have grown in the end: a constant and a share of its first value.
local SLACK = { workers = { 0, 0 }, ephemerals = { 0, 0 }, watches = { 0, 0 }, connections = { 1, 0 },
  descriptors = { 2, 0 }, memory = { 1024, 0.05 }, lua = { 256, 0.05 } }

local function grown(first, last)
  local more = {}
  for name, slack in pairs(SLACK) do
    if last[name] > first[name] * (1 + slack[2]) + slack[1] then more[#more + 1] = name end
  end
  return more
end

local function soak(seconds)
  local it = nginx.start { http = HTTP, server = SERVER, workers = WORKERS, main = "worker_shutdown_timeout 20s;" }
  local tally = { gone = 0, reloads = 0 }
  local first, last = with_reloads(it, tally, seconds * 0.8)
  show(("after %d reloads"):format(tally.reloads), last)
  local more = first and grown(first, last) or {}
  first, last = without(it, tally, seconds * 0.2)
  show("the same, later", last)
  for _, name in ipairs(grown(first, last)) do more[#more + 1] = name end
  print(("%d reloads; %d held, %d timeout, %d failed, %d lost, %d stuck; %d went away"):format(tally.reloads, tally.held or 0,
    tally.timeout or 0, tally.failed or 0, tally.LOST or 0, tally.stuck or 0, tally.gone))
  local log = it:log()
  local bad = tally.failed or tally.LOST or tally.stuck or #more > 0 or log:find("%[error%]") or log:find("%[alert%]") or
    log:find("%[crit%]") or log:find("exited on signal")
  it:stop()
  if bad then print("grown: " .. table.concat(more, " ") .. "\n" .. log:sub(-2000)) end
  return not bad
end

zk.run(function() assert(zk.session { hosts = HOSTS }:connected(10)) end)
local good
if arg[1] == "load" then good = load_it() else good = soak(tonumber(arg[2])) end
print(good and "good" or "NOT GOOD")
os.exit(good and 0 or 1)
