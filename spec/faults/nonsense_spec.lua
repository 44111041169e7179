-- A server that answers the handshake correctly and then sends nonsense. The session closes the connection, the log says why, and the
-- process continues. Reads are sent again; the outcome of writes is unknown.
-- Tags: sanitize

local zk = require "zkrecipes"
local env = require "spec.support.env"
local wire = require "spec.support.wire"
local nonsense = require "spec.support.nonsense"
local run, fails = env.run, env.fails

local int, text, stat, answer = wire.int, wire.text, nonsense.stat, nonsense.answer
local names = int(2) .. text("a") .. text("b") .. stat()
local HUGE = int(0x7fffffff)

local function result(op, body) return int(op) .. "\0" .. int(0) .. (body or "") end
local LAST = int(-1) .. "\1" .. int(-1)

describe("a server that sends nonsense", function()
  local function start(script)
    local log, server = {}, nonsense.start(script)
    local session = env.session { hosts = server.hosts, namespace = "/", timeout = 10,
      log = function(_, line) log[#log + 1] = line end }
    assert(session:connected(200))
    server.connections = 1 -- a busy machine may have needed more attempts
    return server, session, log
  end

  local function stop(server, session)
    session:close()
    server:stop()
  end

  -- How often the log has this text: once for each connection that was given up.
  local function told(log, what)
    local count = 0
    for _, line in ipairs(log) do
      if line:find("127.0.0.1:%d+ sent " .. what .. "; the session closes this connection") then count = count + 1 end
    end
    return count
  end

  -- The first answer to this request is nonsense, the next one is not.
  local function once(op, bad, good)
    return start(function(name, xid, _, server)
      if name ~= op then return end
      if server.counts[op] > 1 then return answer(xid, good) end
      return type(bad) == "function" and bad(xid) or answer(xid, bad)
    end)
  end

  -- All cases at once, each with a server and a session of its own.
  local function each(cases, test)
    local tests = {}
    for name, bad in pairs(cases) do
      tests[#tests + 1] = function()
        local ok, problem = zk.pcall(test, bad)
        if not ok then error(name .. ": " .. tostring(type(problem) == "table" and problem.message or problem), 0) end
      end
    end
    assert.is_true(#tests > 0)
    zk.all(tests)
  end

  local READS = {
    children = { good = names, call = function(session) return session:children("/x") end, cases = {
      ["of which there is nothing"] = "",
      ["whose count is cut off"] = "\0\0",
      ["with a count and nothing behind it"] = int(5),
      ["of five of which one is there"] = int(5) .. text("a"),
      ["of five of which one is there, and a stat"] = int(5) .. text("a") .. stat(),
      ["of as many as a number can say"] = HUGE .. text("a") .. stat(),
      ["of fewer than none"] = int(-2) .. stat(),
      ["that is longer than the frame"] = int(1) .. int(100) .. "a",
      ["with one of a negative length"] = int(1) .. int(-7) .. stat(),
      ["with one that is null"] = int(1) .. int(-1) .. stat(),
      ["with one that is empty"] = int(1) .. text("") .. stat(),
      ["with a NUL in one"] = int(1) .. text("a\0b") .. stat(),
      ["with a slash in one"] = int(1) .. text("a/b") .. stat(),
      ["without a stat"] = int(1) .. text("a"),
      ["with half a stat"] = int(1) .. text("a") .. stat():sub(1, 20),
    } },
    get = { good = text("data") .. stat(), call = function(session) return session:get("/x") end, cases = {
      ["of which there is nothing"] = "",
      ["longer than the frame"] = int(1000) .. "data",
      ["as long as a number can say"] = HUGE .. "data" .. stat(),
      ["of a negative length"] = int(-2) .. stat(),
      ["without a stat"] = text("data"),
      ["with half a stat"] = text("data") .. stat():sub(1, 67),
    } },
    exists = { good = stat(), call = function(session) return session:exists("/x") end, cases = {
      ["of which there is nothing"] = "",
      ["with half a stat"] = stat():sub(1, 30),
    } },
    get_acl = { good = int(1) .. int(31) .. text("world") .. text("anyone") .. stat(),
      call = function(session) return session:get_acl("/x") end, cases = {
        ["of which there is nothing"] = "",
        ["of five of which one is there"] = int(5) .. int(31) .. text("world") .. text("anyone"),
        ["of as many as a number can say"] = HUGE .. int(31) .. text("world") .. text("anyone") .. stat(),
        ["without an id"] = int(1) .. int(31) .. text("world"),
        ["with a scheme that is null"] = int(1) .. int(31) .. int(-1) .. text("anyone") .. stat(),
        ["with a NUL in an id"] = int(1) .. int(31) .. text("world") .. text("any\0ne") .. stat(),
      } },
  }

  for op, read in pairs(READS) do
    it("is disconnected, and the request is repeated: " .. op, run(function()
      each(read.cases, function(bad)
        local server, session, log = once(op, bad, read.good)
        assert(read.call(session))
        assert.is_true(server:was_left_once(log))
        assert.are.equal(1, told(log, "an answer that cannot be decoded"))
        assert.are.equal("connected", session.state)
        stop(server, session)
      end)
    end))
  end

  local function multi(session) return session:multi { { "create", "/x", "" }, { "set", "/y", "" }, { "delete", "/z" } } end
  local all = { result(1, text("/x")), result(5, stat()), result(2) }

  local WRITES = {
    create2 = { call = function(session) return session:create("/x", "") end, cases = {
      ["without anything"] = "",
      ["with a path that is cut off"] = int(50) .. "/x",
      ["with a path that is null"] = int(-1) .. stat(),
      ["with another path"] = text("/y") .. stat(),
      ["with a path that goes on"] = text("/x" .. ("0"):rep(5000)) .. stat(),
      ["without a path"] = text("") .. stat(),
      ["with half a stat"] = text("/x") .. stat():sub(1, 11),
    } },
    set = { call = function(session) return session:set("/x", "") end, cases = {
      ["without anything"] = "",
      ["with half a stat"] = stat():sub(1, 67),
    } },
    multi = { call = multi, cases = {
      ["without anything"] = "",
      ["with a header that is cut off"] = all[1] .. "\0\0\0\5",
      ["with fewer results than parts"] = all[1] .. LAST,
      ["with more results than parts"] = table.concat(all) .. result(2) .. result(2) .. LAST,
      ["that never ends"] = table.concat(all),
      ["with an error that is cut off"] = int(-1) .. "\0" .. int(-101) .. "\0",
      ["with another path"] = result(1, text("/other")) .. all[2] .. all[3] .. LAST,
      ["with a path that is cut off"] = result(1, int(90) .. "/x"),
      ["with half a stat"] = all[1] .. result(5, stat():sub(1, 9)),
    } },
  }

  for op, write in pairs(WRITES) do
    it("is disconnected, and the outcome is unknown: " .. op, run(function()
      each(write.cases, function(bad)
        local server, session, log = once(op, bad)
        fails("connection_loss", write.call(session))
        assert.are.equal(1, told(log, "an answer that cannot be decoded"))
        env.eventually("it is connected again", function() return session.state == "connected" end)
        stop(server, session)
      end)
    end))
  end

  it("is believed if it answers a transaction correctly", run(function()
    local server, session = once("multi", table.concat(all) .. LAST)
    assert(multi(session))
    assert.are.equal(1, server.connections)
    stop(server, session)
  end))

  local FRAMES = {
    ["an answer without a request"] = { answer(1, stat()), answer(0, ""), answer(-3, ""), answer(7, "", -101) },
    ["a truncated answer"] = { nonsense.frame "", nonsense.frame "\0", nonsense.frame(int(-2) .. int(0)) },
    ["a truncated event"] = { answer(-1), answer(-1, int(3)), answer(-1, int(3) .. int(3)),
      answer(-1, int(-1) .. int(-112)), answer(-1, int(-1) .. int(3)) },
    ["an event with a truncated path"] = { answer(-1, int(3) .. int(3) .. int(50) .. "/x"), answer(-1, int(3) .. int(3) .. HUGE .. "/"),
      answer(-1, int(3) .. int(3) .. int(-1)) },
    ["an event with an invalid path"] = { nonsense.event(3, ""), nonsense.event(3, "x"), nonsense.event(2, "/a\0b") },
    ["an event of an unknown type"] = { nonsense.event(-1, "/x"), answer(-1, int(-1) .. int(-112) .. text("")) },
    ["a frame of an invalid length"] = { int(-1) .. ("x"):rep(100), int(-2147483648) .. ("x"):rep(100) },
  }
  -- A client without credentials has sent no auth request, so an answer to auth is an answer to no request.
  FRAMES["an answer without a request"][5] = answer(-4, "", -115)

  for what, frames in pairs(FRAMES) do
    it("is disconnected: " .. what, run(function()
      each(frames, function(bad)
        -- The nonsense comes after the answer to a request, when no other answer is due.
        local server, session, log = start(function(name, xid, _, server)
          if name ~= "get" then return end
          return answer(xid, text("data") .. stat()) .. (server.counts.get == 1 and bad or "")
        end)
        assert.are.equal("data", (session:get("/x")))
        env.eventually("another connection", function() return server:was_left_once(log) and session.state == "connected" end)
        local ends = table.concat(log, "\n")
        if #bad > 4 then assert.is_nil(ends:find("it closed", 1, true) or ends:find("connection broke", 1, true)) end -- we did
        if #bad > 4 then assert.are.equal(1, told(log, what)) end -- at an empty frame the library itself disconnects
        assert.are.equal("data", (session:get("/x")))
        stop(server, session)
      end)
    end))
  end

  it("is distinguished from a server that closes the connection", run(function()
    local server, session, log = start(function() end)
    server:stop()
    env.eventually("it is told", function() return table.concat(log, "\n"):find("127.0.0.1:%d+: it closed the connection") end)
    session:close(0)
  end))

  it("is disconnected: an answer to a different request", run(function()
    local server, session, log = once("get", function(xid) return answer(xid + 1, text("data") .. stat()) end, text("data") .. stat())
    assert.are.equal("data", (session:get("/x")))
    assert.are.equal(1, told(log, "an answer to a different request"))
    stop(server, session)
  end))

  it("delays the client only for a moment, however often it sends nonsense", run(function()
    local used = os.clock()
    local server, session = start(function(name, xid) return name == "get" and answer(xid, int(99)) or nil end)
    local asked = env.start(function() return session:get("/x", { timeout = 300 }) end)
    env.eventually("four connections", function() return server.connections >= 4 end)
    assert.is_true(server.counts.get <= server.connections)
    assert.is_true(os.clock() - used < 5, "it spins")
    session:close(0)
    fails("closed", asked())
    server:stop()
  end))

  -- The client would connect again and again.
  it("is given up for a while if it grants a timeout within which no answer could come", run(function()
    local log, server = {}, nonsense.start(function() end)
    server.timeout = 5
    local session = env.session { hosts = server.hosts, namespace = "/", timeout = 10, log = function(_, line) log[#log + 1] = line end }
    env.eventually("the log tells", function()
      return table.concat(log):find("does not answer like a ZooKeeper server", 1, true)
    end)
    server.timeout = 10000
    assert(session:connected(200))
    stop(server, session)
  end))

  it("does not cost a lock's place: the client finds its create", run(function()
    local server, session = start(function(name, xid, path, server)
      if name == "create2" then
        if server.counts.create2 == 1 then return answer(xid, int(500) .. path) end
        return answer(xid, text(path .. "0000000000") .. stat { owner = server.id, czxid = 5 })
      elseif name == "children" then
        local seat = ("%016x-1-lock-0000000000"):format(server.id)
        return answer(xid, int(1) .. text(seat) .. stat())
      elseif name == "get" or name == "exists" then
        return answer(xid, (name == "get" and text("") or "") .. stat { owner = server.id, czxid = 5 })
      end
    end)
    local hold = assert(session:lock("/l"):acquire(200))
    assert.are.equal(("%016x"):format(5), hold.token)
    assert.are.equal(1, server.counts.create2)
    assert.is_true(hold:valid())
    hold:release()
    stop(server, session)
  end))
end)
