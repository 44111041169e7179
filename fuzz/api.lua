-- The random caller of the whole Lua API: fuzz/api.lua [ROUNDS]. It needs a server in ZK_HOSTS (dev/zk exec), and writes the calls of the
-- present round to the file TRACE.
--
-- Each round has a seed of its own (SEED=n repeats one; FROM=n is the first of all). It opens some sessions, on the server and on a port
-- where no server listens. A few workers make random calls, and one calls its share of all functions in turn, so that SHARES rounds call
-- every function. Then everything is closed and dropped, and nothing may be left. The work is counted in rounds, so it does not depend on
-- the machine. fuzz/api/rules.lua says what an answer must be.

local calls = require "fuzz.api.calls"
local core = require "zkrecipes.core"
local new_dice = require "fuzz.api.dice"
local rules = require "fuzz.api.rules"
local targets = require "fuzz.api.targets"
local tasks = require "zkrecipes.host.tasks"
local values = require "fuzz.api.values"
local zk = require "zkrecipes"

local WORKERS, CALLS = 5, 60
local SHARES = 8      -- this many rounds call every function at least once
local LIMIT = 300     -- seconds that a request to the server may take; a quiet machine takes milliseconds
local PATIENCE = 600  -- seconds within which everything must be released; a quiet machine takes two

local server = assert(os.getenv("ZK_HOSTS"), "ZK_HOSTS is not set: dev/zk exec -- lua5.4 fuzz/api.lua")
local trace_name = os.getenv("TRACE") or "api.trace"
local only = tonumber(os.getenv("SEED"))
local most = tonumber(arg[1]) or 3 * SHARES
values.server = server

-- ---- A round -----------------------------------------------------------------------------------

local function open(options)
  local session = assert(zk.session(options))
  calls.keep("session", session)
  return session
end

local function open_recipes(session)
  calls.keep("election", session:election("/election"))
  calls.keep("semaphore", session:semaphore("/semaphore", 2))
  calls.keep("worker_id", session:worker_id("/workers", 2))
  calls.keep("snowflake", session:snowflake("/workers"))
  calls.keep("rwlock", session:rwlock("/rw"))
  calls.keep("barrier", session:barrier("/barrier"))
  calls.keep("latch", session:latch("/latch", 3))
  calls.keep("counter", session:counter("/counter"))
  calls.keep("ids", session:ids("/ids"))
  calls.keep("presence", session:presence("/present", "1"))
  calls.keep("group", session:group("/group"))
  calls.keep("member", session:group("/group"):join("1"))
  calls.keep("group_changes", (session:group("/group"):changes()))
  local registry = session:registry "/registry"
  calls.keep("registry", registry)
  calls.keep("registration", registry:register("web", { id = "a", address = "a" }))
  calls.keep("registry_changes", (registry:changes()))
  calls.keep("instance", assert(registry:await("web", 1, 300))[1])
  calls.keep("topic", session:topic("/topic", { keep = { count = 5 } }))
  calls.keep("subscription", (session:topic("/topic"):subscribe { from = "start", name = "a" }))
  calls.keep("two_phase", session:two_phase("/two_phase"))
  calls.keep("participant", session:two_phase("/two_phase"):serve("a", { prepare = print, commit = print, abort = print }))
  calls.keep("partitioner", session:partitioner("/parts", { "a", "b" }))
  calls.keep("partitioner_changes", (session:partitioner("/parts", { "a", "c" }):changes()))
  calls.keep("tree", session:tree("/a"))
  calls.keep("config", session:config("/a"))
  calls.keep("value", core.classes.session.inner.value(session, "/a")) -- what a configuration writes with
  calls.keep("config_changes", session:config("/conf"):changes())
  calls.keep("changes", (session:tree("/a"):changes()))
  calls.keep("cyclic_barrier", session:cyclic_barrier("/cyclic", 2))
  calls.keep("double_barrier", session:double_barrier("/double", 1))
  calls.keep("queue", session:queue("/queue"))
  calls.keep("simple_queue", session:queue("/simple", { format = "simple" }))
  calls.keep("walk", core.classes.queue.inner.walk(session:queue("/queue").core)) -- what an iterator reads with
  calls.keep("simple_walk", core.classes.simple_queue.inner.walk(session:queue("/simple", { format = "simple" }).core))
  calls.keep("side", session:rwlock("/rw"):reader())
  calls.keep("multilock", session:multilock { session:lock("/one"), session:lock("/two") })
  calls.keep("lock", session:lock("/cohort", { cohort = true }))
  calls.keep("observe", session:election("/termed"):observe())
  calls.keep("items", session:queue("/queue"):items())
  calls.keep("dead", session:queue("/queue"):dead())
end

local function open_sessions(namespace)
  local first = open { hosts = server, namespace = namespace, timeout = 60 }
  local second = open { hosts = server, namespace = namespace, timeout = 60, auth = { { scheme = "digest", credential = "a:b" } } }
  open { hosts = "127.0.0.1:1", timeout = 1 }
  open { hosts = "127.0.0.1:1" }:close(0)
  for _, session in ipairs { first, second, first } do
    calls.keep("lock", session:lock("/lock"))
    calls.keep("watch", session:watch("/a"))
  end
  calls.keep("states", first:states())
  calls.keep("loop", first:loop())
  open_recipes(first)
  return first
end

local function put_and_claim(queue)
  assert(queue:put("data", { id = "claimed" }))
  return assert(queue:claim(LIMIT))
end

-- With a dead letter.
local function spent(queue)
  put_and_claim(queue):nack()
  return queue
end

