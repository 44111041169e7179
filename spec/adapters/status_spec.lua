-- The status: of the built-in host as a table, of an nginx worker as JSON, for Prometheus, and in a real browser.

require "spec_fork"
local dkjson = require "dkjson"
local env = require "spec.support.env"
local nginx = require "spec.support.nginx"
local process = require "spec.support.process"
local page = require "zkrecipes.status_page"
local status = require "zkrecipes.status"
local zk = require "zkrecipes"

local function held(found, path)
  for _, hold in ipairs(found.holds) do
    if hold.path:find(path, 1, true) == 1 then return hold end
  end
end

describe("the status", function()
  it("shows what is held, who waits, and where in the queue; and forgets them", env.run(function()
    local session = env.session()
    local lock = session:lock("/shown")
    local before = zk.status()
    local hold = lock:acquire(10)
    local waiting = env.start(lock.acquire, lock, 10)
    env.queue_of(session, "/shown", 2)
    local found = zk.status { queues = true }
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

  it("counts what was lost, and what failed", env.run(function()
    local session = env.session()
    local before = zk.status()
    local hold = session:lock("/lost"):acquire(10)
    env.fails("timeout", session:lock("/lost"):acquire(0))
    session:close()
    assert.is_false(hold:valid())
    local found = zk.status()
    assert.equal(before.lost + 1, found.lost)
    assert.equal((before.failed.timeout or 0) + 1, found.failed.timeout)
  end))

  it("does not meet what is being collected", env.run(function()
    local session = env.session()
    for i = 1, 20 do assert(session:lock("/forgotten" .. i):acquire(10)) end
    for _ = 1, 3 do
      collectgarbage() -- once: the finalizers have run, weak keys would still be there
      zk.status()
    end
    assert.is_nil(held(zk.status(), "/forgotten"))
  end))

  it("keeps nothing alive and shows nobody who was canceled", env.run(function()
    local session = env.session()
    local lock = session:lock("/dropped")
    lock:acquire(10)
    collectgarbage() collectgarbage()
    assert.is_nil(held(zk.status(), "/dropped/"))
    local hold = lock:acquire(10)
    local task = zk.spawn(lock.acquire, lock)
    env.eventually("it waits", function() return #zk.status().waiting == 1 end)
    task:cancel()
    env.eventually("it does not", function() return #zk.status().waiting == 0 end)
    hold:release()
    session:close()
  end))

  it("escapes what others have named", function()
    local found = zk.status()
    found.waiting = { { kind = "lock", path = '/<b>&"\n', age = 1 } }
    assert.matches("/&lt;b&gt;&amp;&quot;", page.html(found))
    assert.equal('/<b>&"\n', dkjson.decode(status.json(found)).waiting[1].path)
  end)
end)

describe("the status of an nginx worker", function()
  local it_runs, namespace

  setup(function()
    namespace = env.namespace()
    it_runs = nginx.start { http = ([[ init_worker_by_lua_block {
      zk = require "zkrecipes"
      session = zk.shared { hosts = "%s", namespace = "%s" }
      zk.spawn(function() hold = session:lock("/jobs/report"):acquire() session:lock("/jobs/report"):acquire() end)
    } ]]):format(env.server().hosts, namespace),
      server = [[ location = /status { content_by_lua_block { require("zkrecipes.openresty").status() } } ]] }
    assert(process.eventually(function()
      local _, text = it_runs:get("/status?format=json")
      return text:find('"length":2', 1, true) and text:find('"holds":[{', 1, true)
    end))
  end)

  teardown(function() it_runs:stop() end)

  it("is JSON, text for Prometheus, or refused", function()
    local _, json = it_runs:get("/status?format=json")
    local found = dkjson.decode(json)
    assert.equal("connected", found.sessions[1].state)
    assert.equal(1, found.holds[1].waiters)
    assert.same({ 2 }, found.queues[1].places)
    local _, text = it_runs:get("/status?format=prometheus")
    assert.matches('zkrecipes_sessions{state="connected"} 1\n', text)
    assert.matches('zkrecipes_wait_seconds_bucket{le="%+Inf"} 1\n', text)
    for line in text:gmatch("[^\n]+") do
      assert(line:find("^# %u+ zkrecipes_[%l_]+ .") or line:find("^zkrecipes_[%l_]+ [%d.e+-]+$") or
        line:find('^zkrecipes_[%l_]+{%l+="[^"]+"} [%d.e+-]+$'), line)
    end
    assert.equal(400, (it_runs:get("/status?format=xml")))
  end)

  it("is a page that a browser shows", function()
    local dom = process.output(("timeout 60 chromium --headless --no-sandbox --disable-gpu --user-data-dir=%s/browser " ..
      "--dump-dom http://127.0.0.1:%d/status 2>/dev/null"):format(it_runs.dir, it_runs.port))
    assert.matches("<h1>zkrecipes</h1>", dom)
    assert.matches("<h2>Held %(1%)</h2>", dom)
    assert.matches("<td>lock</td><td>/jobs/report</td>", dom)
    assert.matches("<td>/jobs/report</td><td class=\"number\">2</td><td>2</td>", dom)
    assert.matches("<td><span>connected</span></td>", dom)
  end)
end)
