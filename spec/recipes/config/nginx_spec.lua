-- Configuration in every phase of a real nginx, with cjson: a change reaches the requests without a reload.

require "spec_fork"
local env = require "spec.support.env"
local nginx = require "spec.support.nginx"
local process = require "spec.support.process"

local HTTP = [[
  lua_shared_dict seen 1m;
  init_worker_by_lua_block {
    local session = require("zkrecipes").shared { hosts = "%s", timeout = 60, namespace = "%s" }
    config = session:config("/conf", { codec = require "cjson", default = { limit = 1 } })
  }
]]

local SERVER = [[
  location = / {
    set_by_lua_block $set { return config:get().limit }
    content_by_lua_block { ngx.say(ngx.var.set, " ", config:get().limit) }
    header_filter_by_lua_block { ngx.header["X-Limit"] = config:get().limit }
    log_by_lua_block {
      ngx.shared.seen:set("limit", config:get().limit)
      ngx.shared.seen:set("problem", select(2, config:problem()))
    }
  }
  location = /seen { content_by_lua_block {
    ngx.say(ngx.shared.seen:get("limit"), " ", tostring(ngx.shared.seen:get("problem")))
  } }
  location = /update { content_by_lua_block {
    ngx.say(tostring(config:update(function(value) value.limit = value.limit + 1 return value end, { timeout = 200 })))
  } }
]]

describe("a configuration in nginx", function()
  local running
  teardown(function()
    if running then running:stop() end
  end)

  it("is read in each phase, and changes without a reload", env.run(function()
    local namespace = env.namespace()
    local session = env.session { namespace = namespace }
    running = nginx.start { http = HTTP:format(env.server().hosts, namespace), server = SERVER }
    local function shows(limit, problem)
      assert(process.eventually(function()
        local _, body = running:get("/")
        local _, seen = running:get("/seen")
        return body == ("%s %s\n"):format(limit, limit) and seen == ("%s %s\n"):format(limit, problem)
      end), "it never shows " .. limit)
    end
    shows("1", "nil")
    assert.equal("true\n", select(2, running:get("/update")))
    shows("2", "nil")
    assert(session:set("/conf", '{"limit": 7}'))
    shows("7", "nil")
    assert(session:set("/conf", '{"limit": '))
    shows("7", "conflict")
    session:close()
  end))
end)
