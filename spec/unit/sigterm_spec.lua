-- SIGTERM ends zk.run like Ctrl-C, and then the process.

local env = require "spec.support.env"
local process = require "spec.support.process"
local zk = require "zkrecipes"

-- Starts a program that holds the lock "/l" of this namespace. Returns { line() > its next line, pid, kill() }.
local function start(namespace, way, before)
  local command = ("%s exec 2>/dev/null; %s spec/support/terminated.lua '%s' '%s' %s; echo status $?"):format(before or "",
    env.interpreter(), env.server().hosts, namespace, way)
  local pipe = assert(io.popen(command, "r"))
  local self = { pid = tonumber((pipe:read("*l"))) }
  function self.line() return pipe:read("*l") end
  function self.kill() assert(os.execute("kill -TERM " .. self.pid)) end
  return self
end

local function contenders(namespace)
  local session = env.session { namespace = namespace }
  local names = assert(session:children("/l"))
  session:close()
  return #names
end

-- The program waits two seconds for its session's end, which a busy server may exceed. Without a close it would end after two minutes.
local function is_closed(namespace)
  local from = zk.now()
  env.eventually("the session is closed", function() return contenders(namespace) == 0 end)
  assert.is_true(zk.now() - from < 100)
end

describe("SIGTERM in zk.run", function()
  it("cancels coroutines, closes sessions, and ends the process by the signal", function()
    local namespace = env.namespace()
    local program = start(namespace, "waits")
    assert.are.equal(1, contenders(namespace))
    program.kill()
    assert.are.equal("cleans up: the task was canceled", program.line())
    assert.are.equal("status 143", program.line())
    is_closed(namespace)
  end)

  it("reaches a program whose coroutines never wait for long", function()
    local program = start(env.namespace(), "never_waits")
    program.kill()
    assert.are.equal("status 143", program.line())
  end)

  it("ends a clean-up that hangs, if it comes again", function()
    local program = start(env.namespace(), "hangs")
    program.kill()
    assert.matches("cleans up", program.line())
    program.kill()
    assert.are.equal("status 143", program.line())
  end)

  it("that comes while sessions are being closed ends the process afterwards", function()
    local namespace = env.namespace()
    local program = start(namespace, "closes")
    assert.are.equal("status 143", program.line())
    is_closed(namespace)
  end)

  it("that is sent to a child ends the child, not the process", function()
    local program = start(env.namespace(), "forks")
    assert.are.equal("child: -15", program.line())
    program.kill()
    assert.matches("cleans up", program.line())
    assert.are.equal("status 143", program.line())
  end)

  it("is not caught with sigterm = false", function()
    local namespace = env.namespace()
    local program = start(namespace, "refuses")
    program.kill()
    assert.are.equal("status 143", program.line())
    assert.are.equal(1, contenders(namespace))
  end)

  it("stays ignored in a program that ignores it", function()
    local program = start(env.namespace(), "waits", "trap '' TERM;")
    program.kill()
    assert.is_true(process.runs(program.pid))
    assert(os.execute("kill -KILL " .. program.pid))
    assert.are.equal("status 137", program.line())
  end)

  it("is caught only while zk.run runs", function()
    local function caught() return process.holds("[ $((0x$(sed -n 's/^SigCgt:.//p' /proc/$PPID/status) & 0x4000)) != 0 ]") end
    assert.is_false(caught())
    assert.is_true(zk.run(caught))
    assert.is_false(caught())
    assert.is_false(zk.run(caught, { sigterm = false }))
  end)
end)
