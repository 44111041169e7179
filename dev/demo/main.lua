-- Shows the main job of this library: several processes with many coroutines share a fair lock through a real ZooKeeper. One holder is
-- killed, and the next waiter is granted the lock.
--
-- 1. Start a server (or use those that HOSTS names).
-- 2. Start the workers. They write all their steps to a journal, which is shown as it grows.
-- 3. The third worker holds the lock for a long time: it is killed with kill -9.
-- 4. When all other workers have done their rounds, check the journal: there were never two holders at once, tokens only grew, and nothing
--    is left on the server.
--
-- What can go wrong: a worker crashes, or nothing happens any more (QUIET). We are interrupted or killed: every worker has a guard that
-- kills it when our end of its standard input is closed.

local zk = require "zkrecipes"
local core = require "zkrecipes.core"
local testing = require "zkrecipes.testing"

local here = arg[0]:match("^(.*/)[^/]*$") or "./"
local journals = dofile(here .. "check.lua")

local WORKERS, COROUTINES, ROUNDS = 4, 5, 3
local TIMEOUT = 15 -- seconds, of the sessions; a busy machine may lose shorter ones
local QUIET = 90  -- seconds without news after which we give up
local colour = core.isatty(1) and (os.getenv("NO_COLOR") or "") == "" and os.getenv("TERM") ~= "dumb"

local function paint(code, text)
  return colour and ("\27[" .. code .. "m" .. text .. "\27[0m") or text
end

local function say(...)
  io.write(string.format(...), "\n")
  io.flush()
end

-- ---- Workers ------------------------------------------------------------------------------------

-- The guard reads a pipe that only we can write to; when the pipe ends, the worker must end as well.
local WORKER = [[
  exec >>"$1" 2>/dev/null 3<&0 </dev/null
  journal=$1 number=$2
  shift 2
  "$@" 2>&1 3<&- & worker=$!
  echo "0 $number 0 pid $worker"
  (trap '' INT; read -r _ <&3; kill -KILL $worker; rm -f "$journal") & guard=$!
  wait $worker || echo "0 $number 0 failed with status $?"
  kill $guard]]

local function quote(word)
  return "'" .. tostring(word):gsub("'", "'\\''") .. "'"
end

local function interpreter()
  local first = 0
  while arg[first - 1] do first = first - 1 end
  return first < 0 and arg[first] or "lua5.4"
end

