-- Inside a real nginx: the log phase of a request releases what the request still holds, and nothing else.

require "spec_fork"
local env = require "spec.support.env"
local nginx = require "spec.support.nginx"
local process = require "spec.support.process"

local HTTP = [[
  init_worker_by_lua_block {
    zk = require "zkrecipes"
    session = zk.shared { hosts = "%s", timeout = 60, namespace = "%s", request_timeout = 200 }
    lock = session:lock("/l")
    probe = setmetatable({}, { __mode = "v" })
  }
]]

local SERVER = [[
  log_by_lua_block { require("zkrecipes.openresty").release() }

  # The log phase comes when the collector has found the hold, but not yet called its finalizer.
  location = /collected {
    content_by_lua_block {
      jit.flush() collectgarbage() collectgarbage("stop")
      probe[1] = assert(lock:acquire(200))
      ngx.exit(204)
    }
    log_by_lua_block {
      local cycles = 0
      while probe[1] and cycles < 3 do
        if collectgarbage("step", 0) then cycles = cycles + 1 end
      end
      collectgarbage("stop")
      require("zkrecipes.openresty").release()
    }
  }
  location = /collect { content_by_lua_block { collectgarbage("restart") } }

  location = /again { content_by_lua_block {
    local lock = session:lock("/l", { reentrant = true })
    for i = 1, 3 do assert(lock:acquire(200)) end
    ngx.exit(204)
  } }

  location = /cohort { content_by_lua_block {
    cohort = cohort or session:lock("/l", { cohort = true })
    local turn = assert(cohort:acquire(tonumber(ngx.var.arg_limit)))
    turns = (turns or 0) + 1
    if ngx.var.arg_keep then
      kept = turn
      ngx.sleep(tonumber(ngx.var.arg_keep))
      ngx.print(tostring(turn:valid()))
    end
    if ngx.var.arg_exit then ngx.exit(204) end
    turn:release()
  } }
  location = /turns { content_by_lua_block { ngx.print(turns or 0) } }

  # The turn comes to the light thread, which is killed before it can go on.
  location = /late { lua_http10_buffering off; content_by_lua_block {
    local lock = session:lock("/l", { cohort = true })
    local turn = assert(lock:acquire(200))
    local light = ngx.thread.spawn(function() went_on = lock:acquire(5) and "went on" end)
    turn:release()
    ngx.thread.kill(light)
    ngx.print(went_on or "killed")
    ngx.flush(true)
    ngx.sleep(60) -- the request continues meanwhile
  } }

  location = /leads { content_by_lua_block {
    assert(session:election("/l", { rank = 1 }):campaign(200))
    ngx.exit(204)
  } }

  # Somebody else leads; the collector does not help.
  location = /stands { content_by_lua_block {
    collectgarbage("stop")
    election = session:election("/l", { rank = 1 })
    local light = ngx.thread.spawn(election.campaign, election)
    while #session:children("/l") < 2 do ngx.sleep(0.01) end
    for _ = 1, 10 do session:exists("/l") end -- until the candidate has its znode and has read the leader
    ngx.thread.kill(assert(#election:attempts() == 1 and light))
    local function count(list)
      local number = 0
      for _, one in ipairs(list) do number = number + (one.kind == "election" and 1 or 0) end
      return number
    end
    while #election:attempts() > 0 do ngx.sleep(0.01) end
    ngx.print(count(zk.status().waiting))
  } }

  location = /claims { content_by_lua_block {
    collectgarbage("stop")
    queue = queue or session:queue("/q")
    if ngx.var.arg_put then assert(queue:put("item")) end
    local item = assert(queue:claim(200))
    local held = 0
    for _ in pairs(ngx.ctx.zkrecipes.held.holds) do held = held + 1 end
    if ngx.var.arg_put then ngx.exit(204) end
    item:ack()
    for _ in pairs(ngx.ctx.zkrecipes.held.holds) do held = held - 1 end
    ngx.print(item.data, " ", item.attempts, " ", held)
  } }

  location = /joins { content_by_lua_block {
    collectgarbage("stop")
    barrier = session:cyclic_barrier("/l", 2)
    local light = ngx.thread.spawn(barrier.wait, barrier)
    while #(session:children("/l") or {}) < 2 do ngx.sleep(0.01) end
    for _ = 1, 10 do session:exists("/l") end
    ngx.thread.kill(light)
  } }

  location = /many { content_by_lua_block {
    local count = 0
    for i = 1, 200 do assert(lock:acquire(200)):release() end
    for _ in pairs(ngx.ctx.zkrecipes.held.holds) do count = count + 1 end
    ngx.print(count)
  } }

  location = /handed { content_by_lua_block { kept = assert(lock:acquire(200)) } log_by_lua_block { return } }
  location = /taken { content_by_lua_block { ngx.print(tostring(kept:valid())) kept:release() } }
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
    local log = it_runs:log()
    it_runs:stop()
    session:close()
    assert.is_nil(log:find("%[crit%]") or log:find("%[error%]") or log:find("exited on signal"), log)
  end)

  local function becomes(number)
    assert(process.eventually(function() return #(session:children("/l") or {}) == number end),
      "the queue of the lock is " .. #(session:children("/l") or {}))
  end

  it("releases a killed handler's hold, although the collector ran first", function()
    for _ = 1, 3 do
      assert.equal(204, (it_runs:get("/collected")))
      becomes(0)
      it_runs:get("/collect")
    end
  end)

  it("releases a reentrant lock as often as it was acquired", function()
    assert.equal(204, (it_runs:get("/again")))
    becomes(0)
  end)

  it("releases the turn of a killed member of a cohort", function()
    assert.equal(204, (it_runs:get("/cohort?limit=200&exit=1")))
    becomes(0)
    assert.equal(204, (it_runs:get("/cohort?limit=0&exit=1")))
    becomes(0)
  end)

  it("resigns the term of a killed leader by rank", function()
    assert.equal(204, (it_runs:get("/leads")))
    becomes(0)
  end)

  it("is not needed for a candidate by rank that was killed while it waited", function()
    local term = assert(session:election("/l", { rank = 9 }):campaign(200))
    local _, waiting = it_runs:get("/stands")
    becomes(1)
    term:resign()
    it_runs:get("/collect")
    becomes(0)
    assert.equal("0", waiting)
  end)

  it("gives back the item that a killed handler has claimed, without an attempt", function()
    assert.equal(204, (it_runs:get("/claims?put=1")))
    assert.equal("item 1 1", (select(2, it_runs:get("/claims"))))
    it_runs:get("/collect")
  end)

  it("is not needed for a member of a round that was killed while it waited", function()
    assert.equal(200, (it_runs:get("/joins")))
    becomes(0)
    it_runs:get("/collect")
  end)

  it("after a try does not take the cohort's lock from the holder of the next turn", function()
    local before = tonumber((select(2, it_runs:get("/turns"))))
    local first = it_runs:open("/cohort?limit=0&keep=3")
    becomes(1)
    local second = it_runs:open("/cohort?limit=200&keep=0.3")
    assert.equal("true", (select(2, nginx.answer(first))))
    assert.equal("true", (select(2, nginx.answer(second))))
    assert.equal(before + 2, tonumber((select(2, it_runs:get("/turns")))))
    becomes(0)
  end)

  it("is not needed for a hold that was granted to a killed light thread", function()
    local late = it_runs:open("/late")
    repeat local line = late:receive("*l") until line == ""
    assert.equal("killed", late:receive(6))
    becomes(0)
    late:settimeout(0)
    assert.equal("timeout", select(2, late:receive(1)))
    late:close()
  end)

  it("does not release again what was already released, also by another request", function()
    assert.equal("0", (select(2, it_runs:get("/many"))))
    it_runs:get("/handed")
    becomes(1)
    assert.equal("true", (select(2, it_runs:get("/taken"))))
    becomes(0)
  end)
end)
