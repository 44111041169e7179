-- Inside a real nginx: a request keeps its holds, and may enter a reentrant lock again, in these cases: after an internal redirect, which
-- clears ngx.ctx; in a subrequest, which has another ngx.ctx; and after a program has replaced ngx.ctx.

require "spec_fork"
local env = require "spec.support.env"
local nginx = require "spec.support.nginx"
local process = require "spec.support.process"

local HTTP = [[
  init_worker_by_lua_block {
    zk = require "zkrecipes"
    session = zk.shared { hosts = "%s", timeout = 60, namespace = "%s", request_timeout = 200 }
    lock = session:lock("/l")
    again = session:lock("/l", { reentrant = true })
    other = session:lock("/o", { reentrant = true })
    rw = session:rwlock("/rw")
    collectgarbage("stop") -- the collector must not help
    function enter() return again:acquire(0) and "entered" or "refused" end
    -- The same, and who has entered stays until both have tried.
    function enter_of_two()
      local said = enter()
      tried = (tried or 0) + 1
      while tried %% 2 == 1 do ngx.sleep(0.01) end
      return said
    end
  }
]]

local SERVER = [[
  error_page 500 /error;
  log_by_lua_block { require("zkrecipes.openresty").release() }
  location = /error { return 500 "error\n"; }
  location = /error-lua { content_by_lua_block { ngx.status = 500 ngx.print(enter()) } }

  location = /page { content_by_lua_block { assert(lock:acquire(200)) error("it fails") } }
  location = /exec { content_by_lua_block { assert(lock:acquire(200)) ngx.exec("/plain") } }
  location = /twice { content_by_lua_block { assert(lock:acquire(200)) ngx.exec("/page2") } }
  location = /page2 { content_by_lua_block { error("it fails") } }
  location = /named { error_page 500 = @named; content_by_lua_block { assert(lock:acquire(200)) error("it fails") } }
  location @named { return 500 "named\n"; }
  location = /replaced { content_by_lua_block {
    local hold = assert(lock:acquire(200))
    ngx.ctx = { mine = true }
    ngx.exit(204)
  } }

  # The collector removes what only the replaced ngx.ctx referred to.
  location = /collected { content_by_lua_block {
    held = { assert(lock:acquire(200)), assert(other:acquire(200)) }
    ngx.ctx = { mine = true }
    jit.flush() collectgarbage() collectgarbage()
    held[3] = assert(rw:write(200))
    collectgarbage("stop")
    ngx.exit(204)
  } }
  location = /dropped { content_by_lua_block {
    local probe = setmetatable({ assert(lock:acquire(200)) }, { __mode = "v" })
    ngx.ctx = { mine = true }
    repeat jit.flush() collectgarbage() until not probe[1] -- its finalizer was called; what it refers to is there until the next cycle
    collectgarbage("stop")
    ngx.exit(204)
  } }
  location = /held { content_by_lua_block {
    local valid = 0
    for i = 1, 3 do valid = valid + (held[i]:valid() and 1 or 0) end
    held = nil
    ngx.print(valid)
  } }

  # A subrequest that is killed has no log phase; its request goes on.
  location = /sub { content_by_lua_block { ngx.location.capture("/takes") ngx.print(#session:children("/l")) } }
  location = /takes { content_by_lua_block { assert(lock:acquire(200)) ngx.exit(204) } }
  location = /killed { lua_check_client_abort on; content_by_lua_block { ngx.location.capture("/takes-long") } }
  location = /takes-long { content_by_lua_block { assert(lock:acquire(200)) ngx.sleep(30) } }
  location = /logged { log_subrequest on; content_by_lua_block {
    local hold = assert(rw:write(200))
    ngx.location.capture("/takes-logged")
    ngx.print(#session:children("/l"), " ", tostring(hold:valid()))
  } }
  location = /takes-logged { log_subrequest on; content_by_lua_block { assert(lock:acquire(200)) ngx.exit(204) } }

  location = /phases {
    access_by_lua_block { assert(again:acquire(200)) }
    content_by_lua_block { ngx.print(enter()) }
  }
  location = /again { error_page 500 = /error-lua; content_by_lua_block { assert(again:acquire(200)) error("it fails") } }
  location = /again-exec { content_by_lua_block { assert(again:acquire(200)) ngx.exec("/error-lua") } }
  location = /again-released {
    access_by_lua_block { assert(again:acquire(200)) }
    content_by_lua_block { again:release() ngx.print(#session:children("/l")) }
  }
  location = /rw {
    access_by_lua_block { assert(rw:read(200)) }
    content_by_lua_block { local ok, problem = pcall(rw.write, rw, 0.3) ngx.print(problem) }
  }

  # Of two light threads that run only one may enter, also when ngx.ctx is replaced.
  location = /threads { content_by_lua_block {
    local said = {}
    local function try(i)
      ngx.ctx = {}
      said[i] = enter_of_two()
    end
    local one, two = ngx.thread.spawn(try, 1), ngx.thread.spawn(try, 2)
    ngx.thread.wait(one) ngx.thread.wait(two)
    table.sort(said)
    ngx.print(table.concat(said, " "))
  } }

  # Light threads one after the other, in a request, and in a task that lives long.
  location = /many { content_by_lua_block {
    local function run()
      for i = 1, 300 do
        ngx.thread.wait(ngx.thread.spawn(function()
          local hold = assert(other:acquire(200))
          assert(other:acquire(200)):release()
          hold:release()
        end))
      end
      local kept, count = require("zkrecipes.openresty.contexts").self().kept, 0
      for _ in pairs(kept.selves) do count = count + 1 end
      return count
    end
    ngx.print(run() < 50, " ", zk.spawn(run):wait() < 50)
  } }

  # Many requests on one connection, and many streams.
  location = /crash { content_by_lua_block { assert(lock:acquire(200)) ngx.sleep(0.005) error("it fails") } }
  location = /key { content_by_lua_block { ngx.sleep(0.1) ngx.print(ngx.var.connection, ":", ngx.var.connection_requests, "\n") } }
  location = /other { content_by_lua_block { ngx.print(enter_of_two()) } }
]]

describe("a lock that a request of nginx holds", function()
  local it_runs, session, dir

  -- The same server twice: on the socket `h2` it speaks HTTP/2.
  setup(function()
    local namespace = env.namespace()
    session = env.session { namespace = namespace }
    assert(session:connected(200))
    dir = process.output("mktemp -d")
    it_runs = nginx.start { server = SERVER, http = HTTP:format(env.server().hosts, namespace) ..
      ("server { listen unix:%s/h2 http2; %s }"):format(dir, SERVER) }
  end)

  teardown(function()
    local log = it_runs:log()
    it_runs:stop()
    session:close()
    process.output("rm -rf " .. dir)
    for line in log:gmatch("[^\n]+") do
      local bad = line:find("%[crit%]") or line:find("%[error%]") or line:find("exited on signal")
      assert(not bad or line:find("it fails", 1, true), line)
    end
  end)

  local function becomes(number)
    assert(process.eventually(function() return #(session:children("/l") or {}) == number end),
      "the queue of the lock is " .. #(session:children("/l") or {}))
  end

  for name, path in pairs { ["of an error page"] = "/page", ["of ngx.exec"] = "/exec", ["of two in a row"] = "/twice",
    ["to a named location"] = "/named" } do
    it("is released by the log phase after the redirect " .. name, function()
      it_runs:get(path)
      becomes(0)
    end)
  end

  it("is released if ngx.ctx was replaced", function()
    assert.equal(204, (it_runs:get("/replaced")))
    becomes(0)
  end)

  it("is released if ngx.ctx was replaced and the collector ran, as long as the program keeps the hold", function()
    assert.equal(204, (it_runs:get("/collected")))
    assert.equal("0", (select(2, it_runs:get("/held"))))
    becomes(0)
  end)

  it("is released if ngx.ctx was replaced and the collector has found it, and the log phase goes on", function()
    assert.equal(204, (it_runs:get("/dropped")))
    becomes(0)
    assert.is_nil(it_runs:log():find("failed to run log_by_lua", 1, true))
  end)

  it("is released if a subrequest has acquired it and was killed", function()
    assert.equal("1", (select(2, it_runs:get("/sub"))))
    becomes(0)
    local client = it_runs:open("/killed")
    becomes(1)
    client:close()
    becomes(0)
  end)

  it("is not released by the log phase of a subrequest, unless the subrequest has acquired it", function()
    assert.equal("0 true", (select(2, it_runs:get("/logged"))))
    becomes(0)
    assert(process.eventually(function() return #(session:children("/rw") or {}) == 0 end))
  end)

  it("may be entered again by the request, in the next phase and after a redirect", function()
    for _, path in ipairs { "/phases", "/again", "/again-exec" } do
      assert.equal("entered", (select(2, it_runs:get(path))))
      becomes(0)
    end
    assert.equal("0", (select(2, it_runs:get("/again-released"))))
    becomes(0)
  end)

  it("for reading since an earlier phase makes a write raise, because the request would wait for itself", function()
    assert.matches("would wait for itself", (select(2, it_runs:get("/rw"))))
    assert(process.eventually(function() return #(session:children("/rw") or {}) == 0 end))
  end)

  it("is held by only one of the request's light threads", function()
    assert.equal("entered refused", (select(2, it_runs:get("/threads"))))
    becomes(0)
  end)

  it("that lives long keeps nothing of its light threads that are over", function()
    assert.equal("true true", (select(2, it_runs:get("/many", 1500))))
  end)

  -- Frames of HTTP/2: length, type, flags, stream.
  local function frame(kind, flags, stream, payload)
    return string.char(0, 0, #payload, kind, flags, 0, 0, 0, stream) .. payload
  end

  local HEADERS, DATA, LAST = 1, 0, 1

  -- Requests the path this often at the same time, over one connection. Returns the bodies.
  local function streams(path, count)
    local connection = require "socket.unix"()
    assert(connection:connect(dir .. "/h2"))
    connection:settimeout(300)
    connection:send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" .. frame(4, 0, 0, ""))
    for i = 1, count do
      connection:send(frame(HEADERS, 5, 2 * i - 1, "\130\134\4" .. string.char(#path) .. path .. "\1\1x"))
    end
    local bodies, ended = {}, 0
    while ended < count do
      local _, high, low, kind, flags = assert(connection:receive(9)):byte(1, 5)
      local payload = connection:receive(high * 256 + low)
      if kind == DATA then bodies[#bodies + 1] = payload end
      if kind <= HEADERS and flags % 2 == LAST then ended = ended + 1 end
    end
    connection:close()
    return table.concat(bodies)
  end

  it("belongs to the request only, whatever else comes over the same connection", function()
    local address = ("http://127.0.0.1:%d/crash "):format(it_runs.port)
    local said = process.output("curl -s " .. address:rep(30))
    assert.equal(30, select(2, said:gsub("error", "")))
    becomes(0)
    said = streams("/crash", 30)
    assert.equal(30, select(2, said:gsub("error", "")))
    becomes(0)
    local seen = {}
    for key in streams("/key", 20):gmatch("%d+:%d+\n") do
      assert.is_nil(seen[key])
      seen[key], seen[#seen + 1] = true, key
    end
    assert.equal(20, #seen)
    said = streams("/other", 2)
    assert.same({ 1, 1 }, { select(2, said:gsub("entered", "")), select(2, said:gsub("refused", "")) })
    becomes(0)
  end)
end)