local function open_all(namespace)
  local first = open_sessions(namespace)
  assert(first:connected(LIMIT))
  for _, path in ipairs { "/a", "/b", "/lock" } do first:create(path, "data", { parents = true }) end
  calls.keep("hold", assert(first:lock("/held"):acquire(LIMIT)))
  calls.keep("hold", assert(first:worker_id("/workers", 2):acquire(LIMIT)))
  calls.keep("snowflake_ids", assert(first:snowflake("/ids"):acquire(LIMIT)))
  calls.keep("turn", assert(first:lock("/turns", { cohort = true }):acquire(LIMIT)))
  calls.keep("multihold", assert(first:multilock { first:lock("/three"), first:lock("/four") }:acquire(LIMIT)))
  local item = put_and_claim(first:queue("/items"))
  calls.keep("item", item)
  calls.keep("claim", item.claim) -- what it is acked with
  calls.keep("queue", spent(first:queue("/spent", { attempts = 1 })))
  calls.keep("term", assert(first:election("/termed"):campaign(LIMIT)))
  calls.keep("task", zk.spawn(function() return 1 end))
  return first
end

-- Errors that no coroutine waits for.
local function on_error(text)
  local problem = rules.reported(text)
  if problem then calls.wrong(problem, text) end
end

local function in_run(dice, namespace, share)
  zk.run(function()
    open_all(namespace)
    local workers = { zk.spawn(calls.sweep, dice:fork(), share, SHARES) }
    for _ = 1, WORKERS do
      local own = dice:fork()
      workers[#workers + 1] = zk.spawn(function() calls.work(own, CALLS) end)
    end
    for i = 1, #workers do workers[i]:wait() end
    calls.close_all()
  end, { on_error = on_error })
end

-- Ends waits that would last forever, until the round is over. It is a daemon, so that no zk.run waits for it. If a random call cancels it,
-- another one starts.
local function guard(host, round_now)
  tasks.spawn(host, { daemon = true, quiet = true, on_end = function(task)
    if not task.ok and not round_now.over then guard(host, round_now) end
  end }, function()
    while not round_now.over do
      zk.sleep(0.3)
      calls.close_all()
    end
  end)
end

-- Outside of zk.run, where calls drive the loop themselves.
local function on_main(dice, namespace, share)
  local round_now = { over = false }
  local host = core.host(open_all(namespace))
  host.on_error = on_error
  guard(host, round_now)
  calls.sweep_on_main(dice, share, SHARES)
  calls.work_on_main(dice, CALLS)
  round_now.over = true
  calls.close_all()
  zk.sleep(0.4)
  host.on_error = nil
end

-- On the main thread: abandoned coroutines may still exist.
local function delete(namespace)
  local session = zk.session { hosts = server }
  local _, message, code = session:delete_tree(namespace)
  if code and code ~= "no_node" and code ~= "no_auth" then error(message) end
  session:close()
end

-- Drops everything, and checks what is left. LuaJIT's compiled code keeps the objects for which it was compiled.
local function settle(blocks)
  local deadline = zk.now() + PATIENCE
  calls.clear(new_dice(1))
  repeat
    if jit then jit.flush() end
    collectgarbage()
    collectgarbage()
    zk.sleep(0.005)
    if calls.live() == 0 and core.alloc_blocks() <= blocks then return end
  until zk.now() > deadline
  calls.wrong("something is left", ("%d objects, %d blocks, %d before"):format(calls.live(), core.alloc_blocks(), blocks))
end

local function round(seed)
  local dice, namespace = new_dice(seed), ("/fuzz-%d-%d"):format(os.time(), seed)
  local blocks = core.alloc_blocks()
  calls.trace = assert(io.open(trace_name, "w"))
  calls.trace:setvbuf("line")
  calls.note("SEED=" .. seed)
  calls.clear(dice)
  calls.depth = 0;
  (seed % 5 == 4 and on_main or in_run)(dice, namespace, seed % SHARES)
  settle(blocks)
  delete(namespace)
  settle(blocks)
  calls.trace:close()
end

-- ---- All rounds --------------------------------------------------------------------------------

local function report(rounds)
  local never, vain = {}, {}
  for _, target in ipairs(targets.list) do
    if calls.counts[target.label] == 0 then never[#never + 1] = target.label end
    if calls.good[target.label] == 0 then vain[#vain + 1] = target.label end
  end
  print(("%d calls of %d functions and fields in %d rounds"):format(calls.calls, #targets.list, rounds))
  if os.getenv("COUNTS") then
    for _, target in ipairs(targets.list) do
      print(("%8d called %8d answered  %s"):format(calls.counts[target.label], calls.good[target.label], target.label))
    end
  end
  if #vain > 0 then print("never answered with a value: " .. table.concat(vain, ", ")) end
  if #never > 0 then print("never called: " .. table.concat(never, ", ")) end
  return #never == 0
end

-- Creates everything that stays until the process ends, a thread and its few blocks, before memory is counted.
local function warm_up()
  zk.run(function()
    local session = zk.session { hosts = server }
    assert(session:connected(LIMIT))
    session:close()
  end)
  collectgarbage()
  collectgarbage()
end

-- Trees write their files only into an empty folder.
local function guard_files()
  local replace, ours = core.replace_file, {}
  for _, name in ipairs(values.files) do ours[name] = true end
  core.replace_file = function(path, ...)
    if not ours[path] then return nil, "cannot write " .. path end
    return replace(path, ...)
  end
end

guard_files()
warm_up()
local first = only or tonumber(os.getenv("FROM")) or os.time() % 1000000 * 1000
local rounds = only and 1 or most
for i = 0, rounds - 1 do round(first + i) end
local complete = report(rounds)
for _, name in ipairs(values.files) do os.remove(name) end
os.exit(rounds < SHARES or complete)
