-- zkr is killed, or gets signals, at any moment: while it asks for a lock, when it has been granted it, while it releases. Nothing of it is
-- left, no command runs without the lock, and the lock is free after the session's timeout. (spec/cli/outlive_spec.lua: while it holds.)

local commanded = require "spec.support.commanded"
local env = require "spec.support.env"
local process = require "spec.support.process"
local run = env.run

local TIMEOUT = "12"
local LIMIT = 300 -- seconds; it takes far less even on a busy machine

-- name; fault: of the proxy (dev/proxy/faults.lua), with which the moment begins; runs: the command has begun by then.
local moments = {
  { name = "while it asks for the lock", fault = { "hold", "create2" } },
  { name = "when it has been granted the lock, and does not know that", fault = { "hold_reply", "create2" } },
  { name = "while it looks who holds", fault = { "hold_reply", "getChildren2" } },
  { name = "while it releases", fault = { "hold", "delete" }, runs = true },
  { name = "when it has released, and does not know that", fault = { "hold_reply", "delete" }, runs = true },
}

local _ = _VERSION == "Lua 5.4" and describe("zkr lock", function()
  local session, namespace, proxy, marks

  before_each(function()
    namespace, marks = env.namespace(), process.output "mktemp -d"
    session = env.session { namespace = namespace, timeout = 60 }
    assert(session:create("/l", "", { parents = true }))
    proxy = env.proxy()
  end)

  after_each(function()
    proxy:clear()
    proxy:heal()
    commanded.clear()
    session:close()
    os.execute("rm -r " .. marks)
  end)

  local function has_run() return process.exists(marks .. "/ran") end

  -- Starts it, and returns it when the moment has come.
  local function at(moment)
    proxy[moment.fault[1]](proxy, moment.fault[2])
    local zkr = commanded.start_in(namespace, ("lock /l -- touch %s/ran"):format(marks), { ZKR_HOSTS = proxy.hosts, ZKR_TIMEOUT = TIMEOUT })
    assert(proxy:wait_for("fired", 1, LIMIT))
    return zkr
  end

  -- Waits until no process of it is left: it was started with a session of its own (setsid).
  local function nothing_is_left(pid)
    env.eventually("the end of all its processes", function()
      return process.holds(("! ps -o stat= -s %s | grep -q '^[^ZX]'"):format(pid))
    end, LIMIT)
  end

  -- The rest of a moment: zkr has ended.
  local function check(moment, pid)
    nothing_is_left(pid)
    assert.are.equal(moment.runs or false, has_run())
    proxy:release()
    local hold = assert(session:lock("/l"):acquire(LIMIT))
    assert.are.equal(moment.runs or false, has_run())
    hold:release()
  end

  for _, moment in ipairs(moments) do
    it("that is killed " .. moment.name .. " leaves nothing", run(function()
      local zkr = at(moment)
      local pid = zkr:pid()
      zkr:signal "KILL"
      local status = zkr:finish() -- one that releases waits for a second at most, so it may have ended before
      assert.is_true(status == 137 or moment.runs and status == 0, ("status %d"):format(status))
      check(moment, pid)
    end))

    it("that gets two signals at once " .. moment.name .. " ends", run(function()
      local zkr = at(moment)
      local pid = zkr:pid()
      os.execute(("kill -TERM %s; kill -INT %s"):format(pid, pid))
      local status, _, err = zkr:finish()
      assert.are.equal("", err)
      if moment.runs then assert.are.equal(0, status) -- that of the command
      else assert.is_true(status == 143 or status == 130, ("status %d"):format(status)) end
      check(moment, pid)
    end))
  end
end)
