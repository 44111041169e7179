-- Registries in nginx: the uses that pick("least") has begun end with the request, also if nginx ends its handler.

local env = require "spec.support.env"
local nginx = require "spec.support.nginx"

local HTTP = [[
  init_worker_by_lua_block {
    zk = require "zkrecipes"
    registry = zk.shared { hosts = "%s", timeout = 60, namespace = "%s" }:registry("/services")
    function pick() return assert(registry:pick("web", "least")) end
    function uses()
      local count = 0
      for _, instance in ipairs(registry:instances("web")) do count = count + instance:uses() end
      return count
    end
    collectgarbage("stop")
  }
  upstream instances {
    server 0.0.0.1;
    balancer_by_lua_block { assert(require("ngx.balancer").set_current_peer(pick().address, tonumber(ngx.var.server_port))) }
  }
]]

-- Each writes how many uses there are at its end.
local SERVER = [[
  log_by_lua_block { require("zkrecipes.openresty").release() }

  location = /ready { content_by_lua_block { assert(registry:await("web", 2, 200)) } }
  location = /killed { content_by_lua_block {
    local first, second = pick(), pick()
    ngx.thread.spawn(function()
      zk.sleep(0.01)
      ngx.status = uses() == 2 and 204 or 500
      ngx.exit(ngx.status)
    end)
    zk.sleep(600)
    first:done() second:done()
  } }
  location = /task { content_by_lua_block {
    zk.spawn(pick):wait()
    zk.spawn(function() pick() ngx.exit(ngx.OK) end):wait()
    ngx.exit(uses() == 2 and 204 or 500)
  } }
  location = /proxied {
    rewrite ^ /plain break;
    proxy_pass http://instances/;
  }
  location = /bare {
    content_by_lua_block { pick() ngx.exit(uses() == 1 and 204 or 500) }
    log_by_lua_block { return }
  }
  location = /uses { content_by_lua_block { ngx.print(uses()) } }
  location = /collect { content_by_lua_block {
    jit.flush() collectgarbage() collectgarbage()
    ngx.print(uses())
  } }
]]

describe("in nginx a use of an instance", function()
  local it_runs, session
  local registered = {}

  setup(function()
    local namespace = env.namespace()
    session = env.session { namespace = namespace }
    local registry = assert(session:registry "/services")
    for i = 1, 2 do registered[i] = assert(registry:register("web", { id = "web-" .. i, address = "127.0.0.1" })) end
    for i = 1, 2 do assert(registered[i]:ready(200)) end
    it_runs = nginx.start { http = HTTP:format(env.server().hosts, namespace), server = SERVER }
    assert.equal(200, (it_runs:get("/ready")))
  end)

  teardown(function()
    it_runs:stop()
    session:close()
  end)

  -- Asks for the path, and then how many uses are not over.
  local function left(path, status)
    assert.same({ path, status }, { path, (it_runs:get(path)) })
    return (select(2, it_runs:get("/uses")))
  end

  it("ends in the log phase if the handler was killed", function() assert.equal("0", left("/killed", 204)) end)

  it("ends in the log phase if a task of the request has begun it", function() assert.equal("0", left("/task", 204)) end)

  it("ends in the log phase if the balancer has begun it", function() assert.equal("0", left("/proxied", 200)) end)

  it("ends when the collector has found it, without that line", function()
    assert.equal("1", left("/bare", 204))
    assert.equal("0", (select(2, it_runs:get("/collect"))))
  end)
end)
