-- The status in an outage, when operators need it most; and its requests to the servers.

require "spec_fork"
local dkjson = require "dkjson"
local host_tasks = require "zkrecipes.host.tasks"
local nginx = require "spec.support.nginx"
local process = require "spec.support.process"
local sim = require "zkrecipes.sim"
local socket = require "socket"
local page = require "zkrecipes.status.page"
local status = require "zkrecipes.status.status"
local testing = require "zkrecipes.testing"

local unpack = table.unpack or unpack -- luacheck: ignore 113

-- Calls fn(world, zk, session) in a world where a process waits for this many locks, each of which has other waiters too.
local function crowded(paths, waiters, fn)
  local world = sim.new { servers = 1, seed = 1 }
  world:run(function()
    local zk, other = world:process(), world:process()
    local session = zk.session { timeout = 10 }
    local theirs = other.session { timeout = 10 }
    local holds = {}
    for i = 1, paths do
      holds[i] = assert(theirs:lock("/q" .. i):acquire(10))
      for _ = 1, waiters do
        local lock = session:lock("/q" .. i)
        zk.spawn(function() lock:acquire() end)
      end
    end
    world:advance(2)
    fn(world, zk, session)
    for i = 1, paths do holds[i]:release() end
    session:close()
    theirs:close()
  end)
end

