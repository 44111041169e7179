-- Inside a real nginx, the workers: the API is the same as elsewhere; each worker has one session; nginx keeps its timers
-- and signals; and one worker is the candidate for all workers of a host.

require "spec_fork"
local env = require "spec.support.env"
local nginx = require "spec.support.nginx"
local process = require "spec.support.process"
local socket = require "socket"

-- The names of all functions and methods of the API.
local NAMES = [[
  local zk, core, names = require "zkrecipes", require "zkrecipes.core", {}
  assert(zk.preload())
  for name in pairs(zk) do names[#names + 1] = name end
  for class, it in pairs(core.classes) do
    for name in pairs(it.methods) do names[#names + 1] = class .. ":" .. name end
  end
  table.sort(names)
  return table.concat(names, " ")
]]

local HTTP = [[
  lua_shared_dict seen 1m;
  init_worker_by_lua_block {
    zk = require "zkrecipes"
    session = zk.shared { hosts = "%s", timeout = %d, namespace = "%s" }
    lock = session:lock("/l")
    if keep then zk.spawn(function() kept = lock:acquire() end) end
    if ngx.worker.id() == 0 then
      zk.spawn(function()
        session:election("/nightly"):every(0.05, function()
          ngx.shared.seen:incr("fired", 1, 0)
          ngx.shared.seen:set("pid", ngx.worker.pid())
        end)
      end)
    end
  }
]]

local SERVER = ([[
  location = /names { content_by_lua_block { %s } }
  location = /loaded { content_by_lua_block {
    local names = {}
    for name in pairs(package.loaded) do
      if name:find("zkrecipes.recipes.", 1, true) == 1 then names[#names + 1] = name end
    end
    table.sort(names)
    ngx.print(table.concat(names, " "))
  } }
  location = /fired { content_by_lua_block { ngx.print(ngx.shared.seen:get("fired") or 0, " ", ngx.shared.seen:get("pid") or 0) } }
  location = /work { content_by_lua_block {
    local session = require("zkrecipes").shared()
    local task = zk.spawn(function() zk.sleep(0.001) return session:exists("/") end)
    local hold = lock:acquire(200)
    zk.any { function() zk.sleep(0.001) end, function() zk.sleep(60) end }
    task:wait()
    hold:release()
  } }
  location = /keep { content_by_lua_block { kept = lock:acquire(200) } }
  location = /spawn { content_by_lua_block {
    local tasks, done = {}, 0
    for i = 1, ngx.var.arg_count do tasks[i] = zk.spawn(function() zk.sleep(0.05) return true end) end
    for i = 1, #tasks do done = done + (tasks[i]:wait(200) and 1 or 0) end
    ngx.print(done)
  } }
  location = /worker { content_by_lua_block {
    local sessions = #zk.status().sessions
    ngx.print(ngx.worker.pid(), " ", sessions, " ", ngx.timer.running_count(), " ", ngx.timer.pending_count())
  } }
]]):format((NAMES:gsub("return (table.*)\n", "ngx.print(%1)\n")))

describe("the workers of nginx", function()
  local it_runs, session, namespace

  local function start(workers, http, timeout)
    namespace = env.namespace()
    session = env.session { namespace = namespace }
    assert(session:connected(200))
    it_runs = nginx.start { workers = workers, server = SERVER,
      http = HTTP:format(env.server().hosts, timeout or 60, namespace) .. (http or "") }
  end

  local function candidates() return #(session:children("/nightly") or {}) end

  -- Waits until the worker's timer has fired again. Returns the worker's pid, once it differs from `other`.
  local function fires(other)
    local count = it_runs:get("/fired") and tonumber((select(2, it_runs:get("/fired")):match("^%d+")))
    return assert(process.eventually(function()
      local now, pid = select(2, it_runs:get("/fired")):match("(%d+) (%d+)")
      return tonumber(now) > count + 1 and pid ~= other and pid
    end), "the timer does not fire")
  end

  after_each(function()
    local log = it_runs:log()
    it_runs:stop()
    session:close()
    assert.is_nil(log:find("%[crit%]") or log:find("%[error%]") or log:find("exited on signal [^9]"), log)
  end)

  it("have the same functions and methods as other hosts", function()
    start(1)
    local load_it = loadstring or load -- luacheck: ignore 113
    assert.equal(load_it(NAMES)(), (select(2, it_runs:get("/names"))))
  end)

  it("have loaded all recipes before the first request", function()
    start(1)
    local files = process.output "cd lua && find zkrecipes/recipes -name '*.lua' | sed 's/.lua$//; s|/|.|g' | LC_ALL=C sort | tr '\\n' ' '"
    assert.equal(files, select(2, it_runs:get("/loaded")) .. " ")
  end)

  -- Returns pid > sessions, running timers, pending timers, of both workers, once the figures are the same twice.
  local function counts()
    local seen, before
    return assert(process.eventually(function()
      local open = {}
      seen, before = {}, seen
      for i = 1, 20 do open[i] = it_runs:open("/worker") end
      for i = 1, 20 do
        local pid, text = select(2, nginx.answer(open[i])):match("^(%d+) (.*)$")
        seen[pid] = text
      end
      local first, second = next(seen), next(seen, (next(seen)))
      return second and before and before[first] == seen[first] and before[second] == seen[second] and seen
    end))
  end

  it("have one session each, and only the dispatcher's timers when they are idle", function()
    start(2)
    fires()
    local before, lean = counts(), 0
    for _ = 1, 5 do
      local open = {}
      for i = 1, 20 do open[i] = it_runs:open("/work") end
      for i = 1, 20 do assert.equal(200, (nginx.answer(open[i]))) end
    end
    local after
    process.eventually(function()
      after = counts()
      for pid, text in pairs(before) do
        if after[pid] ~= text then return false end
      end
      return true
    end)
    assert.same(before, after)
    for _, text in pairs(after) do
      assert.matches("^1 %d+ 1$", text)
      if text == "1 1 1" then lean = lean + 1 end -- the worker without a task of its own
    end
    assert.equal(1, lean)
  end)

  it("run spawned coroutines once there are free timers", function()
    start(1, "lua_max_running_timers 8;") -- some of these are in use
    assert.equal("8", (select(2, it_runs:get("/spawn?count=8"))))
    assert.matches("lua_max_running_timers are not enough", it_runs:log())
  end)

  local function queue() return session:children("/l") or {} end

  local function seconds_until(what, condition)
    local from = socket.gettime()
    assert(process.eventually(condition), what)
    return socket.gettime() - from
  end

  it("wait two seconds at their end for a lock that outlives its request, and release it", function()
    start(1, "", 20)
    it_runs:get("/keep")
    local pid, seat = it_runs:workers()[1], queue()[1]
    local from = socket.gettime()
    it_runs:signal("HUP")
    seconds_until("it is released", function() return not session:exists("/l/" .. seat) end)
    local seconds = socket.gettime() - from
    assert.is_true(seconds > 1.5, seconds .. " s")
    seconds_until("the worker ends", function() return not process.runs(pid) end)
  end)

  -- A busy machine delays some of these ends; a worker that waits delays each.
  it("do not wait for a lock that is held in the background", function()
    start(1, "init_by_lua_block { keep = true }", 20)
    local seconds
    assert(process.eventually(function()
      assert(process.eventually(function() return #it_runs:workers() == 1 and #queue() == 1 end))
      local pid, seat = it_runs:workers()[1], queue()[1]
      it_runs:signal("HUP")
      seconds = seconds_until("the worker ends", function() return not process.runs(pid) end)
      seconds_until("it is released", function() return not session:exists("/l/" .. seat) end)
      return seconds < 1.5
    end), tostring(seconds) .. " s")
  end)

  it("take every signal on nginx's own thread", function()
    start(1)
    assert(process.eventually(function() return candidates() == 1 end))
    local own, others = 0, 0
    for path in process.output(("ls -d /proc/%s/task/*"):format(it_runs:workers()[1])):gmatch("[^\n]+") do
      local blocked = process.output("awk '/^SigBlk/ { print $2 }' " .. path .. "/status")
      if path:match("%d+$") == it_runs:workers()[1] then
        assert.equal("0000000000000000", blocked)
        own = own + 1
      else
        assert.matches("^f%x+", blocked) -- all but those that cannot be blocked
        others = others + 1
      end
    end
    assert.equal(1, own)
    assert.is_true(others >= 1)
  end)

  it("have one candidate for all, and another worker takes over after a reload or a crash", function()
    start(3, "", 10)
    local pid = fires()
    assert(process.eventually(function() return candidates() == 1 end))
    it_runs:signal("HUP")
    pid = fires(pid)
    assert(process.eventually(function() return candidates() == 1 end))
    process.output("kill -KILL " .. pid)
    fires(pid)
    assert(process.eventually(function() return candidates() == 1 end))
  end)
end)
