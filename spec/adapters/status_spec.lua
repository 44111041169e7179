-- The status: of the built-in host as a table, of an nginx worker as JSON, for Prometheus, and in a real browser.

require "spec_fork"
local collect = require "spec.support.collect"
local dkjson = require "dkjson"
local env = require "spec.support.env"
local kinds = require "spec.support.kinds"
local nginx = require "spec.support.nginx"
local process = require "spec.support.process"
local socket = require "socket"
local page = require "zkrecipes.status.page"
local status = require "zkrecipes.status.status"
local zk = require "zkrecipes"

local function held(found, path)
  for _, hold in ipairs(found.holds) do
    if hold.path:find(path, 1, true) == 1 then return hold end
  end
end

describe("the status", function()
  it("shows holds, waiters and their places in the queue, and forgets them", env.run(function()
    local session = env.session()
    local lock = session:lock("/shown")
    local before = zk.status()
    local hold = lock:acquire(200)
    local waiting = env.start(lock.acquire, lock, 200)
    env.queue_of(session, "/shown", 2)
    local found
    env.eventually("an answer within the query's second", function()
      found = zk.status { queues = true }
      return found.queues[1] and not found.queues[1].unknown
    end)
    assert.equal("hold", held(found, "/shown/").kind)
    assert.equal(1, held(found, "/shown/").waiters)
    assert.equal("/shown", found.waiting[1].path)
    assert.same({ { path = "/shown", length = 2, places = { 2 } } }, found.queues)
    assert.equal(before.granted + 1, found.granted)
    hold:release()
    waiting():release()
    lock:acquire(0):release()
    found = zk.status()
    assert.is_nil(held(found, "/shown/"))
    assert.equal(before.released + 3, found.released)
    assert.equal(found.granted, found.waits[#found.waits].count)
    session:close()
  end))

  -- Counts the rows of this path or below it. Also returns the first of them.
  local function of(list, path)
    local count, first = 0, nil
    for _, one in ipairs(list) do
      if one.path == path or one.path:find(path .. "/", 1, true) == 1 then count, first = count + 1, first or one end
    end
    return count, first
  end

  local SHOWN = { term = "term", unfair_term = "term", ranked = "term" }
  local AWAITED = { reader = "rwlock", writer = "rwlock", permit = "semaphore", term = "election", unfair_term = "election",
    ranked = "election" }

  for _, name in ipairs(kinds.names) do
    it("shows and counts " .. name, env.run(function()
      local session, path = env.session(), "/every-" .. name
      local before, each = zk.status(), name == "several" and 2 or 1
      local kind = kinds.make[name](session, path)
      local hold = assert(kind.acquire(200))
      local waiting = env.start(kind.acquire, 200)
      env.eventually("it waits", function() return of(zk.status().waiting, path) == 1 end)
      local found = zk.status()
      local count, first = of(found.holds, path)
      assert.same({ each, SHOWN[name] or "hold" }, { count, first.kind })
      assert.is_true(first.age >= 0 and #first.token == 16)
      local _, one = of(found.waiting, path)
      assert.equal(AWAITED[name] or "lock", one.kind)
      assert.equal(before.granted + each, found.granted)
      kinds.release(hold)
      kinds.release(assert(waiting()))
      hold = assert(kind.acquire(200))
      local _, _, code = env.start(kind.acquire, 0.01)() -- the code depends on whether the servers have answered
      assert.is_true(code == "timeout" or code == "connection_loss", code)
      kinds.release(hold)
      found = zk.status()
      assert.same({ 0, 0 }, { (of(found.holds, path)), (of(found.waiting, path)) })
      assert.equal(before.granted + 3 * each, found.granted)
      assert.equal(before.released + 3 * each, found.released)
      assert.equal((before.failed[code] or 0) + 1, found.failed[code])
      session:close()
    end))
  end

  local ALONE = { unfair = true, cohort = true, unfair_term = true } -- one znode, that of the holder

  for _, name in ipairs(kinds.names) do
    it("shows the places in the queue of " .. name, env.run(function()
      local session = env.session()
      local kind = kinds.make[name](session, "/place-" .. name)
      local hold = assert(kind.acquire(200))
      local waiting, wanted = env.start(kind.acquire, 200), ALONE[name] and "1:" or "2:2"
      env.eventually("it is seen", function()
        local queue = zk.status { queues = true }.queues[1]
        return queue and queue.length .. ":" .. table.concat(queue.places, " ") == wanted
      end)
      kinds.release(hold)
      kinds.release(assert(waiting()))
      session:close()
    end))
  end

  local WAITS = {
    queue = function(session, path) local queue = session:queue(path) return queue, queue.claim end,
    barrier = function(session, path)
      local barrier = session:barrier(path)
      assert(barrier:close())
      return barrier, barrier.wait
    end,
    latch = function(session, path) local latch = session:latch(path, 1) return latch, latch.wait end,
    cyclic_barrier = function(session, path) local barrier = session:cyclic_barrier(path, 4) return barrier, barrier.wait end,
    double_barrier = function(session, path) local barrier = session:double_barrier(path, 4) return barrier, barrier.enter end,
  }

  for name, make in pairs(WAITS) do
    it("shows the waiters at a " .. name .. ", and none that has given up", env.run(function()
      local session, path = env.session(), "/w-" .. name
      local object, method = make(session, path)
      env.late(method(object, 0.05))
      for _, one in ipairs(zk.status().waiting) do assert.is_not.equal(path, one.path) end
      env.eventually("the queue's own lock waits no more", function() return of(zk.status().waiting, path) == 0 end)
      local task = zk.spawn(method, object)
      env.eventually("one waits", function() return of(zk.status().waiting, path) == 1 end)
      local _, first = of(zk.status().waiting, path)
      assert.equal(name, first.kind)
      task:cancel()
      env.fails("canceled", task:wait())
      if coroutine.close then
        local parked = coroutine.create(function() return method(object) end)
        coroutine.resume(parked)
        env.eventually("one waits", function() return of(zk.status().waiting, path) == 1 end)
        assert(coroutine.close(parked))
      end
      for _, one in ipairs(zk.status({ queues = true }).waiting) do assert.is_not.equal(path, one.path) end
      env.eventually("the queue's own lock waits no more", function() return of(zk.status().waiting, path) == 0 end)
      session:close()
    end))
  end

  it("counts only the candidates that wait, not the leader", env.run(function()
    local session = env.session()
    local election = session:election("/led")
    local term = election:campaign(200)
    local waiting = env.start(election.campaign, election, 200)
    env.queue_of(session, "/led", 2)
    local queues
    env.eventually("an answer within the query's second", function()
      queues = zk.status { queues = true }.queues
      return queues[1] and not queues[1].unknown
    end)
    assert.same({ { path = "/led", length = 2, places = { 2 } } }, queues)
    term:resign()
    waiting():resign()
    session:close()
  end))

  it("shows no watched copy that was closed in any way", env.run(function()
    local fork = require "spec_fork"
    local session, closed = env.session(), env.session()
    local function count() return (of(zk.status().trees, "/other")) end
    local by_call, by_scope, by_session = session:tree("/other"), session:tree("/other"), closed:tree("/other")
    local stays = session:tree("/other")
    assert(stays:ready(200))
    assert.equal(4, count())
    by_call:close()
    debug.getmetatable(by_scope).__close(by_scope)
    assert.equal(2, count())
    closed:close()
    env.eventually("the copy of the closed session has ended", function() return count() == 1 end)
    local child = fork.fork()
    if child == 0 then fork.exit(count() or 0) end
    assert.equal(0, fork.wait(child))
    assert.same({ "/other", "/other" }, { by_call.path, by_session.path }) -- none was collected
    stays:close()
    session:close()
  end))

  it("shows watched copies, and none that is closed or collected", env.run(function()
    local session = env.session()
    assert(session:create("/copied", ""))
    assert(session:create("/copied/a", ""))
    local one, two = session:tree("/copied"), session:tree("/copied", { depth = 0 })
    local function trees() return select(2, of(zk.status().trees, "/copied")), (of(zk.status().trees, "/copied")) end
    assert.is_nil(trees().age)
    assert.matches('not loaded</span></td>', page.html { zk.status() })
    assert(one:ready(200) and two:ready(200))
    env.eventually("it is current", function() return one:age() == 0 and two:age() == 0 end)
    local first, count = trees()
    assert.same({ 2, "/copied", 2, 0 }, { count, first.path, first.znodes, first.age })
    assert.matches('<h2>Copies %(%d+%)</h2>.*<td class="path">/copied</td><td class="number">2</td><td class="number">0 ms</td>',
      page.html { zk.status() })
    assert(session:delete("/copied/a"))
    env.eventually("it is gone", function() return trees().znodes == 1 end)
    one:close()
    assert.equal(1, select(2, trees()))
    two = nil -- luacheck: ignore
    collect(2)
    env.eventually("it is gone", function() collect() return not trees() end)
    session:close()
  end))

  it("counts losses and failures", env.run(function()
    for _, name in ipairs { "fair", "cohort", "ranked" } do
      local session = env.session()
      local before, kind = zk.status(), kinds.make[name](session, "/lost")
      local hold = kind.acquire(200)
      env.fails("timeout", kind.acquire(0))
      session:close()
      assert.is_false(hold:valid())
      local found = zk.status()
      assert.equal(before.lost + 1, found.lost)
      assert.equal((before.failed.timeout or 0) + 1, found.failed.timeout)
    end
  end))

  -- The lease has ended, but the host has not noticed yet.
  it("shows no hold whose lease is over, and counts it as lost when its session is", env.run(function()
    local proxy = env.proxy()
    local session = env.session { hosts = proxy.hosts, timeout = 12 }
    local hold = assert(session:lock("/over"):acquire(200))
    local before = zk.status()
    assert.is_table(held(before, "/over/"))
    proxy:freeze()
    repeat socket.sleep(0.01) until not hold:valid()
    local meanwhile = zk.status()
    assert.is_nil(held(meanwhile, "/over/"))
    assert.equal(before.lost, meanwhile.lost)
    proxy:heal()
    assert.equal("lost", (hold:lost(200)))
    env.eventually("it counts", function() return zk.status().lost == before.lost + 1 end)
    session:close()
  end))

  it("does not show objects that are being collected", env.run(function()
    local session = env.session()
    for i = 1, 20 do assert(session:lock("/forgotten" .. i):acquire(200)) end
    for _ = 1, 3 do
      collect() -- once: the finalizers have run, but weak keys still exist
      zk.status()
    end
    assert.is_nil(held(zk.status(), "/forgotten"))
  end))

  it("keeps nothing alive and shows no canceled coroutine", env.run(function()
    local session = env.session()
    local lock = session:lock("/dropped")
    lock:acquire(200)
    collect(2)
    assert.is_nil(held(zk.status(), "/dropped/"))
    local hold = lock:acquire(200)
    local task = zk.spawn(lock.acquire, lock)
    env.eventually("it waits", function() return #zk.status().waiting == 1 end)
    task:cancel()
    env.eventually("it does not", function() return #zk.status().waiting == 0 end)
    hold:release()
    session:close()
  end))

  it("escapes names that other clients have chosen", function()
    local found = zk.status()
    found.waiting = { { kind = "lock", path = '/<b>&"\n', age = 1 } }
    assert.matches("/&lt;b&gt;&amp;&quot;", page.html { found })
    assert.equal('/<b>&"\n', dkjson.decode(status.json(found)).waiting[1].path)
  end)

  it("shows times in fitting units, and no row without a grant", function()
    local found = zk.status()
    found.granted, found.holds = 0, {}
    for i, age in ipairs { 0.0204, 1.26, 119, 3600, 7200, 172800 } do found.holds[i] = { kind = "hold", path = "/", age = age } end
    local text = page.html { found }
    for _, shown in ipairs { "20 ms", "1.3 s", "119.0 s", "60 min", "2.0 h", "2.0 days" } do
      assert(text:find('<td class="number">' .. shown .. "</td>", 1, true), shown)
    end
    assert.matches("<h2>Waits until granted %(0%)</h2>\n<p class=\"none\">none</p>", text)
    found.granted = 1
    assert.matches("<td>up to 60 s</td>", page.html { found })
  end)
end)

describe("the status of an nginx worker", function()
  local it_runs, namespace

  setup(function()
    namespace = env.namespace()
    it_runs = nginx.start { http = ([[ init_worker_by_lua_block {
      zk = require "zkrecipes"
      session = zk.shared { hosts = "%s", timeout = 60, namespace = "%s" }
      holds = {} -- either may be first
      for i = 1, 2 do zk.spawn(function() holds[i] = session:lock("/jobs/report"):acquire() end) end
    } ]]):format(env.server().hosts, namespace),
      server = [[ location = /status { content_by_lua_block { require("zkrecipes.openresty").status() } } ]] }
    assert(process.eventually(function()
      local _, text = it_runs:get("/status?format=json")
      return text:find('"length":2', 1, true) and text:find('"holds":[{', 1, true)
    end))
  end)

  teardown(function() it_runs:stop() end)

  it("is JSON, text for Prometheus, or refused", function()
    local found
    assert(process.eventually(function() -- the query has a second
      found = dkjson.decode((select(2, it_runs:get("/status?format=json")))).workers[1]
      return found.queues[1] and not found.queues[1].unknown
    end))
    assert.same({ 0, 1, 1 }, { found.worker, found.counts.holds, found.counts.waiting })
    assert.equal("connected", found.sessions[1].state)
    assert.equal(1, found.holds[1].waiters)
    assert.same({ 2 }, found.queues[1].places)
    local _, text = it_runs:get("/status?format=prometheus")
    assert.matches('zkrecipes_sessions{worker="0",state="connected"} 1\n', text)
    assert.matches('zkrecipes_wait_seconds_bucket{worker="0",le="%+Inf"} 1\n', text)
    for line in text:gmatch("[^\n]+") do
      assert(line:find("^# %u+ zkrecipes_[%l_]+ .") or line:find('^zkrecipes_[%l_]+{worker="0"} [%d.e+-]+$') or
        line:find('^zkrecipes_[%l_]+{worker="0",%l+="[^"]+"} [%d.e+-]+$'), line)
    end
    for _, name in ipairs { "sessions", "holds", "waiting", "granted_total", "released_total", "lost_total",
      "wait_seconds_sum", "wait_seconds_count" } do
      assert.matches("\nzkrecipes_" .. name .. "[ {]", text)
    end
    assert.equal(400, (it_runs:get("/status?format=xml")))
  end)

  local function browse(options, address)
    return process.output(("timeout 300 chromium --headless --no-sandbox --disable-gpu --user-data-dir=%s/browser %s " ..
      "--dump-dom %s 2>/dev/null"):format(it_runs.dir, options, address))
  end

  it("is a page that a browser shows", function()
    local dom
    process.eventually(function()
      dom = browse("", ("http://127.0.0.1:%d/status"):format(it_runs.port))
      return dom:find('<td class="number">2</td><td class="path">2</td>', 1, true)
    end)
    assert.matches("<h1>zkrecipes</h1>", dom)
    assert.matches("<h2>Held %(1%)</h2>", dom)
    assert.matches("<td>0</td><td>lock</td><td class=\"path\">/jobs/report</td>", dom)
    assert.matches("<td>0</td><td class=\"path\">/jobs/report</td><td class=\"number\">2</td><td class=\"path\">2</td>", dom)
    assert.matches("<td>0</td><td><span>connected</span></td>", dom)
  end)

  it("fits a narrow window", function()
    local found, path = zk.status(), it_runs.dir .. "/narrow.html"
    local long = "/" .. ("long"):rep(60)
    found.sessions = { { state = "connected", id = ("0"):rep(16), server = "127.100.100.100:65535", timeout = 10 } }
    found.holds = { { kind = "hold", path = long, token = ("0"):rep(16), age = 1e5, waiters = 1e5 } }
    found.queues = { { path = long, length = 1e5, places = { 1e4, 1e5 } } }
    local file = assert(io.open(path, "w"))
    file:write(page.html { found }, "<script>document.title = document.documentElement.scrollWidth + ' ' + innerWidth</script>")
    file:close()
    local width, window = browse("--window-size=500,800", "file://" .. path):match("<title>(%d+) (%d+)</title>")
    assert.equal(500, tonumber(window))
    assert.is_true(tonumber(width) <= 500, width .. " pixels wide")
  end)
end)
