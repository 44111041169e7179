-- Inside a real nginx: after a light thread was killed in a wait by ngx.thread.kill, or a request has ended, handles still work. For each
-- wait of each method see spec/unit/kill_spec.lua.

require "spec_fork"
local env = require "spec.support.env"
local nginx = require "spec.support.nginx"

local HTTP = [[
  init_worker_by_lua_block {
    zk = require "zkrecipes"
    session = zk.shared { hosts = "%s", timeout = 60, namespace = "%s" }
    cohort = session:lock("/c", { cohort = true })
    double = session:double_barrier("/d", 2)
    cyclic = session:cyclic_barrier("/r", 2)
    locks = session:multilock { session:lock("/m1"), session:lock("/m2") }
    ranked = session:election("/e", { rank = 1 })
    queue = session:queue("/q")
    collectgarbage("stop") -- the collector must not help

    -- Kills fn(...) after this many round trips.
    function strike(trips, fn, ...)
      local light = ngx.thread.spawn(fn, ...)
      for _ = 1, trips do session:exists("/") end
      ngx.thread.kill(light)
    end

    function within(seconds, condition)
      local over = zk.now() + seconds
      repeat
        local value = condition()
        if value then return value end
        ngx.sleep(0.02)
      until zk.now() > over
    end

    -- No killed call waits there any more, and nothing is left of its member.
    function left(path)
      for _, one in ipairs(zk.status().waiting) do
        if one.path == path then return false end
      end
      return #(session:children(path) or {}) == 0
    end

    -- Calls that are killed, and calls that must work afterwards.
    ways = {
      cohort = { function() cohort:acquire(0) end, function()
        require("zkrecipes.openresty").release() -- the light thread may have been granted it
        return within(200, function()
          local turn = cohort:acquire(0)
          if turn then turn:release() end
          return turn
        end) and cohort:acquire(200):release()
      end },
      double = { function() double:enter(5) end, function()
        local other = session:double_barrier("/d", 2)
        return within(200, function() return left("/d") end) and
          pcall(zk.all, { function() assert(double:enter(200)) assert(double:leave(200)) end,
            function() assert(other:enter(200)) assert(other:leave(200)) end })
      end },
      cyclic = { function() cyclic:wait(5) end, function()
        return within(200, function() return left("/r") end) and
          zk.all { function() return cyclic:wait(200) end, function() return cyclic:wait(200) end }
      end },
      multilock = { function() locks:acquire(5) end, function()
        require("zkrecipes.openresty").release()
        local hold = locks:acquire(200)
        return hold and hold:release()
      end },
      ranked = { function() ranked:campaign(5) end, function()
        require("zkrecipes.openresty").release()
        local term = ranked:campaign(200)
        return term and term:resign()
      end },
      queue = { function() queue:claim(5) end, function()
        require("zkrecipes.openresty").release()
        queue:put("x")
        local item = queue:claim(200)
        return item and item:ack()
      end },
    }
  }
]]

local SERVER = [[
  log_by_lua_block { require("zkrecipes.openresty").release() }
  location = /strike { content_by_lua_block {
    local way = ways[ngx.var.arg_way]
    strike(tonumber(ngx.var.arg_trips), way[1])
    ngx.print(way[2]() and "works" or "hangs")
  } }

  # The request itself ends.
  location = /exit { content_by_lua_block {
    ngx.thread.spawn(ways[ngx.var.arg_way][1])
    for _ = 1, tonumber(ngx.var.arg_trips) do session:exists("/") end
    ngx.exit(204)
  } }
  location = /then { content_by_lua_block { ngx.print(ways[ngx.var.arg_way][2]() and "works" or "hangs") } }
  location = /scopes { content_by_lua_block {
    local host = require("zkrecipes.core").host(session)
    ngx.print(within(200, function() return not next(host.scopes) and not next(host.parked) end) and "none" or "some")
  } }
]]

describe("in nginx a light thread that is killed", function()
  local it_runs, session

  setup(function()
    local namespace = env.namespace()
    session = env.session { namespace = namespace }
    assert(session:connected(200))
    it_runs = nginx.start { http = HTTP:format(env.server().hosts, namespace), server = SERVER }
  end)

  teardown(function()
    local log = it_runs:log()
    it_runs:stop()
    session:close()
    assert.is_nil(log:find("%[crit%]") or log:find("%[error%]") or log:find("exited on signal"), log)
  end)

  for _, way in ipairs { "cohort", "double", "cyclic", "multilock", "ranked", "queue" } do
    it("leaves a handle that works: " .. way, function()
      for trips = 0, 7 do
        local query = ("?way=%s&trips=%d"):format(way, trips)
        assert.same({ trips, "works" }, { trips, (select(2, it_runs:get("/strike" .. query))) })
        assert.equal(204, (it_runs:get("/exit" .. query)))
        assert.same({ trips, "works" }, { trips, (select(2, it_runs:get("/then" .. query))) })
      end
    end)
  end

  it("leaves no scope", function()
    assert.equal("none", (select(2, it_runs:get("/scopes"))))
  end)
end)
