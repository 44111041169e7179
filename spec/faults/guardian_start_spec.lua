-- How a guardian is started, and when the end of a connection is the end of the session.

local env = require "spec.support.env"
local child = require "spec.support.child"
local guardians = require "spec.support.guardians"
local process = require "spec.support.process"
local proxies = require "spec.support.proxy"
local run = env.run

local TIMEOUT, AT_ONCE = guardians.TIMEOUT, guardians.AT_ONCE
local hang = assert(package.searchpath("spec_hang", package.cpath))
local guardian, unguarded, start = guardians.one, guardians.none, guardians.start

describe("a guardian", function()
  -- The planted program is `touch`, which gets the guardian's arguments.
  it("is the program that existed when the module was loaded", run(function()
    local core = assert(package.searchpath("zkrecipes.core", package.cpath))
    assert.is_nil(core:find("^/"), "LUA_CPATH is relative")
    local folder = process.output("mktemp -d")
    local place = folder .. "/" .. core:match("^(.*)/")
    assert(os.execute(("mkdir -p %s && cp %s %s/ && cp $(command -v touch) %s/guardian.so"):format(place, core, place, place)))
    local worker, session, watch = start { through = "env GUARDED_IN=" .. folder }
    guardian(worker.pid)
    assert.are.equal("0 ", worker:ask("notes"))
    worker:signal("KILL")
    assert.are.equal("deleted", watch:wait(AT_ONCE))
    assert.is_false(process.exists(folder .. "/" .. worker.pid), "the planted program ran")
    worker:stop()
    session:close()
    os.execute("rm -r " .. folder)
  end))

  it("is that program also if the process has closed its descriptors", run(function()
    local core = assert(package.searchpath("zkrecipes.core", package.cpath))
    local folder = process.output("mktemp -d")
    local own = folder .. "/own/zkrecipes"
    assert(os.execute(("mkdir -p %s && cp %s %s/guardian.so %s/"):format(own, core, core:match("^(.*)/"), own)))
    local through = ("env GUARDED_CLOSES=yes LUA_CPATH='%s/own/?.so;%s'"):format(folder, package.cpath)
    local worker, session = start { through = through }
    guardian(worker.pid)
    worker:stop()

    -- A file that has replaced the program is not started.
    worker = child.start(env.namespace(), TIMEOUT, nil, { script = "guarded", through = through .. " GUARDED_WAITS=yes" })
    assert.are.equal("ready", worker:ask("ready")) -- it has loaded the module
    assert(os.execute(("cp $(command -v touch) %s/new && mv %s/new %s/guardian.so"):format(own, own, own)))
    assert.are.equal("opened", worker:ask("open 20"))
    assert.are.equal("/e", worker:ask("hold"))
    env.eventually("the log tells", function()
      return worker:ask("notes"):find("the session has no guardian: " .. own .. "/guardian.so: Stale file handle", 1, true)
    end)
    worker:stop()
    session:close()
    os.execute("rm -r " .. folder)
  end))

  -- No call waits for the start: heartbeats continue, and the guardian gets all earlier orders when it runs.
  it("may be started from a disk that hangs", run(function()
    local file = os.tmpname()
    local worker, session, watch = start { timeout = 15, preload = hang, through = "env HANG_WHILE=" .. file } -- it answers meanwhile
    local id = worker:ask("id")
    env.fails("timeout", watch:wait(18))
    assert.is_true(unguarded(worker.pid))
    assert.are.equal(id, worker:ask("id"))
    os.remove(file)
    guardian(worker.pid)
    worker:stop()
    session:close()
  end))

  it("ends the session also if its start was late", run(function()
    local file = os.tmpname()
    local worker, session, watch = start { preload = hang, through = "env HANG_WHILE=" .. file }
    assert.is_true(unguarded(worker.pid))
    os.remove(file)
    guardian(worker.pid)
    worker:signal("KILL")
    assert.are.equal("deleted", watch:wait(AT_ONCE))
    worker:stop()
    session:close()
  end))

  -- The guardian does not read its orders. The end of its socket must not hide the reason.
  it("has the log say why it could not be started, although it had orders already", run(function()
    local file = os.tmpname()
    local worker, session = start { timeout = 20, preload = hang, through = "env HANG_REFUSES=yes HANG_WHILE=" .. file }
    assert.are.equal("0 ", worker:ask("notes"))
    os.remove(file)
    env.eventually("the log tells", function()
      return worker:ask("notes"):find("the session has no guardian: [^ ]*/guardian.so: Permission denied")
    end)
    assert.is_nil(worker:ask("notes"):find("has ended", 1, true))
    assert.is_true(unguarded(worker.pid))
    worker:stop()
    session:close()
  end))

  it("has the log say that it needs /proc", run(function()
    local worker, session = start { timeout = 20, preload = hang, through = "env HANG_NO_PROC=yes" }
    env.eventually("the log tells", function()
      return worker:ask("notes"):find("the session has no guardian: it needs /proc: No such file or directory", 1, true)
    end)
    assert.is_true(unguarded(worker.pid))
    worker:stop()
    session:close()
  end))
end)

-- The close request never reaches the server; the connection ends before the answer, by RST or FIN.
describe("a close whose connection ends without an answer", function()
  local proxy
  setup(function() proxy = proxies.start(env.server()) end)
  teardown(function() proxy:stop() end)
  before_each(function()
    proxy:clear()
    proxy:reset()
    proxy:heal()
  end)

  it("is repeated on another connection", run(function()
    for _, fault in ipairs { "drop_request", "drop_reply" } do
      local worker, session, watch = start { hosts = proxy.hosts }
      proxy:clear()
      proxy[fault](proxy, "closeSession")
      assert.matches("^closed", worker:ask("close 60"))
      assert.are.equal(1, proxy:fired())
      assert.are.equal("deleted", watch:wait(AT_ONCE))
      env.eventually("the guardian has gone", function() return unguarded(worker.pid) end)
      worker:stop()
      session:close()
    end
  end))

  for _, fin in ipairs { false, true } do
    it("is left to the guardian if there is no other connection, fin = " .. tostring(fin), run(function()
      local worker, session, watch = start { hosts = proxy.hosts }
      guardian(worker.pid)
      proxy:hold("closeSession")
      proxy:refuse()
      worker:tell("close 1")
      env.eventually("it is on its way", function() return proxy:sent().closeSession > 0 end)
      proxy:clear()
      proxy:cut { fin = fin }
      assert.matches("^closed", worker:answer())
      env.late(watch:wait(0.2))
      guardian(worker.pid)
      worker:signal("KILL")
      proxy:heal()
      assert.are.equal("deleted", watch:wait(AT_ONCE))
      env.eventually("the guardian has gone", function() return unguarded(worker.pid) end)
      worker:stop()
      session:close()
    end))
  end
end)