describe("the places in the queues", function()
  it("cost one listing each, however many wait there, and 20 listings at most", function()
    crowded(25, 20, function(world, zk)
      local before = world:requests(zk)
      local found = zk.status { queues = true }
      assert.equal(20, world:requests(zk) - before)
      assert.equal(20, #found.queues)
      for _, queue in ipairs(found.queues) do
        assert.same({ 21, 20, 2, 21 }, { queue.length, #queue.places, queue.places[1], queue.places[20] })
      end
    end)
  end)

  it("are found without an error, in directories and for unfair locks, which have only one znode", function()
    local behind, failed = host_tasks.behind, {}
    finally(function() host_tasks.behind = behind end)
    crowded(3, 2, function(world, zk, session)
      local unfair = { fair = false }
      local hold = assert(world:session():lock("/u", unfair):acquire(10))
      local waiter = zk.spawn(function() session:lock("/u", unfair):acquire() end)
      world:advance(2)
      host_tasks.behind = function(host, how, fn, ...)
        local on_end = how.on_end
        function how.on_end(task)
          if not task.ok then failed[#failed + 1] = tostring(task.results[1]) end
          if on_end then on_end(task) end
        end
        return behind(host, how, fn, ...)
      end
      local lengths = {}
      for _, queue in ipairs(zk.status { queues = true }.queues) do lengths[queue.path] = queue.length end
      assert.same({ {}, { ["/q1"] = 3, ["/q2"] = 3, ["/q3"] = 3, ["/u"] = 1 } }, { failed, lengths })
      waiter:cancel()
      hold:release()
    end)
  end)

  it("are unknown within a second if no server answers, and at once if the session is not connected", function()
    crowded(20, 10, function(world, zk, session)
      world:partition(zk, "both")
      local from = world:now()
      local found = zk.status { queues = true }
      assert.is_true(world:now() - from <= 1.01, (world:now() - from) .. " s")
      for i = 1, 20 do assert.same({ true, 0 }, { found.queues[i].unknown, #found.queues[i].places }) end
      while session.state == "connected" do world:advance(0.1) end
      from = world:now()
      found = zk.status { queues = true }
      assert.is_true(world:now() - from < 0.01)
      assert.same({ 20, true }, { #found.queues, found.queues[1].unknown })
      world:heal()
      world:advance(30)
    end)
  end)

  it("are queried once for all callers at the same time, or within the age that they accept", function()
    crowded(5, 2, function(world, zk)
      local before, tasks, age = world:requests(zk), {}, { queues = true, max_age = 2 }
      for i = 1, 50 do tasks[i] = zk.spawn(zk.status, age) end
      for i = 1, 50 do assert.equal(5, #tasks[i]:wait().queues) end
      zk.status(age)
      assert.equal(5, world:requests(zk) - before)
      zk.status { queues = true }
      assert.equal(10, world:requests(zk) - before)
      world:advance(2.1)
      before = world:requests(zk)
      zk.status(age)
      assert.is_true(world:requests(zk) - before >= 5)
    end)
  end)

  it("do not depend on the caller that began the query", function()
    crowded(5, 2, function(world, zk)
      world:partition(zk, "to_client")
      local age = { queues = true, max_age = 2 }
      local first, second = zk.spawn(zk.status, age), zk.spawn(zk.status, age)
      world:advance(0.1)
      first:cancel()
      assert.equal(5, #second:wait().queues)
      world:heal()
    end)
  end)

  -- In nginx if no timer is free.
  it("are unknown while the query cannot begin, and then queried once", function()
    local behind, waiting = host_tasks.behind, {}
    finally(function() host_tasks.behind = behind end)
    crowded(5, 2, function(world, zk)
      host_tasks.behind = function(...) waiting[#waiting + 1] = { ... } end
      for _ = 1, 5 do
        local from, found = world:now(), zk.status { queues = true, max_age = 2 }
        assert.is_true(world:now() - from < 2)
        for i = 1, 5 do assert.same({ "/q" .. i, true }, { found.queues[i].path, found.queues[i].unknown }) end
        world:advance(5)
      end
      host_tasks.behind = behind
      assert.equal(1, #waiting)
      behind(unpack(waiting[1]))
      assert.equal(3, zk.status { queues = true, max_age = 2 }.queues[1].length)
    end)
  end)

  it("are shown as unknown by the page and the JSON", function()
    local found = { host = "x", sessions = {}, holds = {}, waiting = {}, granted = 0, released = 0, lost = 0, failed = {}, waits = {},
      waited = 0, tasks = 0, queues = { { path = "/q", places = {}, unknown = true } } }
    assert.matches('>/q</td><td class="number"><span class="bad">unknown</span></td>', page.html { found })
    assert.is_true(dkjson.decode(status.json(found)).queues[1].unknown)
  end)
end)

describe("the figures of the status", function()
  it("keep all their digits", function()
    local counts = { sessions = {}, holds = {}, waiting = {}, granted = 123456789, released = 1e15 + 1, lost = 0, failed = {},
      waits = { { below = 0.001, count = 7654321 }, { count = 123456789 } }, waited = 1234567.25 }
    local text = status.json(counts)
    for _, shown in ipairs { '"granted":123456789,', '"released":1000000000000001,', '"count":7654321}', '"below":0.001',
      '"waited":1234567.25' } do
      assert(text:find(shown, 1, true), text)
    end
    text = status.prometheus { counts }
    assert.matches("\nzkrecipes_granted_total 123456789\n", text)
    assert.matches("\nzkrecipes_released_total 1000000000000001\n", text)
  end)
end)

describe("the status page of nginx", function()
  it("answers in an outage, and shows unknown places as unknown", function()
    local server = assert(testing.start())
    local it_runs = nginx.start { http = ([[ init_worker_by_lua_block {
      zk = require "zkrecipes"
      session = zk.shared { hosts = "%s", timeout = 100 }
      holds = {}
      zk.spawn(function()
        for i = 1, 15 do
          local lock = session:lock("/jobs" .. i)
          holds[i] = assert(lock:acquire())
          zk.spawn(function() lock:acquire() end)
        end
      end)
    } ]]):format(server.hosts), server = [[ location = /status { content_by_lua_block { require("zkrecipes.openresty").status() } } ]] }
    local function look() return dkjson.decode((select(2, it_runs:get("/status?format=json")))).workers[1] end
    assert(process.eventually(function()
      local found = look()
      return #found.queues == 15 and found.queues[15].length == 2 and found.queues[15].places[1] == 2
    end))
    server:pause()
    socket.sleep(2.1) -- the last known places are too old then
    local open, from = {}, socket.gettime()
    for i = 1, 10 do open[i] = it_runs:open("/status?format=json") end
    for i = 1, 10 do
      local found = dkjson.decode((select(2, nginx.answer(open[i])))).workers[1]
      assert.same({ 15, true }, { #found.queues, found.queues[1].unknown })
    end
    local seconds = socket.gettime() - from
    server:resume()
    local raw = it_runs:open("/status?format=prometheus"):receive("*a")
    it_runs:stop()
    server:stop()
    assert.is_true(seconds < 60, seconds .. " s") -- a second; each of the 15 waits for minutes without the limit
    assert.matches("\r\nX%-Content%-Type%-Options: nosniff\r\n", raw)
    assert.matches("\r\nCache%-Control: no%-store\r\n", raw)
  end)
end)
