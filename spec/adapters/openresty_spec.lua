-- Inside a real nginx: a wait suspends only its own request; a request leaves nothing, however it ends; and workers start
-- and end without two holders or anything left behind.

require "spec_fork"
local env = require "spec.support.env"
local nginx = require "spec.support.nginx"
local process = require "spec.support.process"
local socket = require "socket"
local testing = require "zkrecipes.testing"

local INIT = [[
  init_worker_by_lua_block {
    zk = require "zkrecipes"
    session = zk.shared { hosts = "%s", timeout = short and 20 or 60, namespace = "%s", request_timeout = 200 }
    lock = session:lock("/l")
  }
  %s
]]

local HANDLERS = [[
  location = /lock { content_by_lua_block {
    local hold, message, code = lock:acquire(tonumber(ngx.var.arg_limit))
    if not hold then return ngx.say(code) end
    while ngx.var.arg_gate and not session:exists(ngx.var.arg_gate) do ngx.sleep(0.01) end
    ngx.say(hold.token, " ", tostring(hold:valid()))
    hold:release()
  } }
  location = /access {
    access_by_lua_block { ngx.ctx.hold = assert(lock:acquire(200)) }
    content_by_lua_block { ngx.say(ngx.ctx.hold.token) ngx.ctx.hold:release() }
  }
  location = /keep { content_by_lua_block { kept = assert(lock:acquire(200)) ngx.say("kept") } }
  location = /drop { content_by_lua_block { kept:release() ngx.say("dropped") } }
  location = /abort {
    lua_check_client_abort on;
    content_by_lua_block {
      ngx.send_headers() ngx.flush(true)
      local hold = lock:acquire(600) ngx.sleep(600) hold:release()
    }
    log_by_lua_block { require("zkrecipes.openresty").release() }
  }
  location = /phase {
    set_by_lua_block $set { local ok, problem = pcall(session.exists, session, "/") return problem }
    content_by_lua_block {
      ngx.say(ngx.var.set)
      local ok, problem = pcall(table.sort, { 1, 2 }, function() session:exists("/") end)
      ngx.say(problem)
      ngx.say(tostring(session:exists("/nothing")))
    }
  }
]]

local SOON = 30 -- seconds: half of the sessions' timeout, so no session has expired

local server, session, namespace, running

local function start(options)
  options = options or {}
  namespace = env.namespace()
  session = env.session { namespace = namespace }
  assert(session:connected(200))
  running = nginx.start {
    http = INIT:format(server.hosts, namespace, options.http or ""),
    server = HANDLERS .. (options.server or ""), workers = options.workers, main = options.main,
  }
  return running
end

-- The number of contenders for the lock.
local function queue() return #(session:children("/l") or {}) end

local function becomes(number, limit)
  assert(process.eventually(function() return queue() == number end, limit), "the queue of the lock is " .. queue())
end

