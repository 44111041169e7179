-- A shared tree in nginx: one worker watches, all read. The watching worker is killed, stopped and reloaded; the dictionary is too small.

local env = require "spec.support.env"
local nginx = require "spec.support.nginx"
local process = require "spec.support.process"

local HTTP = [[
  lua_shared_dict conf %s;
  init_worker_by_lua_block {
    zk = require "zkrecipes"
    tree = require("zkrecipes.openresty").shared_tree("conf", "/conf",
      { session = { hosts = "%s", timeout = 60, namespace = "%s", request_timeout = 200, %s } })
    function say(...)
      local list = { ... }
      for i = 1, select("#", ...) do list[i] = tostring(list[i]) end
      ngx.print(table.concat(list, " "))
    end
  }
  upstream by_tree {
    server 0.0.0.1;
    balancer_by_lua_block { assert(require("ngx.balancer").set_current_peer("127.0.0.1", tonumber((tree:get("/conf/port"))))) }
  }
]]

local SERVER = [[
  location = /ready { content_by_lua_block { say(tree:ready(200)) } }
  location = /ready0 { content_by_lua_block { say(tree:ready(0)) } }
  location = /get { content_by_lua_block {
    local data, stat, problem = tree:get(ngx.var.arg_path)
    say(ngx.worker.pid(), data, stat and stat.mzxid, problem, table.concat(tree:children() or {}, ","))
  } }
  location = /stat { content_by_lua_block {
    local _, stat = tree:get(ngx.var.arg_path)
    local names = {}
    for name in pairs(stat) do names[#names + 1] = name end
    table.sort(names)
    for _, name in ipairs(names) do ngx.say(name, " ", stat[name]) end
  } }
  location = /pairs { content_by_lua_block {
    for path, data in tree:pairs() do ngx.say(path, " ", data and #data or "-") end
  } }
  location = /age { content_by_lua_block { say(tree:age()) } }
  location = /problem { content_by_lua_block { say(tree:problem()) } }
  location = /watcher { content_by_lua_block {
    local last = ngx.shared.conf:get(tree.prefix .. "#begun") or 0
    local text = ngx.shared.conf:get(tree.prefix .. "#writer:" .. last) or ""
    local pid = tonumber(text:match("^%d+")) or 0
    ngx.print(ngx.shared.conf:get(tree.prefix .. "#writer:" .. last + 1) and 0 or pid)
  } }
  location = /busy { content_by_lua_block {
    -- as if it were killed in the middle of a write
    local dict, last = ngx.shared.conf, ngx.shared.conf:get(tree.prefix .. "#begun")
    dict:set(tree.prefix .. "#busy:" .. last, true)
    dict:set(tree.prefix .. "=/conf/orphan", "d 1 1 1 0 0 0 0 0 0 1 0\n\nx")
    dict:delete(tree.prefix .. "=/conf/a")
    ngx.print(ngx.worker.pid())
  } }
  location = /whole { content_by_lua_block { -- of one byte, as it is always written; 0: it is mixed
    local data = tree:get("/conf/a")
    say(data:find("^" .. data:sub(1, 1) .. "+$") and #data or 0)
  } }
  location = /misuse { content_by_lua_block {
    local shared_tree = require("zkrecipes.openresty").shared_tree
    local function no(...) ngx.say(select(2, pcall(shared_tree, ...))) end
    no("other", "/conf")
    no("conf", "conf")
    no("conf", "/conf", { depth = -1 })
    no("conf", "/conf", { filter = { "/other" } })
    no("conf", "/conf", { hosts = "x" })
    local function no_session(options) no("conf", "/conf", { session = options }) end
    no_session { host = "x" }
    no_session { timeout = "1" }
    no_session { timeout = 0.01 }
    no_session { hosts = "a b" }
    no_session { hosts = { {} } }
    no_session { log = true }
    ngx.say(select(2, pcall(tree.get, tree, 7)))
    ngx.say(shared_tree("conf", "/conf", tree.options) == tree)
  } }
  location = /proxied {
    rewrite ^ /plain break;
    proxy_pass http://by_tree;
    header_filter_by_lua_block { ngx.header["X-A"] = tree:get("/conf/a") }
    body_filter_by_lua_block { tree:age() }
    log_by_lua_block { tree:children() }
  }
]]
describe("a shared tree in nginx", function()
  local it_runs, session, namespace, proxy

  -- count: of further znodes, each with 2,000 bytes. more: options of the session.
  local function start(workers, size, count, more)
    namespace, proxy = env.namespace(), env.proxy()
    session = env.session { namespace = namespace }
    assert(session:create("/conf/a", "1", { parents = true }))
    for i = 1, count or 0 do assert(session:create("/conf/" .. i, ("x"):rep(2000))) end
    proxy:reset()
    it_runs = nginx.start { workers = workers, server = SERVER, http = HTTP:format(size or "1m", proxy.hosts, namespace, more or "") }
  end

  after_each(function()
    it_runs:stop()
    session:close()
  end)

  local function get(path) return (select(2, it_runs:get(path))) end

  local function eventually(what, condition) return assert(process.eventually(condition), what) end

  -- pid > what that worker says.
  local function ask_all(path)
    local open, said = {}, {}
    for i = 1, 40 do open[i] = it_runs:open(path) end
    for i = 1, 40 do
      local pid, text = select(2, nginx.answer(open[i])):match("^(%d+) (.*)$")
      said[pid] = text
    end
    return said
  end

  local function all_say(count, path, pattern)
    eventually("all workers say " .. pattern, function()
      local seen = 0
      for _, text in pairs(ask_all(path)) do
        if not text:find(pattern) then return false end
        seen = seen + 1
      end
      return seen >= count
    end)
  end

  local function watcher(other)
    return eventually("a worker watches", function()
      local pid = get("/watcher")
      return pid:find("^[1-9]%d*$") and pid ~= other and pid
    end)
  end

  local function shows(data, path)
    eventually("it shows " .. data, function() return get("/get?path=" .. (path or "/conf/a")):find("^%d+ " .. data .. " ") end)
  end

  it("is read by all workers, in every phase, with stats, children and its age", function()
    start(2)
    assert.equal("true", get("/ready"))
    all_say(2, "/get?path=/conf/a", "^1 %x+ nil a$")
    assert(session:create("/conf/port", tostring(it_runs.port)))
    assert(session:create("/conf/a/deep", ("\0\n/"):rep(100000)))
    shows(it_runs.port, "/conf/port")
    eventually("all is there", function() return get("/pairs"):find("/conf/a/deep 300000", 1, true) end)
    assert.equal(("/conf 0\n/conf/a 1\n/conf/a/deep 300000\n/conf/port %d\n"):format(#tostring(it_runs.port)), get("/pairs"))
    local _, stat = session:get("/conf/a")
    for name, value in get("/stat?path=/conf/a"):gmatch("(%S+) (%S+)") do assert.equal(tostring(stat[name]), value) end
    assert.is_true(tonumber(get("/age")) < 60)
    assert.equal("plain\n", get("/proxied"))
    assert(session:delete("/conf/a/deep"))
    eventually("it is gone", function() return get("/get?path=/conf/a/deep"):find("nil nil nil", 1, true) end)
    assert(session:delete_tree("/conf"))
    eventually("all is gone", function() return get("/pairs") == "" end)
    assert.equal("nil", get("/problem"))
  end)

  it("tells misuse at the caller's line, and gives the same tree again", function()
    start(1)
    local patterns = { "#1.*lua_shared_dict.*other", "#2.*path 'conf'", "#3.*'depth'", "#3.*'filter'", "#3.*unknown option 'hosts'",
      "'session' %(unknown option 'host'; there are: hosts, ", "'session' %(option 'timeout': seconds expected, got string",
      "'session' %(a session timeout must be from", "'session' %(option 'hosts': 'a b' ", "'session' %(option 'hosts', entry 1: string",
      "'session' %(option 'log': function expected", "#1" }
    for line in get("/misuse"):gmatch("[^\n]+") do
      local pattern = table.remove(patterns, 1)
      assert.matches(pattern and "^content_by_lua%(nginx.conf:%d+%):%d+: bad argument .*" .. pattern or "^true$", line)
    end
    assert.same({}, patterns)
  end)

  it("says why no worker can load it", function()
    local cases = { auth_failed = "auth = { { scheme = 'none', credential = 'x' } }", connection_loss = "hosts = '127.0.0.1:1'" }
    for problem, more in pairs(cases) do
      if it_runs then it_runs:stop() end
      if session then session:close() end
      start(2, nil, nil, more)
      eventually(problem, function() return get("/problem") == problem end)
      assert.matches("^nil shared_tree:ready /conf: no worker has loaded it: " .. problem .. " timeout$", get("/ready0"))
    end
  end)

  it("never shows a mixed znode while watching workers are killed as they write", function()
    start(2)
    get("/ready")
    for i = 1, 6 do
      local pid = watcher()
      for j = 0, 9 do assert(session:set("/conf/a", tostring(j):rep(200000))) end
      process.output("kill -KILL " .. pid)
      for _ = 1, 5 do assert.are_not.equal("0", get("/whole"), "round " .. i) end
      watcher(pid)
    end
    shows(("9"):rep(200000))
  end)

  -- The requests of a host until it has shown a new znode and new data.
  local function spent(workers, tries)
    start(workers)
    get("/ready")
    all_say(workers, "/get?path=/conf/a", "^1 ")
    assert(session:set("/conf/a", "2"))
    all_say(workers, "/get?path=/conf/a", "^2 ")
    assert(session:create("/conf/b", ""))
    all_say(workers, "/get?path=/conf/a", "a,b$")
    local counts, found = proxy:sent(), {}
    for name, count in pairs(counts) do
      if not ("ping heartbeat bytes_up bytes_down replies"):find(name, 1, true) and count > 0 then found[name] = count end
    end
    if (found.connect or 0) > 1 and (tries or 1) < 10 then -- a server was late, so the session has connected again
      it_runs:stop()
      session:close()
      return spent(workers, (tries or 1) + 1)
    end
    return found
  end

  it("costs a host with four workers as many requests, watches and sessions as a host with one", function()
    local one = spent(1)
    it_runs:stop()
    session:close()
    local four = spent(4)
    assert.is_true(one.requests > 0 and one.connect == 1)
    assert.same(one, four)
  end)

  it("goes on when the watching worker is killed, also in the middle of a write", function()
    start(3)
    get("/ready")
    local pid = watcher()
    get("/busy")
    process.output("kill -KILL " .. pid)
    assert(session:set("/conf/a", "2"))
    watcher(pid)
    shows "2"
    assert.is_true(proxy:sent().sync >= 1) -- the new one has let its server catch up
    eventually("the half is gone", function() return get("/get?path=/conf/orphan"):find("nil nil nil a$") end)
    eventually("the age is small again", function() return tonumber(get("/age")) < 5 end)
  end)

  it("goes on at a reload, with the values at once", function()
    start(2)
    get("/ready")
    local pid = watcher()
    it_runs:signal("HUP")
    assert.equal("true", get("/ready0"))
    assert.matches("^%d+ 1 ", get("/get?path=/conf/a"))
    watcher(pid)
    assert(session:set("/conf/a", "2"))
    shows "2"
    assert.is_nil(it_runs:log():find("%[error%]"), it_runs:log())
  end)

  it("never goes back, with a watching worker that was stopped while another took over", function()
    start(2)
    get("/ready")
    local pid = watcher()
    process.output("kill -STOP " .. pid)
    local spare = it_runs:open("/plain") -- the kernel may wake the stopped worker for the next connection, and only it
    assert(session:set("/conf/a", "2"))
    watcher(pid)
    spare:close()
    shows "2"
    assert(session:set("/conf/a", "3"))
    shows "3"
    process.output("kill -CONT " .. pid)
    all_say(2, "/get?path=/conf/a", "^3 ")
    assert.are_not.equal(pid, watcher())
  end)

  it("keeps its values while no server answers, and grows old", function()
    start(2)
    get("/ready")
    local pid = watcher()
    proxy:refuse()
    proxy:cut()
    process.output("kill -KILL " .. pid)
    watcher(pid)
    local age = tonumber(get("/age"))
    eventually("it grows old", function() return tonumber(get("/age")) > age + 0.5 end)
    all_say(2, "/get?path=/conf/a", "^1 ")
    assert(session:set("/conf/a", "2"))
    proxy:heal()
    shows "2"
  end)

  it("shows nothing if the dictionary is too small for the whole, and says so", function()
    start(2, "32k", 40)
    eventually("it is full", function() return get("/problem") == "no_memory" end)
    eventually("it says so", function() return it_runs:log():find("the dictionary is full", 1, true) end)
    assert.equal("", get("/pairs"))
    assert.matches("^nil ", get("/ready0"))
  end)

  it("keeps its values and grows old while the dictionary is full, and goes on when there is room", function()
    start(2, "64k")
    get("/ready")
    for i = 1, 40 do assert(session:create("/conf/" .. i, ("x"):rep(2000))) end
    eventually("it is full", function() return get("/problem") == "no_memory" end)
    local age = tonumber(get("/age"))
    eventually("it grows old", function() return tonumber(get("/age")) > age + 1 end)
    assert.matches("^%d+ 1 ", get("/get?path=/conf/a"))
    assert.matches(" .*a$", get("/get?path=/conf/a"))
    for path, size in get("/pairs"):gmatch("(%S+) (%d+)") do
      assert.equal(path:find("/%d+$") and "2000" or path == "/conf/a" and "1" or "0", size)
    end
    for i = 1, 39 do assert(session:delete("/conf/" .. i)) end
    shows(("x"):rep(2000), "/conf/40")
    eventually("nothing is missing", function() return get("/problem") == "nil" and tonumber(get("/age")) < 5 end)
  end)
end)
