-- The servers die in the middle of a command of zkr. One that asks something says so in one line, in time; one that waits for something
-- says so too, and goes on when they are back.

local commanded = require "spec.support.commanded"
local env = require "spec.support.env"
local proxies = require "spec.support.proxy"
local run = env.run

local NO, FAILED = 1, 125
local TIMEOUT = "15" -- seconds, of zkr
local LIMIT = 300   -- seconds; it takes far less even on a busy machine
local MANY = 150    -- znodes of a large tree, each in a line of EXPORT

-- The line, and at which of its requests the servers die: its name ("*": any), and the how many-th. The answer is on its way then. What it
-- says; by default that there was no connection, or that a change may have been made.
local asking = {
  { "ls -l /many", "exists", 50 }, { "ls --json /many", "exists", 50 }, { "tree /many", "getChildren2", 50 },
  { "export /many", "getData", 50 }, { "export --acl /many", "getACL", 50 }, { "import /to <EXPORT", "create2", 50 },
  { "import --overwrite /many <EXPORT", "exists", 50 }, { "rm -rf /gone", "*", 3 }, { "get /many", "getData", 1 },
  { "set /many data", "setData", 1 }, { "create /new", "create2", 1 }, { "rm /x", "delete", 1 }, { "stat /many", "exists", 1 },
  { "acl /many", "getACL", 1 }, { "acl /many open", "setACL", 1 }, { "holders /many", "getChildren2", 1 },
  { "top --once", "getChildren2", 50 }, { "queue put /q x", "*", 1 }, { "queue put --lines /q <EXPORT", "*", 3 },
  { "queue take --try /q", "*", 1 }, { "config get /many", "*", 1 }, { "config set /many x", "*", 2 }, { "id next /id", "*", 2 },
  { "id next --name x /names", "*", 2 }, { "latch down /latch 2", "*", 2 }, { "latch count /latch 2", "*", 1 },
  { "barrier close /barrier", "*", 1 }, { "barrier open /barrier", "*", 1 }, { "group list /group", "*", 1 },
  { "lock --try /l -- true", "create2", 1 }, { "register web 10.0.0.7 1 -- true", "*", 3 }, { "group join /group -- true", "*", 3 },
  { "lock /l -- true", "create2", 1, "^zkr: /l: the session was lost, so the command was not started; try again\n$" },
  { "elect /e -- true", "create2", 1, "^zkr: /e: the session was lost, so the command was not started; try again\n$" },
}

-- The line, what it has printed when it waits, and what it prints in the end, after the servers were away for longer than its session.
-- ends: it ends then, with status 0.
local waiting = {
  { "watch --count 1 /x", "", "^changed /x\n$", ends = true }, { "config watch /x", "^\n$", "^\nnew\n$" },
  { "config watch /x -- sh -c 'echo \"$(cat).\"'", "^%.\n$", "^%.\nnew%.\n$" }, { "group watch /group", "", "^joined\tone\there\n$" },
  { "queue take /q1", "", "^item$", ends = true }, { "queue work /q2 -- cat", "", "^item$" },
  { "barrier wait /b", "", "^$", ends = true }, { "latch wait /latch 1", "", "^$", ends = true },
  { "elect --forever /e -- sh -c 'echo leads; exec sleep 600'", "", "^leads\n$" },
  { "group join /members --id one", "^one\n$", "^one\n$" },
  { "register web 10.0.0.7 1 -- sh -c 'echo serves; exec sleep 600'", "^serves\n$", "^serves\n$" },
}

