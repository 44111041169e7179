-- A coroutine that acquires the lock that it holds would wait for itself forever.

local collect = require "spec.support.collect"
local zk = require "zkrecipes"
local env = require "spec.support.env"
local run, raises = env.run, env.raises

local ITSELF = "own_spec.lua:%d+: lock:acquire /l: this coroutine holds the lock and would wait for itself; release it first"

-- Every kind of lock that does not let its holder in again.
local WAYS = { plain = {}, unfair = { fair = false }, cohort = { cohort = true } }

describe("a coroutine that holds a lock", function()
  local session
  before_each(function() session = env.session() end)
  after_each(function() session:close() end)

  for name, options in pairs(WAYS) do
    it("may not acquire it again without a limit: " .. name, run(function()
      local lock = session:lock("/l", options)
      local hold = assert(lock:acquire())
      raises(ITSELF, function() lock:acquire() end)
      raises(ITSELF, function() lock:with(function() end) end)
      if name ~= "cohort" then raises(ITSELF, function() session:lock("/l", options):acquire() end) end
      assert.is_true(hold:valid())
      hold:release()
      assert(lock:acquire()):release()
    end))

    it("may try: " .. name, run(function()
      local lock = session:lock("/l", options)
      local hold = assert(lock:acquire())
      for _, limit in ipairs { 0, 0.05 } do
        local message, code
        repeat -- until a server has answered before the limit passed
          local mine
          mine, message, code = lock:acquire(limit)
          env.late(mine, message, code)
        until code == "timeout"
        assert.matches("this coroutine itself holds the lock$", message)
        assert.is_nil(message:find("another contender", 1, true))
      end
      hold:release()
      assert(lock:acquire(200)):release()
    end))

    it("may pass the hold to another coroutine, and wait until that releases it: " .. name, run(function()
      local lock, released = session:lock("/l", options), false
      local hold = assert(lock:acquire())
      zk.spawn(function()
        zk.sleep(0.05)
        released = true
        hold:release()
      end)
      assert(lock:acquire()):release()
      assert.is_true(released)
    end))

    it("does not keep other coroutines from waiting: " .. name, run(function()
      local lock = session:lock("/l", options)
      local hold = assert(lock:acquire())
      local wait = env.start(function() return lock:acquire() end)
      zk.sleep(0.05)
      hold:release()
      wait():release()
    end))
  end

  it("may acquire other locks, and the same path in another session", run(function()
    local other = env.session()
    local hold = assert(session:lock("/l"):acquire())
    assert(session:lock("/m"):acquire()):release()
    assert(other:lock("/l"):acquire()):release()
    hold:release()
    other:close()
  end))

  it("enters a reentrant lock again, but not through another handle", run(function()
    local lock = session:lock("/l", { reentrant = true })
    local hold = assert(lock:acquire())
    assert.are.equal(hold, lock:acquire())
    raises(ITSELF, function() session:lock("/l", { reentrant = true }):acquire() end)
    raises(ITSELF, function() session:lock("/l"):acquire() end)
    hold:release()
    hold:release()
    assert(session:lock("/l"):acquire()):release()
  end))

  it("is not kept alive by this check", run(function()
    local lock = session:lock("/l")
    local seen = setmetatable({}, { __mode = "v" })
    for i = 1, 3 do
      local hold = assert(lock:acquire())
      seen[i] = hold
      hold:release()
      hold = nil -- luacheck: ignore
    end
    env.eventually("holds are collected", function()
      collect()
      return next(seen) == nil
    end)
  end))
end)
