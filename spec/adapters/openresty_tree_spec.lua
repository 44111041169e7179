-- A watched copy in nginx: it is read in the phases that cannot wait.

local env = require "spec.support.env"
local nginx = require "spec.support.nginx"

local HTTP = [[
  init_worker_by_lua_block {
    zk = require "zkrecipes"
    session = zk.shared { hosts = "%s", timeout = 60, namespace = "%s", request_timeout = 200 }
    conf = session:tree("/conf")
    seen = {}
    function read(phase)
      local names = conf:children("/conf") or {}
      local count = 0
      for _ in conf:pairs() do count = count + 1 end
      seen[phase] = ("%%s %%s %%d %%d %%s"):format(ngx.get_phase(), conf:get("/conf/port"), #names, count, tostring(conf:age() < 60))
    end
  }
  upstream by_tree {
    server 0.0.0.1;
    balancer_by_lua_block {
      read "balancer"
      assert(require("ngx.balancer").set_current_peer("127.0.0.1", tonumber((conf:get("/conf/port")))))
    }
  }
]]

local SERVER = [[
  location = /ready { content_by_lua_block { ngx.say(tostring(conf:ready(200))) } }
  location = /proxied {
    rewrite ^ /plain break;
    proxy_pass http://by_tree;
    header_filter_by_lua_block { read "header_filter" ngx.header["X-Port"] = conf:get("/conf/port") }
    body_filter_by_lua_block { read "body_filter" }
    log_by_lua_block { read "log" }
  }
  location = /seen { content_by_lua_block {
    for _, phase in ipairs { "balancer", "header_filter", "body_filter", "log" } do ngx.say(seen[phase]) end
  } }
]]

describe("a tree in nginx", function()
  local it_runs
  after_each(function() it_runs:stop() end)

  it("is read in balancer_by_lua, header_filter_by_lua, body_filter_by_lua and log_by_lua", function()
    local namespace = env.namespace()
    local session = env.session { namespace = namespace }
    local it = nginx.start { http = HTTP:format(env.server().hosts, namespace), server = SERVER }
    it_runs = it
    env.run(function()
      assert(session:create("/conf/port", tostring(it.port), { parents = true }))
      assert(session:create("/conf/other", ""))
    end)()
    assert.equal("true\n", select(2, it:get("/ready", 200)))
    env.run(function()
      env.eventually("the copy has both", function()
        local status, body = it:get("/proxied")
        if status ~= 200 then return false end
        assert.equal("plain\n", body)
        local wanted = {}
        for i, phase in ipairs { "balancer", "header_filter", "body_filter", "log" } do
          wanted[i] = ("%s %d 2 3 true\n"):format(phase, it.port)
        end
        return select(2, it:get("/seen")) == table.concat(wanted)
      end)
    end)()
    env.run(function() session:close() end)()
  end)
end)
