-- zk.escape: any text becomes one path component. Two texts never give the same component, and none is a name of a recipe.
-- Tags: sanitize

local zk = require "zkrecipes"
local core = require "zkrecipes.core"
local sim = require "zkrecipes.sim"
local env = require "spec.support.env"
local escaped_names = require "spec.support.escaped"
local run = env.run

local SPECIAL, back, check, random_names = escaped_names.SPECIAL, escaped_names.back, escaped_names.check, escaped_names.random_names

describe("zk.escape", function()
  it("leaves plain words as they are", function()
    for _, name in ipairs { "17", "order", "Order-17_b.pdf", "a.b", "..a", "naïve", "日本語", "Ωmega", "17-2024", "1700000000", "wide",
      "outer", "x-w-1", "123e4567-e89b-12d3-a456-426614174000" } do
      assert.are.equal(name, check(name))
    end
  end)

  it("escapes only names that have a meaning, and as little of them as possible", function()
    assert.are.equal("=", zk.escape "")
    assert.are.equal("=2E", zk.escape ".")
    assert.are.equal("=2E.", zk.escape "..")
    assert.are.equal("=FF", zk.escape "\255")
    assert.are.equal("a=20b=2Fc=3Dd", zk.escape "a b/c=d")
    assert.are.equal("17=2Fx-lock=2D0000000000", zk.escape "17/x-lock-0000000000")
    assert.are.equal("=7Aookeeper", zk.escape "zookeeper")
    assert.are.equal("=6Fpen", zk.escape "open")
    assert.are.equal("=77-7", zk.escape "w-7")
    assert.are.equal("=71ueue", zk.escape "queue")
    assert.are.equal("=75sed-0", zk.escape "used-0")
    assert.are.equal("used-car", zk.escape "used-car")
    assert.are.equal("job=2Dtimer", zk.escape "job-timer")
    assert.are.equal("timer", zk.escape "timer")
    assert.are.equal("=6Dark-0123456789abcdef-1", zk.escape "mark-0123456789abcdef-1")
    assert.are.equal("=5F_READ_=5F0000000000", zk.escape "__READ__0000000000")
  end)

  it("escapes every stem that a recipe has registered", function()
    assert.is_true(#core.stems >= 6)
    for _, stem in ipairs(core.stems) do
      for _, name in ipairs { stem, stem .. "a", stem .. "0000000001", "x-" .. stem .. "0000000001" } do
        assert.are_not.equal(name, check(name))
      end
    end
  end)

  it("gives names that a server accepts", run(function()
    local session = env.session()
    assert(session:create("/keys", "", { parents = true }))
    local made = {}
    local function make(name)
      local escaped = check(name)
      if made[escaped] then return end
      made[escaped] = name
      assert(session:create("/keys/" .. escaped, name))
    end
    for _, name in ipairs(SPECIAL) do make(name) end
    for byte = 0, 255 do make(string.char(byte)) end
    for _, name in ipairs(random_names(2, 300)) do make(name) end
    for _, found in ipairs(assert(session:children "/keys")) do
      assert.are.equal(made[found], back(found))
      made[found] = nil
    end
    assert.is_nil(next(made))
    session:close()
  end))

  it("accepts a name of a thousand bytes, and refuses a longer one", function()
    assert.are.equal(3000, #check(("/"):rep(1000)))
    local message = env.fails("too_large", zk.escape(("a"):rep(10000)))
    assert.matches("a name of 10000 bytes is too long", message)
  end)

  it("accepts only strings", function()
    for _, wrong in ipairs { 17, true, {} } do env.raises("string expected, got " .. type(wrong), zk.escape, wrong) end
    env.raises("string expected, got nil", zk.escape)
  end)

  it("keeps a user's key out of another lock's directory", run(function()
    local session = env.session()
    local stranger = assert(session:lock("/orders/" .. zk.escape "17/x-lock-0000000000"):acquire(200))
    local hold = assert(session:lock("/orders/" .. zk.escape "17"):acquire(200))
    hold:release()
    stranger:release()
    session:close()
  end))

  it("keeps a user's key out of what workers and snowflakes keep", function()
    local world = sim.new()
    world:run(function()
      local session, user, holds = world:session(), world:session(), {}
      for i, key in ipairs { "queue", "used-0" } do
        holds[i] = assert(user:lock("/orders/" .. zk.escape(key), { fair = false }):acquire(5))
      end
      local ids = assert(session:snowflake("/orders"):acquire(5))
      assert.are.equal(0, ids.number)
      local _, _, code = session:worker_id("/orders", 1):acquire(5)
      assert.are.equal("timeout", code)
      for i = 1, 2 do assert.is_true(holds[i]:valid()) end
    end)
  end)
end)
