-- zkr holders, doctor, server: the program itself, on real servers.

local cjson = require "cjson"
local env = require "spec.support.env"
local testing = require "zkrecipes.testing"
local zk = require "zkrecipes"
local zkr = require "spec.support.zkr"
local run = env.run

local _ = zkr.supported and describe("zkr holders", function()
  local namespace, session

  before_each(function()
    namespace = env.namespace()
    session = env.session { namespace = namespace }
  end)

  after_each(function()
    session:close()
    zkr.finish_all()
  end)

  local function plain(text) return (text:gsub("%p", "%%%0")) end

  local function holders(...) return zkr.run({ "holders", ... }, { namespace = namespace }) end

  it("shows who holds a lock and who waits", run(function()
    local lock, other = session:lock("/l", { data = "me" }), session:lock("/l", { data = "\0\255" })
    local hold = assert(lock:acquire())
    local wait = env.start(function() return other:acquire() end)
    env.queue_of(session, "/l", 2)
    local out, status, err = holders "/l"
    assert.are.same({ 0, "" }, { status, err })
    assert.matches("^STATE  SINCE  +HOST       SESSION           DATA     ZNODE\n"
      .. "holds  [%d smin]+  127%.0%.0%.1  " .. session.id .. "  me       " .. plain(hold.path:match "[^/]*$") .. "\n"
      .. "waits  [%d smin]+  127%.0%.0%.1  " .. session.id .. "  2 bytes  [^\n]+\n$", out)
    local first, second = holders("--json", "/l"):match "^([^\n]+)\n([^\n]+)\n$"
    first, second = cjson.decode(first), cjson.decode(second)
    assert.are.same({ hold.path, true, "127.0.0.1", session.id, "me" },
      { first.path, first.holding, first.host, first.session, first.data })
    assert.are.same({ false, "AP8=" }, { second.holding, second.data_base64 })
    hold:release()
    wait():release()
    out, status, err = holders "/l"
    assert.are.same({ "", 1, "zkr: /l: no session holds it\n" }, { out, status, err })
    assert.are.equal(1, select(2, holders "/none"))
  end))

  it("shows shared holds, permits, unfair locks and leaders", run(function()
    local rw = session:rwlock "/rw"
    local one, other = assert(rw:read()), assert(rw:read())
    assert.are.equal(2, select(2, holders("/rw"):gsub("\nholds, shared  ", "")))
    local permits = assert(session:semaphore("/sem", 3):acquire(nil, 2))
    assert.matches("\nholds 2  ", (holders "/sem"))
    local unfair = assert(session:lock("/u", { fair = false }):acquire())
    assert.matches("\nholds  .*  u\n$", (holders "/u"))
    local term = assert(session:election("/el", { value = "here" }):campaign())
    assert.matches("\nholds  .*  here  ", (holders "/el"))
    for _, hold in ipairs { one, other, permits, unfair } do hold:release() end
    term:resign()
  end))

  it("says why it knows no hosts", run(function()
    local server = zkr.keep(assert(testing.start { config = { ["4lw.commands.whitelist"] = "srvr, conf" } }))
    local own = env.session { hosts = server.hosts, namespace = namespace }
    local hold = assert(own:lock("/l"):acquire(200))
    local out, status, err = zkr.run({ "holders", "/l" }, { hosts = server.hosts, namespace = namespace })
    assert.are.equal(0, status)
    assert.matches("\nholds  [%d smin]+ +" .. own.id, out)
    assert.matches("^zkr: the hosts are unknown, because no server allows `cons`; [^\n]+\n$", err)
    hold:release()
    own:close()
  end))
end)