local _ = _VERSION == "Lua 5.4" and describe("when the servers die", function()
  local session, namespace, export, started

  before_each(function()
    namespace, export, started = env.namespace(), os.tmpname(), {}
    session = env.session { namespace = namespace, timeout = 100 }
    for _, path in ipairs { "/many", "/gone", "/x" } do assert(session:create(path, "", { parents = true })) end
    local file = assert(io.open(export, "w"))
    for i = 1, MANY do
      for _, path in ipairs { "/many/", "/gone/" } do assert(session:create(path .. i, ("x"):rep(100))) end
      file:write(('{"path":"/%d","data":"y"}\n'):format(i))
    end
    file:close()
  end)

  after_each(function()
    commanded.clear()
    for _, one in ipairs(started) do one.proxy:stop() end
    session:close()
    os.remove(export)
  end)

  -- Starts it behind a proxy of its own.
  local function start(line, case)
    local proxy = assert(proxies.start(env.server()))
    if case[3] then proxy:die(case[2], case[3]) end
    local one = { proxy = proxy, case = case,
      zkr = commanded.start_in(namespace, (line:gsub("EXPORT", export)), { ZKR_HOSTS = proxy.hosts, ZKR_TIMEOUT = TIMEOUT }) }
    started[#started + 1] = one
    return one
  end

  local function die(one)
    one.proxy:refuse()
    one.proxy:cut()
    one.dead = true
  end

  it("a command that asks says so", run(function()
    for _, case in ipairs(asking) do start(case[1], case) end
    -- Each at its own moment.
    local alive = #started
    env.eventually("all moments have come", function()
      for _, one in ipairs(started) do
        local over = one.zkr:over()
        if not one.dead and one.proxy:fired() > 0 then
          die(one)
          alive = alive - 1
        end
        assert(one.dead or not over, one.case[1] .. " has ended before")
      end
      return alive == 0
    end, LIMIT)
    for _, one in ipairs(started) do
      local status, _, err = one.zkr:finish()
      assert.are.equal(FAILED, status, one.case[1] .. ": " .. err)
      assert.matches("^zkr: [^\n]+\n$", err, nil, one.case[1])
      assert.matches(one.case[4] or "connect", err, nil, one.case[1])
    end
  end))

  it("zkr doctor says so", run(function()
    local one = start("doctor", { "doctor", "create2", 1 })
    assert(one.proxy:wait_for("fired", 1, LIMIT))
    die(one)
    local status, out, err = one.zkr:finish()
    assert.are.same({ NO, "" }, { status, err })
    assert.matches("\nThe servers' clock is unknown: [^\n]+%.\n", out)
  end))

  -- What they wait for.
  local function happen(things)
    assert(session:set("/x", "new"))
    for _, path in ipairs { "/q1", "/q2" } do assert(session:queue(path):put "item") end
    assert(session:barrier("/b"):open())
    assert(session:latch("/latch", 1):count_down())
    things.term:resign()
    things.member = assert(session:group("/group"):join("here", { id = "one" }))
  end

  -- Waits until the text of this name matches for all.
  local function all_say(name, pattern_of)
    for _, one in ipairs(started) do
      local pattern = pattern_of(one)
      env.eventually(("%s: '%s'"):format(one.case[1], pattern), function() return one.zkr:read(name):find(pattern) end, LIMIT)
    end
  end

  it("a command that waits says so, and goes on when they are back", run(function()
    assert(session:barrier("/b"):close())
    local things = { term = assert(session:election("/e"):campaign()) }
    for _, case in ipairs(waiting) do start(case[1], { case[1], first = case[2], last = case[3], ends = case.ends }) end
    all_say("out", function(one) return one.case.first end)
    for _, one in ipairs(started) do assert(one.proxy:wait_for("heartbeat", 1, LIMIT)) end
    for _, one in ipairs(started) do die(one) end
    local note = "^zkr: the session was lost %([^\n]+%); zkr goes on when a server answers\n"
    all_say("err", function() return note .. "$" end)
    for _, one in ipairs(started) do one.proxy:heal() end
    all_say("err", function() return note .. "zkr: connected again\n$" end)
    happen(things)
    all_say("out", function(one) return one.case.last end)
    env.eventually("the member and the instance are back", function()
      return #(session:children "/members" or {}) == 1 and #(session:children "/services/web" or {}) == 1
    end, LIMIT)
    for _, one in ipairs(started) do
      if not one.case.ends then one.zkr:signal "TERM" end
      local status, _, err = one.zkr:finish()
      if one.case.ends then assert.are.equal(0, status, one.case[1] .. ": " .. err) end
    end
    things.member:leave()
  end))
end)
