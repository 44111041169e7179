-- Inside a real nginx: the log phase of a request releases what the request's tasks were granted, and nothing that a task still uses. The
-- collector does not help.

require "spec_fork"
local env = require "spec.support.env"
local nginx = require "spec.support.nginx"
local process = require "spec.support.process"

-- hold_on returns when /go was asked for; `held` is the hold that it has got. A task of init_worker calls it while `wanted` is true.
local HTTP = [[
  init_worker_by_lua_block {
    zk = require "zkrecipes"
    session = zk.shared { hosts = "%s", timeout = 60, namespace = "%s" }
    lock = session:lock("/l")
    queue = session:queue("/q")
    function acquire() return assert(lock:acquire(200)) end
    function hold_on(get)
      held, go = (get or acquire)(), false
      while not go do zk.sleep(0.01) end
      return held
    end
    function until_held()
      while not held do zk.sleep(0.01) end
    end
    zk.spawn(function()
      while true do
        zk.sleep(0.01)
        if wanted then kept, wanted = zk.spawn(hold_on):wait(), false end
      end
    end)
    collectgarbage("stop")

    ways = {
      any = function(fn) return zk.any { fn, function() zk.sleep(600) end } end,
      all = function(fn) return zk.all { fn, function() zk.sleep(0) end } end,
      spawn = function(fn) return zk.spawn(fn):wait() end,
      nested = function(fn) return zk.spawn(function() return zk.any { fn } end):wait() end,
    }
    ends = {
      exit = function() ngx.exit(204) end,
      crash = function() error("on purpose") end,
      finish = function() end,
      elsewhere = function() ngx.thread.spawn(function() ngx.sleep(0.01) ngx.exit(204) end) zk.sleep(600) end,
    }
  }
]]

local SERVER = [[
  log_by_lua_block { require("zkrecipes.openresty").release() }

  location = /got { content_by_lua_block {
    assert(ways[ngx.var.arg_way](acquire):valid())
    ends[ngx.var.arg_ends]()
  } }

  location = /claimed { content_by_lua_block {
    assert(queue:put("item"))
    ways[ngx.var.arg_way](function() return assert(queue:claim(200)) end)
    ngx.exit(204)
  } }
  location = /item { content_by_lua_block {
    local item = assert(queue:claim(200))
    ngx.print(item.data, " ", item.attempts)
    item:ack()
  } }

  # The task goes on when the request has ended.
  location = /left { content_by_lua_block {
    held = nil
    zk.spawn(hold_on)
    until_held()
    ngx.exit(204)
  } }
  location = /parent { content_by_lua_block {
    held = nil
    zk.spawn(hold_on, function() return zk.spawn(acquire):wait() end)
    until_held()
  } }
  location = /grandchild { content_by_lua_block {
    held = nil
    zk.spawn(function() zk.spawn(hold_on) end):wait()
    until_held()
  } }
  location = /killed { content_by_lua_block {
    held = nil
    zk.spawn(function()
      hold_on()
      ngx.exit(ngx.OK)
    end)
    until_held()
  } }
  location = /light { content_by_lua_block {
    held = nil
    zk.spawn(function() ngx.thread.spawn(hold_on) end)
    until_held()
  } }
  location = /subrequest { content_by_lua_block {
    held = nil
    ngx.location.capture("/left")
    ngx.exit(204)
  } }

  location = /background { content_by_lua_block {
    held, wanted = nil, true
    until_held()
  } }
  location = /kept { content_by_lua_block {
    while wanted do zk.sleep(0.01) end
    ngx.print(tostring(kept:valid()))
    kept:release()
  } }
  location = /go { content_by_lua_block { go = true } }
  location = /valid { content_by_lua_block { ngx.print(tostring(held:valid())) } }
]]

describe("the log phase in nginx", function()
  local it_runs, session

  setup(function()
    local namespace = env.namespace()
    session = env.session { namespace = namespace }
    assert(session:connected(200))
    it_runs = nginx.start { http = HTTP:format(env.server().hosts, namespace), server = SERVER }
  end)

  teardown(function()
    local log = it_runs:log():gsub("[^\n]*on purpose[^\n]*", ""):gsub("[^\n]*ended from outside[^\n]*", "")
    it_runs:stop()
    session:close()
    assert.is_nil(log:find("%[crit%]") or log:find("%[error%]") or log:find("exited on signal"), log)
  end)

  local function ask(path) return (select(2, it_runs:get(path))) end

  local function becomes(number)
    assert(process.eventually(function() return #(session:children("/l") or {}) == number end),
      "the queue of the lock is " .. #(session:children("/l") or {}))
  end

  for _, way in ipairs { "any", "all", "spawn", "nested" } do
    it("releases what a task has given to a handler that ends early: " .. way, function()
      for name, status in pairs { exit = 204, crash = 500, finish = 200, elsewhere = 204 } do
        assert.same({ name, status }, { name, (it_runs:get("/got?way=" .. way .. "&ends=" .. name)) })
        becomes(0)
      end
    end)

    it("gives back what a task has claimed for a handler that ends early: " .. way, function()
      assert.equal(204, (it_runs:get("/claimed?way=" .. way)))
      assert.equal("item 1", ask("/item"))
    end)
  end

  for _, path in ipairs { "/left", "/parent", "/grandchild", "/killed", "/subrequest" } do
    it("leaves a task that goes on what it holds, until it ends: " .. path, function()
      it_runs:get(path)
      for _ = 1, 10 do assert.equal("true", ask("/valid")) end
      becomes(1)
      it_runs:get("/go")
      becomes(0)
    end)
  end

  it("releases what a light thread got that its task has left behind", function()
    it_runs:get("/light")
    becomes(0)
    it_runs:get("/go")
  end)

  it("leaves what a task in the background has got", function()
    it_runs:get("/background")
    it_runs:get("/go")
    assert.equal("true", ask("/kept"))
    becomes(0)
  end)
end)
