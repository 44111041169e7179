-- zkr lock before it holds: what it loads, and the minder, which it starts meanwhile.

local commanded = require "spec.support.commanded"
local env = require "spec.support.env"
local process = require "spec.support.process"
local run = env.run

local _ = _VERSION == "Lua 5.4" and describe("zkr lock", function()
  local session, namespace

  before_each(function()
    namespace = env.namespace()
    session = env.session { namespace = namespace }
  end)

  after_each(function()
    commanded.clear()
    session:close()
  end)

  local function start(line, more) return commanded.start_in(namespace, line, more) end

  it("loads only what it needs", run(function()
    local names = os.tmpname()
    local look = ([[
      local exit = os.exit
      function os.exit(...)
        local file = io.open("%s", "w")
        for name in pairs(package.loaded) do file:write(name, "\n") end
        file:close()
        exit(...)
      end]]):format(names)
    assert.are.equal(0, (start("lock /l -- true", { LUA_INIT = look }):finish()))
    local loaded = process.output(("grep -x 'zkr.*\\|argparse\\|luv\\|cjson\\|term\\|mime' %s | LC_ALL=C sort; rm %s"):format(names, names))
    assert.are.equal("argparse luv zkrecipes adapters.builtin adapters.luv adapters.poll check classes cli.arguments cli.child cli.clean "
      .. "cli.closed cli.commands.lock cli.context cli.exit cli.held cli.ignored cli.list cli.main cli.needs cli.orphans cli.output "
      .. "cli.parsers cli.problem cli.settings cli.signals core escape host.coroutines host.dispatch host.fifo host.host host.loop "
      .. "host.run host.scopes host.tasks host.timers host.wait host.waiters late module path recipes recipes.lock.lock "
      .. "recipes.lock.own_holds session status.activity status.queue_lengths status.status",
      (loaded:gsub("\n", " "):gsub("zkrecipes%.", "")))
  end))

  -- zkr waits for a lock that this session holds; returns zkr, its minder, and the hold.
  local function waits()
    local hold = session:lock("/l"):acquire()
    local zkr = start "lock /l -- sh -c 'echo $ZKR_PATH $ZKR_TOKEN'"
    env.eventually("zkr waits", function() return #session:children("/l") == 2 and zkr:minder() end)
    return zkr, zkr:minder(), hold
  end

  it("starts another minder if that was killed before the command began", run(function()
    local zkr, minder, hold = waits()
    local token = session:lock("/l"):contenders()[2].token
    zkr:signal("KILL", minder)
    env.eventually("the minder's end is seen", function() return not process.exists("/proc/" .. minder) end)
    hold:release()
    local status, out, err = zkr:finish()
    assert.are.same({ 0, "/l " .. token .. "\n", "" }, { status, out, err })
  end))

  it("leaves no minder behind if it gives up", run(function()
    for _, signal in ipairs { { "TERM", 128 + 15 }, { "KILL", 128 + 9 } } do
      local zkr, minder, hold = waits()
      zkr:signal(signal[1])
      local status, out = zkr:finish()
      assert.are.same({ signal[2], "" }, { status, out })
      env.eventually("the minder's end", function() return not process.runs(minder) end)
      hold:release()
    end
  end))
end)
