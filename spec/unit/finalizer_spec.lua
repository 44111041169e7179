-- Finalizers that run during a call of ours, because each allocation may start the collector. Needs no server.
-- Tags: sanitize

require "zkrecipes.sim"
local collector = require "spec.support.collector"
local zk = require "zkrecipes"

-- On other versions the collector does not run often enough during calls.
if _VERSION ~= "Lua 5.4" then return end

local REFUSED = "finalizer_spec.lua:%d+: cannot wait inside of a C function: table.sort, require, a finalizer"

local MOST = 20 -- calls; one is enough, or six

-- Calls `call`, which finalizers interrupt that call `fn`; repeats this until done(). Each allocation runs a whole cycle of the collector
-- then, which takes longer the more tests ran before. So `call` must allocate little, and what it needs is made in `prepare`. It is calls
-- that are counted, not seconds.
local function interrupted(fn, call, done, prepare)
  local calling, calls = false, 0
  local function finalizer()
    if not calling then return end
    collector.garbage(finalizer)
    fn()
  end
  repeat
    if prepare then prepare() end
    collector.hurry()
    calling = true
    collector.garbage(finalizer)
    call()
    calling, calls = false, calls + 1
    collector.calm()
  until done() or calls > MOST
  assert.is_true(done(), "no finalizer has run in the call")
end

describe("a finalizer", function()
  local session
  before_each(function() session = zk.session { hosts = "127.0.0.1:1", timeout = 60 } end)
  after_each(function() session:close(0) end)

  local PARTS = {}
  for i = 1, 20 do PARTS[i] = { "create", "/a" .. i, "", { acl = { { perms = "r", scheme = "world", id = "anyone" } } } } end

  local WAITS = {
    ["session:get"] = function() return session:get("/a", { timeout = 0 }) end,
    ["lock:acquire"] = function() return session:lock("/l"):acquire(0) end,
    ["zk.sleep"] = function() return zk.sleep(0.001) end,
  }

  for name, wait in pairs(WAITS) do
    it("may not wait: " .. name, function()
      local refused, other
      local function finalizer()
        local ok, message = pcall(wait)
        if ok then return end
        if tostring(message):find(REFUSED) then refused = true else other = message end
      end
      interrupted(finalizer, function() session:multi(PARTS, { timeout = 0 }) end, function() return refused end)
      if other then assert.matches("the loop is running already", other) end
      assert.are.equal("connection_loss", select(3, session:get("/a", { timeout = 0 }))) -- calls still work
    end)
  end

  it("that interrupts a call may spawn a coroutine, which runs", function()
    local spawned, ran = 0, 0
    local function finalizer()
      spawned = spawned + 1
      zk.spawn(function()
        session:get("/a", { timeout = 0 })
        ran = ran + 1
      end)
    end
    interrupted(finalizer, function() session:multi(PARTS, { timeout = 0 }) end, function() return spawned > 50 end)
    zk.run(function() while ran < spawned do zk.sleep(0) end end)
    assert.are.equal(spawned, ran)
  end)

  it("may end attempts while they are listed", function()
    zk.run(function()
      local lock, cut, hits = session:lock("/l"), 0, 0
      interrupted(function() cut = cut + lock:cancel() end, function()
        local before, shown = cut, #lock:attempts()
        if cut > before and shown > 100 then hits = hits + 1 end
      end, function() return hits > 5 end, function()
        for _ = 1, 120 do zk.spawn(function() lock:acquire() end) end
        zk.sleep(0)
      end)
      lock:cancel()
    end, { fail_fast = true })
  end)
end)