local _ = zkr.supported and describe("zkr doctor", function()
  after_each(zkr.finish_all)

  -- A server that gives this answer to every four-letter word; its first line is its address.
  local function answering(answer)
    return zkr.keep(assert(io.popen("exec lua5.4 spec/support/word_server.lua " .. zkr.quote(answer))))
  end

  it("finds nothing wrong with a good server", function()
    local out, status, err = zkr.run { "doctor" }
    assert.are.same({ "", 0 }, { err, status }, out)
    assert.matches("^SERVER +MODE +ROUND TRIP +VERSION +CONNECTIONS\n127%.0%.0%.1:%d+  standalone  %d+%.%d ms +3%.%d+%.%d+ +%d+\n"
      .. "\nNothing is wrong%.\n$", out)
    local found = cjson.decode((zkr.run { "doctor", "--json" }))
    assert.are.same({ env.server().hosts, "standalone" }, { found.servers[1].name, found.servers[1].mode })
    assert.is_nil(found.problems)
  end)

  -- Each problem is one sentence on its line.
  local function says(pattern, words, options)
    local out, status
    zkr.eventually(function() -- a busy machine may make more connections, or be late
      out, status = zkr.run(words, options)
      return out:find("\n" .. pattern .. "[^\n]*%.\n")
    end)
    assert.matches("\n" .. pattern .. "[^\n]*%.\n", out)
    assert.are.equal(1, status)
    return out
  end

  it("says which server does not answer, and why", function()
    local both = env.server().hosts .. ",127.0.0.1:1,nosuch.invalid"
    says("127%.0%.0%.1:1 does not answer: cannot connect: ECONNREFUSED", { "doctor" }, { hosts = both })
    says("nosuch%.invalid does not answer: its name is unknown", { "doctor" }, { hosts = both })
    says("2 of 3 servers do not answer, so the others have no majority", { "doctor" }, { hosts = both })
    says("No server leads, so no session can be opened", { "doctor" }, { hosts = "127.0.0.1:1" })
    local chroots = env.server().hosts .. "/app,127.0.0.1:1/app"
    says("127%.0%.0%.1:1 does not answer", { "doctor" }, { hosts = chroots })
    says("The chroot '/app' stands in the midst of the hosts, so no session can be opened", { "doctor" }, { hosts = chroots })
  end)

  it("says that the servers change the timeout", function()
    says("127%.0%.0%.1:%d+ changes the session's timeout from 3600 s to 120 s; see ", { "--timeout", "3600", "doctor" })
  end)

  it("says that servers belong to no ensemble", function()
    local other = zkr.keep(assert(testing.start()))
    says("[%d.:]+, [%d.:]+: each runs standalone, so these servers share nothing", { "doctor" },
      { hosts = env.server().hosts .. "," .. other.hosts })
  end)

  it("says that a server allows few connections, or no questions", function()
    local few = zkr.keep(assert(testing.start { config = { maxClientCnxns = 5 } }))
    local sessions = {}
    for i = 1, 3 do
      sessions[i] = zk.session { hosts = few.hosts }
      assert(sessions[i]:connected(200))
    end
    says("[%d.:]+ has 4 connections from this address, and allows 5; see maxClientCnxns", { "doctor" }, { hosts = few.hosts })
    for _, session in ipairs(sessions) do session:close() end
    local silent = answering("srvr is not executed because it is not in the whitelist.")
    local hosts = silent:read "l"
    local refused = says("[%d.:]+ does not allow the word `srvr`, so its mode and version are unknown; see 4lw",
      { "--timeout", "1", "doctor" }, { hosts = hosts })
    assert.is_truthy(refused:find(hosts .. " lets no session in: ", 1, true))
  end)

  it("says that versions differ, and that several servers lead", function()
    local one = answering("Zookeeper version: 3.9.2-x\nMode: leader\n")
    local other = answering("Zookeeper version: 3.8.0-y\nMode: leader\n")
    local first, second = one:read "l", other:read "l"
    local out = says("[%d.:]+ has version 3%.8%.0, but [%d.:]+ has version 3%.9%.2", { "--timeout", "1", "doctor" },
      { hosts = first .. "," .. second })
    assert.is_truthy(out:find(("\n%s, %s: each leads, so they belong to different ensembles.\n"):format(first, second), 1, true), out)
  end)

  it("measures the difference of the clocks", function()
    local times = { { 1000, 0 }, { 1000, 500000 } } -- before and after the request: 1000.25 in the middle
    local context = { uv = { gettimeofday = function() return table.unpack(table.remove(times, 1)) end } }
    function context.session()
      return { create = function(_, path) return path end, exists = function() return { ctime = 1007250 } end,
        delete = function() return true end }
    end
    assert.are.same({ 7, 0.25 }, { require("zkrecipes.cli.checkup").skew(context) })
  end)

  it("waits for an answer half of --timeout, from 5 to 60 s", function()
    local limits = {}
    for i, timeout in ipairs { 1, 10, 40, 3600 } do limits[i] = require("zkrecipes.cli.words").limit { timeout = timeout } end
    assert.are.same({ 5, 5, 20, 60 }, limits)
  end)

  it("knows the leader of an ensemble, and what is left of it", function()
    local ensemble = zkr.keep(assert(testing.ensemble { config = { syncLimit = 120 } }))
    local out, status = zkr.run({ "doctor" }, { hosts = ensemble.hosts })
    assert.are.equal(0, status, out)
    assert.are.equal(1, select(2, out:gsub("  leader  ", "")))
    assert.are.equal(2, select(2, out:gsub("  follower  ", "")))
    local leader, followers = nil, {}
    for _, member in ipairs(ensemble.members) do
      if member:mode() == "leader" then leader = member else followers[#followers + 1] = member.hosts end
    end
    says("No server of this list leads%. The leader may be missing", { "doctor" }, { hosts = table.concat(followers, ",") })
    -- Not serving: two members are gone.
    local function others_of(one)
      for _, member in ipairs(ensemble.members) do
        if member ~= one and member ~= leader then return member end
      end
    end
    local left = others_of()
    leader:kill()
    says(leader.hosts:gsub("%p", "%%%0") .. " does not answer: cannot connect", { "doctor" }, { hosts = ensemble.hosts })
    others_of(left):kill()
    local without = says("2 of 3 servers do not answer, so the others have no majority", { "--timeout", "2", "doctor" },
      { hosts = ensemble.hosts })
    assert.is_truthy(without:find(left.hosts .. " lets no session in: ", 1, true), without)
  end)
end)

local _ = zkr.supported and describe("zkr top", function()
  it("shows locks, elections, queues and groups, the busiest first", run(function()
    local namespace = env.namespace()
    local session = env.session { namespace = namespace }
    local hold = assert(session:lock("/locks/l", { data = "me" }):acquire())
    local _, task = env.start(function() session:lock("/locks/l"):acquire() end)
    env.queue_of(session, "/locks/l", 2)
    local queue = session:queue "/jobs"
    for _ = 1, 3 do assert(queue:put "x") end
    local item = assert(queue:claim(100))
    local member = assert(session:group("/g"):join "a")
    local term = assert(session:election("/e", { value = "here" }):campaign())
    local out, status, err = zkr.run({ "top", "--once" }, { namespace = namespace })
    assert.are.same({ 0, "" }, { status, err })
    local first, rest = out:match "^([^\n]+)\n(.*)$"
    assert.matches("^zkr top /  on 127%.0%.0%.1:%d+  %d%d:%d%d:%d%d  4 paths, 4 held, 4 waiting$", first)
    -- Without the widths of the columns, which depend on the ages.
    rest = rest:gsub(" +", " "):gsub("%d+ [hmins][ %dhmins]* ([mh]e)", "AGE %1")
    assert.are.equal([[

PATH KIND HELD WAIT SINCE HOLDER
/jobs queue 1 3 -
/locks/l lock 1 1 AGE me
/e lock 1 0 AGE here
/g group 1 0 -
]], rest)
    local terminal, ended = zkr.on_terminal({ "top", "--interval", "0.1" }, "q", { namespace = namespace, env = { TERM = "xterm" } })
    assert.matches("zkr top / ", terminal)
    assert.are.equal(0, ended)
    task:cancel()
    item:ack()
    hold:release()
    term:resign()
    member:leave()
    session:close()
  end))
end)

local _ = zkr.supported and describe("zkr server", function()
  it("serves until it is interrupted", function()
    local started = zkr.start { "server" }
    local hosts = started:line():match "^HOSTS=(127%.0%.0%.1:%d+)$"
    assert.are.equal("/x\n", (zkr.run({ "create", "/x" }, { hosts = hosts })))
    started:signal "INT"
    assert.are.same({ 130, "" }, { started:finish() })
    assert.are.equal(125, select(2, zkr.run({ "--timeout", "0.5", "ls" }, { hosts = hosts })))
  end)

  it("has the port that it is given, or says that another program has it", function()
    local port = env.server().port
    local out, status, err = zkr.run { "server", "--port", port }
    assert.are.same({ "", 125, ("zkr: another program has the port %s of 127.0.0.1\n"):format(port) }, { out, status, err })
    local other = assert(testing.start())
    other:stop()
    local started = zkr.start { "server", "--port", other.port }
    assert.are.equal("HOSTS=" .. other.hosts, started:line())
    started:signal "TERM"
    assert.are.same({ 143, "" }, { started:finish() })
  end)
end)
