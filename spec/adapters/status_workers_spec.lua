-- The status of several workers of a real nginx: any worker shows the status of all.

local dkjson = require "dkjson"
local env = require "spec.support.env"
local nginx = require "spec.support.nginx"
local process = require "spec.support.process"

-- Each worker holds /own/<its number> and waits for /common, which one of them holds.
local WORK = [[ init_worker_by_lua_block {
  zk = require "zkrecipes"
  session = zk.shared { hosts = "%s", timeout = 60, namespace = "%s" }
  holds = {}
  zk.spawn(function() holds[1] = session:lock("/own/" .. ngx.worker.id()):acquire() end)
  zk.spawn(function() holds[2] = session:lock("/common"):acquire() end)
} ]]

local SERVER = [[
  location = /status { content_by_lua_block { require("zkrecipes.openresty").status() } }
  location = /slow { content_by_lua_block {
    ngx.shared.test:incr("begun", 1, 0)
    repeat ngx.sleep(0.05) until ngx.shared.test:get("done")
    ngx.say(ngx.worker.pid())
  } }
  location = /begun { content_by_lua_block { ngx.print(ngx.shared.test:get("begun") or 0) } }
  location = /forge { content_by_lua_block {
    local dict = ngx.shared.zkrecipes
    for _, key in ipairs(dict:get_keys(0)) do
      if key:find("^status:0:") then
        local text = dict:get(key):gsub('"pid":%d+', '"pid":1'):gsub('"started":[%d.]+', '"started":' .. ngx.var.arg_started)
        dict:set("status:0:1", text, ngx.var.arg_started == "0" and 0.001 or 0)
      end
    end
  } }
  location = /raw { content_by_lua_block {
    local dict = ngx.shared.zkrecipes
    for _, key in ipairs(dict:get_keys(0)) do
      if key:find("^status:") then ngx.say(dict:get(key)) end
    end
  } }
  location = /done { content_by_lua_block { ngx.shared.test:set("done", true) } }
]]

local function start(workers, http, server)
  local work = WORK:format(env.server().hosts, env.namespace())
  return nginx.start { workers = workers, http = "lua_shared_dict test 100k;\n" .. http .. "\n" .. work, server = SERVER .. (server or "") }
end

local function look(it_runs) return dkjson.decode((select(2, it_runs:get("/status?format=json")))) end

local function numbers(found)
  local list = {}
  for i, worker in ipairs(found.workers) do list[i] = worker.worker end
  return table.concat(list, " ")
end

-- Reads the status until it fulfills the condition.
local function eventually(it_runs, condition)
  return assert(process.eventually(function()
    local found = look(it_runs)
    return condition(found)
  end))
end

