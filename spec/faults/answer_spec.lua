-- An answer that is too large, or for which there is no memory. Only its read fails, at once and without a retry. The connection and all
-- other requests continue.
-- Tags: sanitize

local core = require "zkrecipes.core"
local zk = require "zkrecipes"
local env = require "spec.support.env"
local wire = require "spec.support.wire"
local nonsense = require "spec.support.nonsense"
local run, fails = env.run, env.fails

local int, text, stat, answer = wire.int, wire.text, nonsense.stat, nonsense.answer

local MOST = 64000000 -- bytes of an answer, its header of 16 included
local LARGE = 70000 -- for answers of this size the client checks whether there is memory

-- The answer to a read with this many bytes in all. `head` stands before the length of its only string.
local function answer_of(head)
  return function(xid, bytes)
    return nonsense.large_answer(xid, bytes, head .. int(bytes - 16 - #head - 4 - #stat()), stat())
  end
end

local names_of = answer_of(int(1))

local READS = {
  get = { answer = answer_of "", call = function(session) return session:get("/x") end },
  children = { answer = names_of, call = function(session) return session:children("/x") end },
  get_acl = { answer = answer_of(int(1) .. int(31) .. text("world")), call = function(session) return session:get_acl("/x") end },
}

describe("an answer", function()
  local function start(script)
    local log, server = {}, nonsense.start(script)
    server.timeout = 1000000 -- heartbeats wait behind large answers, which take a busy machine minutes under the thread sanitizer
    local session = env.session { hosts = server.hosts, namespace = "/", timeout = 1000, request_timeout = 1000,
      log = function(_, line) log[#log + 1] = line end }
    assert(session:connected(200))
    server.connections = 1 -- a busy machine may have needed more attempts
    return server, session, log
  end

  local function stop(server, session)
    session:close()
    server:stop()
  end

  -- The first answer to `op` has this many bytes; sets are done.
  local function large(op, bytes)
    return start(function(name, xid, _, server)
      if name == "set" then return answer(xid, stat()) end
      if name == op and server.counts[op] == 1 then return READS[op].answer(xid, bytes) end
      if name == op then return answer(xid, op == "get" and text("good") .. stat() or int(0) .. stat()) end
    end)
  end

  for op, read in pairs(READS) do
    it("that is too large fails its read alone: " .. op, run(function()
      local server, session = large(op, MOST + 1)
      local failed = env.start(function() return fails("too_large", read.call(session)) end)
      -- Behind it, on the same connection.
      assert(session:set("/y", "1"))
      assert.matches("the answer is larger than the 64000000 bytes", failed())
      assert(read.call(session))
      assert.are.same({ 1, 2, 1 }, { server.connections, server.counts[op], server.counts.set })
      stop(server, session)
    end))
  end

  it("that has the maximum size is passed on", run(function()
    local server, session = large("get", MOST)
    assert.are.equal(MOST - 16 - 4 - #stat(), #assert(session:get("/x")))
    assert.are.equal(1, server.connections)
    stop(server, session)
  end))

  for op, read in pairs(READS) do
    it("for which there is no memory fails its read alone: " .. op, run(function()
      local server, session = large(op, LARGE)
      local n, codes = 0, {}
      repeat -- the client's own allocations are not counted, only the check before them and our copy
        n = n + 1
        server.counts[op] = 0
        core.alloc_fail(n)
        local ok, _, code = read.call(session)
        local reached = core.alloc_failed()
        core.alloc_fail(0)
        if not ok then codes[code] = true end
      until not reached
      assert.is_true(n > 2)
      assert.are.same({ no_memory = true }, codes)
      assert(session:set("/y", "1"))
      assert.are.equal(1, server.connections)
      stop(server, session)
    end))
  end

  it("to a write is never so large: the outcome is unknown", run(function()
    local server, session, log = start(function(name, xid, _, server)
      if name ~= "set" then return end
      return server.counts.set == 1 and nonsense.large_answer(xid, MOST + 16, "", "") or answer(xid, stat())
    end)
    fails("connection_loss", session:set("/x", "1"))
    assert.matches("an answer that cannot be decoded", table.concat(log, "\n"))
    assert(session:set("/x", "1"))
    assert.is_true(server:was_left_once(log))
    stop(server, session)
  end))

  it("to no request is ignored, however large it is", run(function()
    for _, xid in ipairs { -1, 12345 } do
      local server, session, log = start(function(name, request, _, server)
        if name ~= "get" then return end
        local head = int(MOST + 1) .. int(xid) .. nonsense.long(1) .. int(0)
        return answer(request, text("data") .. stat()) .. (server.counts.get == 1 and head or "")
      end)
      assert.are.equal("data", (session:get("/x")))
      env.eventually("another connection", function() return server:was_left_once(log) and session.state == "connected" end)
      assert.are.equal("data", (session:get("/x")))
      stop(server, session)
    end
  end))

  it("that lists contenders ends the attempt, which gives up its place", run(function()
    local server, session = start(function(name, xid, path)
      if name == "create2" then return answer(xid, text(path .. "0000000000") .. stat()) end
      if name == "children" then return names_of(xid, MOST + 1) end
      if name == "delete" then return answer(xid) end
    end)
    for n = 1, 2 do
      assert.matches("^lock:acquire /l: the answer is larger than", fails("too_large", session:lock("/l"):acquire(200)))
      env.eventually("the place is given up", function() return server.counts.delete == n end)
      assert.are.same({ 1, n, n }, { server.connections, server.counts.create2, server.counts.children })
    end
    stop(server, session)
  end))

  it("that lists children ends the watch", run(function()
    local server, session = start(function(name, xid)
      if name == "exists" then return answer(xid, stat()) end
      if name == "children" then return names_of(xid, MOST + 1) end
    end)
    local watch = assert(session:watch("/x"))
    assert.matches("the answer is larger than", fails("too_large", watch:wait(200)))
    assert.are.equal(1, server.counts.children)
    watch:close()
    stop(server, session)
  end))

  it("that is too large does not disturb the end of a session", run(function()
    local tries = 0
    env.eventually("a session whose end is heard", function() -- a pause of two seconds ends the wait for the answer
      tries = tries + 1
      assert.is_true(tries < 20)
      local server, session = large("get", MOST + 1)
      local failed = env.start(function() return session:get("/x") end)
      env.eventually("it is asked", function() return server.counts.get == 1 end)
      session:close(300)
      failed()
      server:stop()
      return server.counts.close == 1
    end)
  end))

  -- A pause of more than two seconds ends that wait. A busy machine may pause so long by itself: then we try again.
  it("that comes in parts is awaited by the end of a session", run(function()
    local longest
    repeat
      longest = 0
      local server, session = start(function(name, xid)
        if name ~= "get" then return end
        local parts, from = READS.get.answer(xid, 700000), zk.now()
        return function()
          zk.sleep(0.3)
          longest, from = math.max(longest, zk.now() - from), zk.now()
          return table.remove(parts, 1)
        end
      end)
      local failed = env.start(function() return session:get("/x") end)
      env.eventually("it is asked", function() return server.counts.get == 1 end)
      session:close(300)
      failed()
      if longest < 1 then env.eventually("it is ended", function() return server.counts.close == 1 end) end
      server:stop()
    until longest < 1
  end))

  it("that is long uses no more memory than has arrived of it", run(function()
    local function resident()
      for line in io.lines("/proc/self/status") do
        local kilobytes = line:match("^VmRSS:%s*(%d+)")
        if kilobytes then return tonumber(kilobytes) end
      end
    end
    local server, session = start(function(name, xid)
      if name == "get" then return int(MOST) .. int(xid) .. nonsense.long(1) .. int(0) end
      if name == "exists" then return int(0x7fffffff) .. int(xid) .. nonsense.long(1) .. int(0) end
    end)
    local before = resident()
    fails("connection_loss", session:get("/x", { timeout = 0.5 }))
    local most = os.getenv "TSAN_OPTIONS" and 300000 or 30000 -- that sanitizer touches all allocated memory
    assert.is_true(resident() - before < most, "allocated before it came")
    session:close(0)
    server:stop()
  end))
end)
