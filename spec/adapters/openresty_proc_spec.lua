-- A shared tree in nginx whose workers cannot read /proc for a while, as if no descriptor were free.

local env = require "spec.support.env"
local nginx = require "spec.support.nginx"
local process = require "spec.support.process"

-- While the dictionary `test` has `blind`, a worker cannot read /proc; `tries:PID` is how often that worker has tried, since `blind` was
-- changed last.
local HTTP = [[
  lua_shared_dict conf 1m;
  lua_shared_dict test 1m;
  init_by_lua_block { ngx.shared.test:set("blind", %s) }
  init_worker_by_lua_block {
    test = ngx.shared.test
    local open = io.open
    io.open = function(path, ...)
      if not path:find("^/proc/") then return open(path, ...) end
      test:incr("tries:" .. ngx.worker.pid(), 1, 0)
      if not test:get("blind") then return open(path, ...) end
      return nil, path .. ": Too many open files", 24
    end
    tree = require("zkrecipes.openresty").shared_tree("conf", "/conf", { session = { hosts = "%s", timeout = 60, namespace = "%s" } })
  }
]]

local SERVER = [[
  location = /ready { content_by_lua_block { ngx.print(tostring(tree:ready(200))) } }
  location = /get { content_by_lua_block { ngx.print(tostring((tree:get("/conf/a")))) } }
  location = /blind { content_by_lua_block {
    for _, key in ipairs(test:get_keys(0)) do
      if key:find("^tries:") then test:delete(key) end
    end
    test:set("blind", ngx.var.arg_is == "yes")
  } }
  location = /tries { content_by_lua_block { ngx.print(test:get("tries:" .. ngx.var.arg_pid) or 0) } }
  location = /last { content_by_lua_block {
    local dict = ngx.shared.conf
    local number = dict:get(tree.prefix .. "#begun") or 0
    while dict:get(tree.prefix .. "#writer:" .. number + 1) do number = number + 1 end
    ngx.print(tonumber((dict:get(tree.prefix .. "#writer:" .. number) or "0"):match("^%d+")))
  } }
]]

describe("a shared tree in an nginx that cannot read /proc for a while", function()
  local it_runs, session

  local function start(blind)
    local namespace = env.namespace()
    session = env.session { namespace = namespace }
    assert(session:create("/conf/a", "1", { parents = true }))
    it_runs = nginx.start { workers = 2, server = SERVER, http = HTTP:format(blind, env.server().hosts, namespace) }
  end

  after_each(function()
    it_runs:stop()
    session:close()
  end)

  local function get(path) return (select(2, it_runs:get(path))) end

  local function eventually(what, condition) return assert(process.eventually(condition), what) end

  local function tried(pid, times)
    eventually(pid .. " has tried", function() return tonumber(get("/tries?pid=" .. pid)) >= times end)
  end

  it("is watched as soon as it can be", function()
    start("true")
    for _, pid in ipairs(it_runs:workers()) do tried(pid, 2) end
    assert.matches("%[error%].*shared_tree /conf: this worker does not watch: it cannot read /proc", it_runs:log())
    get("/blind?is=no")
    assert.equal("true", get("/ready"))
  end)

  it("keeps its one writer, until that is dead", function()
    start("false")
    assert.equal("true", get("/ready"))
    local writer, other = get("/last")
    for _, pid in ipairs(it_runs:workers()) do other = pid ~= writer and pid or other end
    tried(other, 1) -- so it knows who it is
    get("/blind?is=yes")
    tried(other, 4)
    assert.equal(writer, get("/last"))
    process.output("kill -KILL " .. writer)
    eventually("the other follows", function() return get("/last") == other end)
    assert(session:set("/conf/a", "2"))
    eventually("it shows the change", function() return get("/get") == "2" end)
  end)
end)
