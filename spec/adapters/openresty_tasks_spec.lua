-- Inside a real nginx: tasks whose light thread nginx ends silently, as after ngx.exit.

require "spec_fork"
local env = require "spec.support.env"
local nginx = require "spec.support.nginx"
local process = require "spec.support.process"

local HTTP = [[
  init_worker_by_lua_block {
    zk = require "zkrecipes"
    core = require "zkrecipes.core"
    session = zk.shared { hosts = "%s", timeout = 20, namespace = "%s" }
    lock = session:lock("/l")
    terms, told, strangers, left = 0, 0, {}, {}
    function exit() ngx.exit(ngx.OK) end
    function tasks()
      local count = 0
      for _ in pairs(core.host(session).tasks) do count = count + 1 end
      return count
    end
    if leads then zk.spawn(function()
      session:election("/e"):lead(function()
        terms = terms + 1
        exit()
      end, { backoff = 0.01 })
    end) end
  }
  lua_max_running_timers 4096;
  lua_max_pending_timers 4096;
]]

local SERVER = [[
  location = /answers { content_by_lua_block {
    local ok, all_said = pcall(zk.all, { function() zk.sleep(0.01) exit() end, function() zk.sleep(60) end })
    local any_ok, any_said = pcall(zk.any, { exit, function() zk.sleep(60) end })
    local value, message, code = zk.spawn(exit):wait(200)
    ngx.say(tostring(ok), " ", all_said)
    ngx.say(tostring(any_ok), " ", any_said)
    ngx.say(tostring(value), " ", message, " ", code)
  } }

  # Tasks that have ended themselves are canceled, while others use their coroutines.
  location = /poison { content_by_lua_block {
    for i = 1, 50 do left[i] = zk.spawn(function() ngx.sleep(0.001) exit() end) end
    ngx.sleep(0.05)
    for i = 1, 50 do left[i]:cancel() end
  } }
  location = /stranger { content_by_lua_block {
    for _ = 1, 5 do
      zk.sleep(0.001)
      session:exists("/")
    end
    ngx.print("unharmed")
  } }

  location = /many { content_by_lua_block {
    for i = 1, ngx.var.arg_count do zk.spawn(exit) end
    local limit = zk.now() + 200
    while tasks() > 0 and zk.now() < limit do ngx.sleep(0.01) end
    jit.flush() collectgarbage() collectgarbage()
    ngx.print(tasks(), " ", collectgarbage("count"))
  } }

  location = /waits { content_by_lua_block {
    local task = zk.spawn(exit)
    ngx.print(select(3, task:wait()))
  } }

  location = /holds { content_by_lua_block {
    local task = zk.spawn(function()
      lock:with(200, function() exit() end)
    end)
    ngx.print(select(3, task:wait()))
    jit.flush() collectgarbage() collectgarbage()
  } }

  location = /terms { content_by_lua_block { ngx.print(terms) } }

  # It waits for the lock when nginx ends it, by another light thread of the same timer.
  location = /parked { content_by_lua_block {
    local hold = assert(lock:acquire(200))
    local task = zk.spawn(function()
      ngx.thread.spawn(function() ngx.sleep(0.05) exit() end)
      lock:acquire()
    end)
    local _, _, code = task:wait()
    local limit = zk.now() + 200
    while #session:children("/l") > 1 and zk.now() < limit do ngx.sleep(0.01) end
    ngx.print(code, " ", #session:children("/l"))
    hold:release()
  } }

  # A participant's function ends its task; `commits` counts the calls.
  location = /commits { content_by_lua_block {
    local two, commits = session:two_phase "/tp", 0
    local function yes() return true end
    local function commit()
      commits = commits + 1
      if commits < 3 then exit() end
      return true
    end
    local part = two:serve("one", { prepare = yes, commit = commit, abort = yes })
    local outcome = two:run("t", "", { "one" }, 200)
    local limit = zk.now() + 200
    while #two:pending() > 0 and zk.now() < limit do ngx.sleep(0.01) end
    ngx.print(outcome, " ", commits, " ", #two:pending())
    part:close()
  } }

  location = /log { content_by_lua_block {
    local other = zk.session { hosts = "127.0.0.1:1", timeout = 4, log = function() told = told + 1 exit() end }
    local limit = zk.now() + 200
    while told == 0 and zk.now() < limit do ngx.sleep(0.01) end
    ngx.print(told > 0 and session:exists("/") ~= nil and "goes on" or "nobody was told")
    other:close()
  } }
]]

describe("a task in nginx that ends its light thread", function()
  local it_runs, session, namespace

  local function start(http)
    namespace = env.namespace()
    session = env.session { namespace = namespace }
    assert(session:connected(200))
    it_runs = nginx.start { http = (http or "") .. HTTP:format(env.server().hosts, namespace), server = SERVER,
      connections = 4096 }
  end

  -- A failure is reported if no coroutine waits for the task. Nothing else is reported.
  after_each(function()
    local log = it_runs:log()
    it_runs:stop()
    session:close()
    for line in log:gmatch("[^\n]+") do
      local bad = line:find("%[crit%]") or line:find("%[error%]") or line:find("exited on signal")
      assert(not bad or line:find("its coroutine was ended from outside", 1, true), line)
    end
  end)

  it("fails its task:wait, zk.all and zk.any", function()
    start()
    local _, body = it_runs:get("/answers")
    assert.equal("false its coroutine was ended from outside (in nginx: by ngx.exit)\n" ..
      "false its coroutine was ended from outside (in nginx: by ngx.exit)\n" ..
      "nil task:wait: the task failed: its coroutine was ended from outside (in nginx: by ngx.exit) error\n", body)
  end)

  it("can still be canceled without harm", function()
    start()
    for _ = 1, 3 do
      it_runs:get("/poison")
      local open = {}
      for i = 1, 30 do open[i] = it_runs:open("/stranger") end
      for i = 1, 30 do
        local status, body = nginx.answer(open[i])
        assert.same({ 200, "unharmed" }, { status, body })
      end
    end
  end)

  it("is forgotten; thousands of them use no memory", function()
    start()
    it_runs:get("/many?count=1000")
    local tasks, before = select(2, it_runs:get("/many?count=1000")):match("(%d+) (%S+)")
    for _ = 1, 4 do it_runs:get("/many?count=1000") end
    local still, after = select(2, it_runs:get("/many?count=1000")):match("(%d+) (%S+)")
    assert.same({ "0", "0" }, { tasks, still })
    local bytes = (tonumber(after) - tonumber(before)) * 1024 / 5000
    assert.is_true(bytes < 40, bytes .. " bytes for each")
  end)

  it("does not delay the end of a worker", function()
    start()
    local old = it_runs:workers()[1]
    local waits = {}
    for i = 1, 10 do waits[i] = it_runs:open("/waits") end
    it_runs:signal("HUP")
    for i = 1, 10 do assert.equal("error", (select(2, nginx.answer(waits[i])))) end
    assert(process.eventually(function() return not process.runs(old) end), "it is still there")
  end)

  it("releases its holds once it is collected, and ends its waits at once", function()
    start()
    assert.equal("error", (select(2, it_runs:get("/holds"))))
    assert(process.eventually(function() return #(session:children("/l") or {}) == 0 end))
    assert.equal("error 1", (select(2, it_runs:get("/parked"))))
  end)

  it("resigns if it leads, and its election continues", function()
    start("init_by_lua_block { leads = true }\n")
    assert(process.eventually(function() return tonumber((select(2, it_runs:get("/terms")))) >= 2 end))
  end)

  it("is begun again if it does the work of a participant", function()
    start()
    assert.equal("committed 3 0", (select(2, it_runs:get("/commits", 250))))
  end)

  it("as a session's log function does not end the dispatcher", function()
    start()
    assert.equal("goes on", (select(2, it_runs:get("/log"))))
  end)
end)
