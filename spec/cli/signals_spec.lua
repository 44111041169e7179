-- zkr register, group join, queue work, config watch: what a signal does while a command runs. The command gets what is meant for it, and
-- zkr does not end before it. (spec/cli/run_spec.lua: the same for lock.)

local commanded = require "spec.support.commanded"
local env = require "spec.support.env"
local process = require "spec.support.process"
local zk = require "zkrecipes"
local run = env.run

local LIMIT = 300 -- seconds; it takes far less even on a busy machine
local AGAIN = 5  -- seconds until a signal is sent again
local NUMBERS = { INT = 2, TERM = 15, HUP = 1, QUIT = 3, USR1 = 10, USR2 = 12, WINCH = 28 }
local ENDING = { INT = true, TERM = true, HUP = true, QUIT = true }

-- The line; what zkr shows while the command runs: the children of this znode; and zkr's status, if it is not that of the command.
local commands = {
  { "register web 10.0.0.7 8080", shows = "/services/web" },
  { "group join /g here", shows = "/g" },
  { "queue work --attempts 1 /q", shows = "/q/claims", status = function() return 0 end, goes_on = true },
  { "config watch /conf", status = function(name) return ENDING[name] and 128 + NUMBERS[name] end, goes_on = true },
}

local _ = _VERSION == "Lua 5.4" and describe("a signal for zkr", function()
  local session, namespace

  before_each(function()
    namespace = env.namespace()
    session = env.session { namespace = namespace, timeout = 100 }
    assert(session:connected(200))
    assert(session:queue("/q"):put "item")
  end)

  after_each(function()
    commanded.clear()
    session:close()
  end)

  local function start(line, script)
    local zkr = commanded.start_in(namespace, ("%s -- bash -c '%s'"):format(line, script))
    zkr:prints "ready\n"
    return zkr
  end

  local function send_until(zkr, name, what, condition)
    local due = 0
    env.eventually(what, function()
      if zk.now() >= due then
        zkr:signal(name)
        due = zk.now() + AGAIN
      end
      return condition() or zkr:over()
    end, LIMIT)
  end

  for _, one in ipairs(commands) do
    for name, number in pairs(NUMBERS) do
      it(("%s: the command gets %s, and zkr ends after it"):format(one[1], name), run(function()
        -- In bash a signal ends `wait`. One that comes just before bash begins to wait ends nothing, so it is sent again.
        local zkr = start(one[1], ('trap "echo got %s; exit %d" %s; echo ready; sleep 600 & wait'):format(name, number, name))
        local wanted = one.status and one.status(name) or number
        send_until(zkr, name, "the command has got it", function() return zkr:read "out":find "got" end)
        -- What goes on after the command is ended now.
        if one.goes_on and not ENDING[name] then
          env.eventually("it says that the command failed", function() return zkr:read "err":find "ended with status" end, LIMIT)
          wanted = one.shows and 0 or 143
          send_until(zkr, "TERM", "the end of zkr", function() return false end)
        end
        local status, out, err = zkr:finish()
        assert.are.same({ wanted, "ready\ngot " .. name .. "\n" }, { status, out }, err)
        if one.shows then env.eventually("nothing is shown", function() return #(session:children(one.shows) or {}) == 0 end, 30) end
      end))
    end
  end

  for _, one in ipairs { commands[1], commands[2] } do
    for _, name in ipairs { "HUP", "QUIT", "USR1" } do
      it(("%s: nothing is taken back at %s if the command goes on"):format(one[1], name), run(function()
        local zkr = start(one[1], ('trap "echo got %s" %s; echo ready; while :; do sleep 0.05; done'):format(name, name))
        send_until(zkr, name, "the command has got it", function() return zkr:read "out":find "got" end)
        assert.is_false(zkr:over())
        assert.are.equal(1, #assert(session:children(one.shows)))
        zkr:signal "TERM"
        assert.are.equal(143, (zkr:finish()))
        env.eventually("nothing is shown", function() return #(session:children(one.shows) or {}) == 0 end, 30)
      end))
    end
  end

  it("queue work: the first QUIT goes to the command, and ends zkr after it", run(function()
    local zkr = start("queue work --attempts 1 /q", 'trap "echo got QUIT" QUIT; echo ready; while :; do sleep 0.05; done')
    assert(session:queue("/q"):put "another")
    zkr:signal "QUIT"
    zkr:prints "got QUIT"
    zkr:signal "TERM"
    local status, out = zkr:finish()
    assert.are.same({ 0, "ready\ngot QUIT\n" }, { status, out })
    assert.are.equal("another", assert(session:queue("/q"):claim(100)).data)
  end))

  it("queue work, while it waits for items: USR1 does nothing, and QUIT ends it", run(function()
    local zkr = commanded.start_in(namespace, "queue work /q -- cat")
    zkr:prints "item"
    env.eventually("it waits", function() return session:queue("/q"):size() == 0 end, LIMIT)
    zkr:signal "USR1"
    assert(session:queue("/q"):put ", another")
    zkr:prints "item, another"
    zkr:signal "QUIT"
    assert.are.equal(0, (zkr:finish()))
  end))

  it("config watch, between two commands: USR1 does nothing, and TERM ends it", run(function()
    local zkr = commanded.start_in(namespace, "config watch /conf -- sh -c 'cat; echo .'")
    zkr:prints "^%.\n$"
    env.eventually("the command has ended", function() return #process.children(zkr:pid()) == 0 end, LIMIT)
    zkr:signal "USR1"
    assert(session:create("/conf", "new"))
    zkr:prints "^%.\nnew%.\n$"
    env.eventually("the command has ended", function() return #process.children(zkr:pid()) == 0 end, LIMIT)
    zkr:signal "TERM"
    assert.are.equal(143, (zkr:finish()))
  end))
end)