describe("in nginx", function()
  setup(function() server = env.server() end)
  after_each(function()
    if running then
      local log = running:log()
      running:stop()
      running = nil
      assert.is_nil(log:find("%[crit%]") or log:find("%[error%]") or log:find("exited on signal [^9]"), log)
    end
    if session then session:close() end
    session = nil
  end)

  it("a handler acquires a lock in the content or access phase while other requests are served", function()
    local it = start()
    local status, body = it:get("/lock")
    assert.equal(200, status)
    assert.matches("^%x+ true\n$", body)
    assert.equal("200", tostring((it:get("/access"))))
    it:get("/keep")
    assert.equal("timeout\n", select(2, it:get("/lock?limit=0")))
    local late = select(2, it:get("/lock?limit=0.05"))
    assert.is_true(late == "timeout\n" or late == "connection_loss\n", late) -- depends on whether the servers have answered
    local waiting = it:open("/lock?limit=200")
    becomes(2)
    assert.equal("plain\n", select(2, it:get("/plain")))
    it:get("/drop")
    assert.matches("true", select(2, nginx.answer(waiting)))
    becomes(0)
  end)

  it("each request gets the lock, one at a time, while cosockets work", function()
    local it = start { server = [[
      location = /sum { content_by_lua_block {
        lock:with(200, function()
          local socket = ngx.socket.tcp()
          assert(socket:connect("127.0.0.1", ngx.var.server_port))
          socket:send("GET /plain HTTP/1.0\r\n\r\n")
          inside = (inside or 0) + 1
          most = math.max(most or 0, inside)
          socket:receive("*a")
          inside = inside - 1
        end)
        ngx.say(most)
      } } ]] }
    local open = {}
    for i = 1, 40 do open[i] = it:open("/sum") end
    for i = 1, 40 do assert.equal("1\n", select(2, nginx.answer(open[i]))) end
    becomes(0)
  end)

  it("a wait raises a clear error in a phase that cannot wait, and inside a C function", function()
    local it = start()
    local _, body = it:get("/phase")
    assert.matches("cannot wait in set_by_lua", body)
    assert.matches("cannot wait inside of a C function", body)
    assert.matches("\nfalse\n$", body)
  end)

  it("nothing can be opened before the fork", function()
    local it = start { http = [[ init_by_lua_block {
      local ok, problem = pcall(require("zkrecipes").session, { hosts = "127.0.0.1:1" })
      before = problem
    } ]], server = [[ location = /before { content_by_lua_block { ngx.say(before) } } ]] }
    assert.matches("in init_by_lua, before nginx has forked", select(2, it:get("/before")))
    assert.equal(200, (it:get("/lock")))
  end)

  it("timers, tasks and light threads wait, sleep and are canceled", function()
    local it = start { server = [[
      location = /many { content_by_lua_block {
        local done = {}
        ngx.timer.at(0, function() session:create("/timer", "x") done.timer = true end)
        local light = ngx.thread.spawn(function() return lock:acquire(200) end)
        local a, b = zk.all { function() zk.sleep(0.02) return "a" end, function() return session:get("/timer") or "none" end }
        local ok, hold = ngx.thread.wait(light)
        local task = zk.spawn(function() return lock:acquire() end)
        zk.sleep(0.02)
        task:cancel()
        local _, _, code = task:wait(200)
        hold:release()
        zk.sleep(0)
        ngx.say(a, " ", ok, " ", code, " ", tostring(done.timer))
      } } ]] }
    assert.equal("a true canceled true\n", select(2, it:get("/many")))
    becomes(0)
  end)

  it("two sessions of a worker see each other; the shared one is one", function()
    local it = start { server = [[
      location = /two { content_by_lua_block {
        local other = zk.session { hosts = session_hosts or "]] .. server.hosts .. [[", namespace = "/two-nginx" }
        local a, b = other:lock("/x"):acquire(200), other:lock("/x"):acquire(0)
        ngx.say(tostring(a and not b), tostring(zk.shared() == session), other.id ~= session.id)
        ngx.say(select(2, pcall(zk.shared, { timeout = 99 })))
        other:close()
      } } ]] }
    local _, body = it:get("/two")
    assert.matches("^truetruetrue\n", body)
    assert.matches("option 'timeout' differs", body)
  end)

  it("a client that disconnects while its handler waits leaves nothing", function()
    local it = start()
    it:get("/keep")
    local gone = {}
    for i = 1, 20 do gone[i] = it:open("/abort") end
    becomes(21)
    for i = 1, 20 do gone[i]:close() end
    becomes(1, SOON)
    it:get("/drop")
    becomes(0)
    local holder = it:open("/abort")
    becomes(1)
    holder:close() -- while it holds the lock: the log phase releases it
    becomes(0, SOON)
    assert.matches("true", select(2, it:get("/lock?limit=200")))
  end)

  it("clients that disconnect at any moment leave nothing", function()
    local it = start()
    for round = 1, 10 do
      local open = {}
      for i = 1, 20 do open[i] = it:open(i % 4 == 0 and "/lock?limit=200" or "/abort") end
      -- nginx does not notice a client that has disconnected before the handler began.
      for i = 1, 20 do
        if i % 4 ~= 0 then open[i]:receive("*l") end
      end
      socket.sleep(0.001 * (round % 4))
      for i = 1, 20 do
        if i % 4 ~= 0 then open[i]:close() end
      end
      for i = 4, 20, 4 do assert.equal(200, (nginx.answer(open[i]))) end
    end
    becomes(0, SOON)
  end)

  it("the waits of a handler that ends itself, or of a killed light thread, are given up", function()
    local it = start { server = [[
      location = /kill { content_by_lua_block {
        local light = ngx.thread.spawn(function() lock:acquire() end)
        ngx.sleep(0.05)
        ngx.thread.kill(light)
        ngx.say("killed")
      } }
      location = /exit { content_by_lua_block {
        ngx.thread.spawn(function() lock:acquire() end)
        ngx.sleep(0.05)
        ngx.exit(204)
      } } ]] }
    it:get("/keep")
    assert.equal(200, (it:get("/kill")))
    assert.equal(204, (it:get("/exit")))
    becomes(1, SOON)
    it:get("/drop")
    becomes(0, SOON)
  end)

  -- A task that holds the lock, one that waits for it, a plain timer that waits, and one that sleeps.
  local BACKGROUND = [[
    init_worker_by_lua_block {
      zk = require "zkrecipes"
      session = zk.shared { hosts = "%s", timeout = 60, namespace = "%s" }
      lock = session:lock("/l")
      local function work() lock:with(function() while true do zk.sleep(0.01) end end) end
      zk.spawn(work)
      zk.spawn(work)
      ngx.timer.at(0, function() pcall(lock.acquire, lock) end)
      zk.spawn(zk.sleep, 3600)
    }
  ]]

  local function ends_soon(pid, from, what)
    assert(process.eventually(function() return not process.runs(pid) end), "the worker is still there: " .. what)
    return socket.gettime() - from
  end

  for _, signal in ipairs { "HUP", "QUIT", "TERM" } do
    it("SIG" .. signal .. ": the worker ends at once and stops background tasks that wait", function()
      namespace = env.namespace()
      session = env.session { namespace = namespace }
      running = nginx.start { http = BACKGROUND:format(server.hosts, namespace) }
      becomes(3)
      local before = session:children("/l")
      local old = running:workers()[1]
      local from = socket.gettime()
      running:signal(signal)
      assert.is_true(ends_soon(old, from, running:log()) < SOON)
      becomes(signal == "HUP" and 3 or 0, SOON)
      for _, name in ipairs(before) do
        assert(process.eventually(function() return session:exists("/l/" .. name) == false end, SOON))
      end
    end)
  end

  it("an idle worker ends at once", function()
    local it = start()
    it:get("/lock")
    socket.sleep(1) -- until the worker's timer has nothing to do
    local from, old = socket.gettime(), it:workers()[1]
    it:signal("QUIT")
    assert.is_true(ends_soon(old, from, it:log()) < SOON)
  end)

  it("a reload lets waiting and holding requests finish in the old worker", function()
    local it = start()
    local old = it:workers()[1]
    local holds, waits = it:open("/lock?limit=200&gate=/gate"), it:open("/lock?limit=200&gate=/gate")
    becomes(2)
    local from = socket.gettime()
    it:signal("HUP")
    assert(process.eventually(function() return #it:workers() == 2 end), "no new worker beside the old one")
    assert(session:create("/gate", ""))
    assert.matches("true", select(2, nginx.answer(holds)))
    assert.matches("true", select(2, nginx.answer(waits)))
    ends_soon(old, from, it:log())
    becomes(0, SOON)
  end)

  -- The shared memory of nginx outlives a reload: it counts the leaders.
  it("never two workers lead, through reloads and while requests come", function()
    namespace = env.namespace()
    running = nginx.start { workers = 2, http = ([[
      lua_shared_dict seen 1m;
      init_worker_by_lua_block {
        zk = require "zkrecipes"
        session = zk.shared { hosts = "%s", timeout = 60, namespace = "%s" }
        zk.spawn(function()
          session:election("/e"):lead(function(term)
            local seen = ngx.shared.seen
            if seen:incr("leaders", 1, 0) > 1 then seen:set("two", true) end
            seen:incr("terms", 1, 0)
            zk.pcall(zk.sleep, 3600)
            seen:incr("leaders", -1)
          end)
        end)
      }
    ]]):format(server.hosts, namespace), server = [[ location = /seen { content_by_lua_block {
      local seen = ngx.shared.seen
      ngx.say(seen:get("leaders") or 0, " ", seen:get("terms") or 0, " ", tostring(seen:get("two")))
    } } ]] }
    local function terms(at_least)
      assert(process.eventually(function()
        local leaders, count, two = select(2, running:get("/seen")):match("(%d+) (%d+) (%l+)")
        assert.equal("nil", two)
        return tonumber(leaders) == 1 and tonumber(count) >= at_least
      end), "nobody leads")
    end
    for reload = 1, 6 do
      terms(reload)
      running:signal("HUP")
      assert(process.eventually(function() return #running:workers() == 2 end))
    end
    terms(7)
  end)

  it("a worker that is killed loses its locks with its session, and the next one opens its own", function()
    local it = start { http = [[ init_by_lua_block { short = true } ]] }
    it:get("/keep")
    local old = it:workers()[1]
    process.output("kill -KILL " .. old)
    assert(process.eventually(function() return it:workers()[1] and it:workers()[1] ~= old end))
    assert.matches("true", select(2, it:get("/lock?limit=200")))
    becomes(0)
  end)

  -- Each request has a Lua state of its own. Calls `meanwhile` after some requests; then nothing may be left of their sessions.
  local function without_code_cache(hosts, meanwhile)
    running = nginx.start { http = "lua_code_cache off;", server = [[ location = / { content_by_lua_block {
      local zk = require "zkrecipes"
      local session = zk.shared { hosts = "]] .. hosts .. [[", timeout = 60, namespace = "]] .. namespace .. [[",
        log = function() end } -- nobody reads the last lines
      local hold = assert(session:lock("/l"):acquire(200))
      ngx.say(hold.token)
      hold:release()
    } } ]] }
    local function descriptors() return tonumber(process.output("ls /proc/" .. running:workers()[1] .. "/fd | wc -l")) end
    assert.equal(200, (running:get("/plain"))) -- a newly forked worker opens some more
    local before = descriptors()
    for _ = 1, 20 do assert.equal(200, (running:get("/"))) end
    meanwhile()
    local kept = 4 -- three of the I/O thread, and the guardian's program
    assert(process.eventually(function() return descriptors() <= before + kept end), descriptors() .. " descriptors")
  end

  it("sessions do not accumulate without the code cache", function()
    namespace = env.namespace()
    session = env.session { namespace = namespace }
    without_code_cache(server.hosts, function() end)
    becomes(0)
  end)

  it("sessions do not accumulate either if the server does not answer when their Lua state ends", function()
    namespace = env.namespace()
    local own = assert(testing.start())
    without_code_cache(own.hosts, function() assert(own:pause()) end)
    own:stop()
  end)

  it("a handler is woken by the event that it waits for, not by a timer", function()
    local it = start { server = [[ location = /wake { content_by_lua_block {
      local times, asked = {}, 0
      local light = ngx.thread.spawn(function()
        for i = 1, 500 do
          lock:acquire()
          times[i] = (zk.now() - asked) * 1e6
        end
      end)
      while #times < 500 do
        ngx.sleep(0.002)
        asked = zk.now()
        lock:cancel()
      end
      ngx.thread.wait(light)
      table.sort(times)
      ngx.say(times[50], " ", times[250])
    } } ]] }
    it:get("/keep")
    local _, body = it:get("/wake", 1500)
    local quick, median = body:match("(%S+) (%S+)")
    assert(quick, it:log())
    print(("wake-up: one in ten within %.0f us, median %.0f us"):format(quick, median))
    assert.is_true(tonumber(quick) < 100, "one in ten within " .. quick .. " us") -- a busy machine may delay the others
  end)
end)
