-- The command of zkr leaves processes that are hard to find (spec/support/strays.c), or that zkr may not kill.

local commanded = require "spec.support.commanded"
local env = require "spec.support.env"
local process = require "spec.support.process"
local zk = require "zkrecipes"
local run = env.run

local FAILED, KILLED = 125, 137
local LIMIT = 300 -- seconds; it takes far less even on a busy machine

-- zkr without the right to kill the processes of other users; a command that is another user's.
local WEAK, OTHER = "setpriv --inh-caps=-all --bounding-set=-kill", "setpriv --reuid 65534 --clear-groups"

local _ = _VERSION == "Lua 5.4" and describe("zkr lock", function()
  local session, namespace, folder

  before_each(function()
    namespace, folder = env.namespace(), process.output "mktemp -d"
    assert(folder ~= "")
    session = env.session { namespace = namespace, timeout = 60 }
  end)

  after_each(function()
    commanded.clear()
    os.execute("rm -r " .. folder) -- strays end then
    session:close()
  end)

  local function start(command, within)
    return commanded.start("lock /l --grace 0.2 -- sh -c " .. commanded.quote(command),
      { ZKR_HOSTS = env.server().hosts, ZKR_NAMESPACE = namespace, ZKR_TIMEOUT = "30" }, nil, within)
  end

  describe("leaves no stray", function()
    local strays

    before_each(function()
      strays = folder .. "/strays"
      assert(os.execute(("gcc -Wall -Werror -o %s spec/support/strays.c && touch %s/file"):format(strays, folder)))
    end)

    -- The process ids of those that run.
    local function left() return process.output(("pgrep -f '^%s'"):format(strays)) end

    -- How many processes the one that forks all the time has been.
    local function pulse() return tonumber(process.output(("stat -c %%s %s/file"):format(folder))) end

    local function begin(ending)
      local zkr = start(("%s %s/file; echo runs; %s"):format(strays, folder, ending))
      zkr:prints "runs"
      env.eventually("all strays", function() return select(2, left():gsub("%d+", "")) >= 3 and pulse() > 0 end, LIMIT)
      return zkr
    end

    -- The next holder meets none.
    local function check(zkr, status)
      local hold = assert(session:lock("/l"):acquire(LIMIT))
      local before = pulse()
      assert.are.equal("", left()) -- it can miss the one that forks all the time
      zk.sleep(0.05)
      assert.are.equal(before, pulse())
      hold:release()
      assert.are.equal(status, (zkr:finish()))
    end

    it("when it is killed", run(function()
      local zkr = begin "exec sleep 600"
      zkr:signal "KILL"
      check(zkr, KILLED)
    end))

    it("when its minder is killed", run(function()
      local zkr = begin "exec sleep 600"
      zkr:signal("KILL", zkr:minder())
      check(zkr, FAILED)
    end))

    it("when the command ends", run(function()
      local zkr = begin(("until [ -e %s/go ]; do sleep 0.1; done; exit 7"):format(folder))
      os.execute(("touch %s/go"):format(folder))
      check(zkr, 7)
    end))
  end)

  it("does not kill what was its child before it was zkr", run(function()
    local file = assert(io.open(folder .. "/before", "w"))
    file:write 'sleep 600 & exec "$@"'
    file:close()
    local zkr = start("echo runs; exec sleep 600", ("sh %s/before"):format(folder))
    zkr:prints "runs"
    local helper, minder = table.unpack(process.children(zkr:pid()))
    zkr:signal("KILL", minder)
    assert.are.equal(FAILED, (zkr:finish()))
    assert.is_true(process.runs(helper))
    os.execute("kill " .. helper)
  end))

  it("says that it cannot kill what has become another user's, and waits for it", run(function()
    if not process.holds(("%s %s true"):format(WEAK, OTHER)) then
      io.stderr:write "strays_spec: this user may not start processes of other users, so it is not shown\n"
      return
    end
    os.execute("chmod 755 " .. folder)
    local zkr = start(("exec %s sh -c 'echo runs; until [ -e %s/go ]; do sleep 0.1; done'"):format(OTHER, folder), WEAK)
    zkr:prints "runs"
    zkr:signal("KILL", zkr:minder())
    env.eventually("zkr says so", function() return zkr:read "err":find "^zkr: process %d+ of the command is another user's" end, LIMIT)
    assert.is_false(zkr:over())
    os.execute(("touch %s/go"):format(folder))
    assert.are.equal(FAILED, (zkr:finish()))
  end))
end)