-- True if all workers show their hold and their places in the queue; one worker does not wait.
local function settled(found)
  local holds, waiting, queues = 0, 0, 0
  for _, worker in ipairs(found.workers) do
    holds, waiting = holds + #worker.holds, waiting + #worker.waiting
    queues = queues + (worker.queues and #worker.queues or 0)
  end
  return #found.workers == 3 and holds == 4 and waiting == 2 and queues == 2 and #found.notes == 0 and found
end

describe("the status of three nginx workers", function()
  local it_runs

  setup(function() it_runs = start(3, "lua_shared_dict zkrecipes 1m;") end)
  teardown(function() it_runs:stop() end)

  it("shows all workers, whichever answers, and no hint", function()
    local found = eventually(it_runs, settled)
    assert.equal("0 1 2", numbers(found))
    assert.same({}, found.notes)
    local pids = {}
    for _, pid in ipairs(it_runs:workers()) do pids[tonumber(pid)] = true end
    for i, worker in ipairs(found.workers) do
      assert.is_true(pids[worker.pid])
      assert.equal("connected", worker.sessions[1].state)
      local own = 0
      for _, hold in ipairs(worker.holds) do own = own + (hold.path:find("/own/" .. (i - 1) .. "/", 1, true) and 1 or 0) end
      assert.equal(1, own)
    end
  end)

  it("has a series for each worker in the text for Prometheus, grouped by name", function()
    eventually(it_runs, settled)
    local _, text = it_runs:get("/status?format=prometheus")
    local before, seen, held = nil, {}, {}
    for line in text:gmatch("[^\n]+") do
      local name, worker = line:match('^(zkrecipes_[%l_]+){worker="(%d)"')
      if name then
        name = name:gsub("_bucket$", ""):gsub("_sum$", ""):gsub("_count$", "")
        assert(name == before or not seen[name], line)
        before, seen[name] = name, true
        if name == "zkrecipes_holds" then held[#held + 1] = worker .. ":" .. line:match("%d+$") end
      else
        assert.matches("^# ", line)
      end
    end
    assert.equal(3, #held)
    assert.matches("^0:[12] 1:[12] 2:[12]$", table.concat(held, " "))
  end)

  it("shows the worker that was started last under each number", function()
    eventually(it_runs, settled)
    for _, case in ipairs { { "1", false }, { "9999999999", true } } do
      assert.equal(200, (it_runs:get("/forge?started=" .. case[1])))
      for _ = 1, 9 do
        local found = look(it_runs)
        assert.same({ 3, case[2] }, { #found.workers, found.workers[1].pid == 1 })
      end
    end
    it_runs:get("/forge?started=0")
    eventually(it_runs, settled)
  end)

  it("is a page with the rows of all of them", function()
    local dom = assert(process.eventually(function() -- the queues are shown only if a client has asked some seconds before
      eventually(it_runs, settled)
      local dom = process.output(("(while :; do curl -s 'http://127.0.0.1:%d/status?format=json'; sleep 1; done) >/dev/null 2>&1 & " ..
        "asks=$!; timeout 300 chromium --headless --no-sandbox --disable-gpu --user-data-dir=%s/browser " ..
        "--dump-dom http://127.0.0.1:%d/status 2>/dev/null; kill $asks"):format(it_runs.port, it_runs.dir, it_runs.port))
      return dom:find("<h2>Queues (2)</h2>", 1, true) and dom
    end))
    assert.matches("<p>nginx, 3 of 3 workers; worker %d has answered", dom)
    assert.matches("<h2>Workers %(3%)</h2>", dom)
    assert.matches("<h2>Sessions %(3%)</h2>", dom)
    assert.matches("<h2>Held %(4%)</h2>", dom)
    assert.matches("<h2>Waiting %(2%)</h2>", dom)
    for number = 0, 2 do
      assert.matches(("<td>%d</td><td>hold</td><td class=\"path\">/own/%d/"):format(number, number), dom)
    end
  end)
end)

describe("a worker's published status", function()
  it("includes its queues, which need requests, only while clients ask for the status", function()
    local it_runs = start(2, "lua_shared_dict zkrecipes 1m;")
    local function raw() return (select(2, it_runs:get("/raw"))) end
    local text = assert(process.eventually(function()
      local text = raw()
      return text:find('"waiting":[{', 1, true) and text
    end))
    assert.is_nil(text:find('"queues"', 1, true))
    it_runs:get("/status?format=prometheus")
    assert.is_nil(raw():find('"queues"', 1, true))
    it_runs:get("/status?format=json")
    local queues = process.eventually(function() return raw():find('"queues":[{', 1, true) end)
    it_runs:stop()
    assert.is_truthy(queues)
  end)
end)

describe("after a reload the status", function()
  it("shows the new workers while old workers still serve, and drops workers that are gone", function()
    local it_runs = start(3, "lua_shared_dict zkrecipes 1m;")
    local old, before = {}, eventually(it_runs, function(found) return numbers(found) == "0 1 2" and found end)
    for _, worker in ipairs(before.workers) do old[worker.pid] = true end
    local slow = {}
    for i = 1, 9 do slow[i] = it_runs:open("/slow") end -- so every worker, or nearly every one, has one of them
    assert(process.eventually(function() return select(2, it_runs:get("/begun")) == "9" end))
    local conf = it_runs:read("nginx.conf")
    local file = assert(io.open(it_runs.dir .. "/nginx.conf", "w"))
    file:write((conf:gsub("worker_processes 3", "worker_processes 2")))
    file:close()
    it_runs:signal("HUP")
    local found = eventually(it_runs, function(found)
      return #found.workers > 1 and not old[found.workers[1].pid] and not old[found.workers[2].pid] and found
    end)
    local at = { found.workers[1].at, found.workers[2].at }
    local published = 0
    while published < 4 do -- both new workers have published again; old workers would have too
      found = look(it_runs)
      for i = 1, 2 do
        assert.is_nil(old[found.workers[i].pid])
        if found.workers[i].at - at[i] > 1 then at[i], published = found.workers[i].at, published + 1 end
      end
    end
    local still = 0
    for _, pid in ipairs(it_runs:workers()) do still = still + (old[tonumber(pid)] and 1 or 0) end
    assert.is_true(still > 0)
    eventually(it_runs, function(now) return numbers(now) == "0 1" end)
    it_runs:get("/done")
    for i = 1, 9 do assert.is_true(old[tonumber((select(2, nginx.answer(slow[i]))))]) end
    assert(process.eventually(function() return #it_runs:workers() == 2 end)) -- nothing keeps the old workers alive
    local master = it_runs:master()
    it_runs:signal("QUIT")
    assert(process.eventually(function() return not process.runs(master) end))
    local log = it_runs:log()
    it_runs:stop()
    assert.is_nil(log:find("[error]", 1, true), log)
  end)
end)

describe("the status without room for all", function()
  it("shows one worker, and how to see all, if there is no dictionary", function()
    local it_runs = start(2, "")
    local found = eventually(it_runs, function(found) return #found.workers[1].holds > 0 and found end)
    assert.equal(1, #found.workers)
    assert.matches("lua_shared_dict zkrecipes 1m;", found.notes[1])
    local _, text = it_runs:get("/status?format=prometheus")
    assert.matches('zkrecipes_granted_total{worker="[01]"} %d\n', text)
    local _, html = it_runs:get("/status")
    it_runs:stop()
    assert.matches("only this worker is shown; to see all, write &quot;lua_shared_dict zkrecipes 1m;&quot;", html)
  end)

  it("shows all figures, but no rows for which the dictionary is too small", function()
    local it_runs = start(2, "lua_shared_dict zkrecipes 32k;", [[ location = /fill { content_by_lua_block {
      for i = 3, 102 do holds[i] = assert(session:lock("/long" .. ("x"):rep(100) .. i):acquire(100)) end
    } } ]])
    eventually(it_runs, function(found) return numbers(found) == "0 1" end)
    assert.equal(200, (it_runs:get("/fill")))
    local found = eventually(it_runs, function(found)
      local cut = found.workers[1].cut and found.workers[1] or found.workers[2]
      return #found.workers == 2 and cut.cut and cut.counts.holds > 100 and cut
    end)
    local _, text = it_runs:get("/status?format=prometheus")
    local log = it_runs:log()
    it_runs:stop()
    assert.same({}, found.holds)
    assert.matches(('zkrecipes_holds{worker="%d"} 10[12]\n'):format(found.worker), text)
    assert.is_nil(log:find("[error]", 1, true), log)
  end)
end)