local function start_worker(journal_path, number, hosts, namespace)
  local words = { "exec sh -c", quote(WORKER), "worker" }
  for _, word in ipairs { journal_path, number, interpreter(), here .. "worker.lua", hosts, namespace, TIMEOUT,
    number, COROUTINES, ROUNDS } do
    words[#words + 1] = quote(word)
  end
  return assert(io.popen(table.concat(words, " "), "w"))
end

local function stop(workers)
  for _, worker in ipairs(workers) do worker:close() end
end

-- ---- The timeline -------------------------------------------------------------------------------

local tell = {}

function tell.waits(event)
  return "2", string.format("waits     %2d in the queue", event.waiting)
end

function tell.holds(event)
  return "1;32", string.format("HOLDS     token %s, waited %.3f s", event.extra, event.waited)
end

function tell.releases(event)
  return "0", string.format("releases  after %.3f s", event.held)
end

function tell.dawdles()
  return "33", "dawdles   while it holds the lock"
end

function tell.killed(event)
  return "1;31", string.format("KILLED    with kill -9, its %d waiters too; the other %d go on waiting",
    event.waiters, event.waiting)
end

function tell.pid() end
tell.ends, tell.failed = tell.pid, tell.pid

local function show(event, started)
  if not event.what then return say("%s", paint("1;31", event.extra)) end
  local describe = tell[event.what]
  local code, text = "1;31", event.what .. " " .. event.extra
  if describe then code, text = describe(event) end
  if not text then return end
  local who = string.format("%7.3f s  worker %s.%s  ", event.time - started, event.worker, event.name)
  say("%s%s", who, paint(code, text))
end

-- Lines of a file that grows. The last one may not be complete yet.
local function lines_of(file)
  local rest = ""
  return function()
    local line, more = rest:match("^([^\n]*)\n(.*)$")
    if not line then
      rest = rest .. (file:read("*a") or "")
      line, more = rest:match("^([^\n]*)\n(.*)$")
    end
    rest = more or rest
    return line
  end
end

local function next_line(lines)
  local deadline = zk.now() + QUIET
  local line = lines()
  while not line and zk.now() < deadline do
    zk.sleep(0.01)
    line = lines()
  end
  return line or error("the workers have said nothing for " .. QUIET .. " seconds", 0)
end

-- Kills the worker that holds the lock for long, after a moment in which a person can see that.
local function kill(event, pid, journal, started)
  zk.sleep(0.5)
  local line = string.format("%.6f %s %s killed", zk.now(), event.worker, event.name) -- before it: the next one may hold right after it
  os.execute("kill -9 " .. pid)
  show(journal:add(line), started)
  return event.worker
end

-- Shows the journal until every worker but the killed one has ended; returns the killed one.
local function follow(file, journal, started)
  local lines = lines_of(file)
  local pids, ended, killed = {}, 0, nil
  while ended < WORKERS - (killed and 1 or 0) do
    local event = journal:add(next_line(lines))
    show(event, started)
    if event.what == "pid" then
      pids[event.worker] = event.extra
    elseif event.what == "ends" then
      ended = ended + 1
    elseif event.what == "failed" and event.worker ~= killed then
      error("worker " .. event.worker .. " failed " .. event.extra, 0)
    elseif event.what == "dawdles" and not killed then
      killed = kill(event, pids[event.worker], journal, started)
    end
  end
  return killed
end

-- ---- The whole ----------------------------------------------------------------------------------

local function run_workers(hosts, namespace)
  local path, workers, journal, started = os.tmpname(), {}, journals.new(), zk.now()
  local file = assert(io.open(path))
  for number = 1, WORKERS do
    workers[number] = start_worker(path, number, hosts, namespace)
  end
  local ok, killed = zk.pcall(follow, file, journal, started)
  stop(workers)
  file:close()
  os.remove(path)
  if not ok then error(killed, 0) end
  return journal, killed
end

-- The number of contenders' znodes; the directory itself may be gone.
local function nodes_left(session, path)
  local names, message, code = session:children(path)
  if names then return #names end
  return code == "no_node" and 0 or error(message, 0)
end

local function report(journal, facts, timeout)
  local checks, good = journal:checks(facts), true
  local takeover = journal:takeover()
  say("\n%d grants, longest wait %.3f s, %s (session timeout %g s)\n", #journal.holds, journal:longest_wait(),
    takeover and string.format("taken over %.3f s after the kill", takeover) or "never taken over", timeout)
  for _, check in ipairs(checks) do
    local what, fine, seen = check[1], check[2], check[3]
    good = good and fine
    say("  %-34s %s", what, fine and paint("32", "yes") or paint("1;31", "NO: " .. seen))
  end
  return good
end

local function demonstrate(session, hosts, name)
  assert(session:create(name .. "/register", "", { parents = true }))
  say("%d processes with %d coroutines each share one fair lock through ZooKeeper at %s\n", WORKERS,
    COROUTINES, hosts)
  local journal, killed = run_workers(hosts, name)
  local facts = { register = session:get(name .. "/register"), left = nodes_left(session, name .. "/lock"),
    killed = killed, turns = (WORKERS - 1) * COROUTINES * ROUNDS }
  return report(journal, facts, session.timeout)
end

-- Runs in a namespace of its own, which is deleted in any case: after an interruption by blocking calls.
local function run(hosts)
  local name
  local ok, good = pcall(zk.run, function()
    local session = zk.session { hosts = hosts, timeout = TIMEOUT, tick = 0.5 }
    assert(session:connected(60))
    name = "/zkrecipes-demo-" .. session.id
    return demonstrate(session, hosts, name)
  end)
  if name then
    local session = zk.session { hosts = hosts, timeout = TIMEOUT, tick = 0.5 }
    session:delete_tree(name)
    session:close()
  end
  if not ok then
    say("%s", paint("1;31", "the demo failed: " .. tostring(good):match("^[^\n]*")))
  end
  return ok and good
end

local hosts, server = os.getenv("HOSTS"), nil
if (hosts or "") == "" then
  say("starting a ZooKeeper server on a free port of 127.0.0.1 ...")
  server = assert(testing.start())
  hosts = server.hosts
end
local good = run(hosts)
if server then server:stop() end
os.exit(good and 0 or 1)
