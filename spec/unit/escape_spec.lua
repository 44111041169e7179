-- zk.escape: any text becomes one path component. Two texts never give the same component, and none is a name of a recipe.
-- Tags: sanitize

local zk = require "zkrecipes"
local core = require "zkrecipes.core"
local sim = require "zkrecipes.sim"
local env = require "spec.support.env"
local run = env.run

local HEX = ("%x"):rep(16)

-- Names of znodes of recipes, Curator, kazoo and the server.
local OURS = { "^[.][.]?$", "^zookeeper$", "^_c_", "^__", "[-_]%-?%d%d%d%d%d%d%d%d%d%d?$", "^" .. HEX .. "[-_]", "^latch%-", "^qn%-",
  "^w%-", "^m%-", "^round%-", "^lock%-", "^rank%-", "^lease%-", "^b%-", "^used%-%d",
  "^mark%-" .. HEX, "%-timer$" }
local WORDS = "seat lanes dead later claims consumers ids done in out open leases locks ready queue transactions participants clock "
  .. "parts members"
for word in WORDS:gmatch "%S+" do OURS[#OURS + 1] = "^" .. word .. "$" end

local SPECIAL = { "", ".", "..", "...", "/", "//", "a/b", "../..", "zookeeper", "Zookeeper", "=", "==", "=2F", "/=2F", "%2F", "\0", "a\0b",
  "\255", "\194\128", "\239\191\189", "\240\159\146\169", "\237\160\128", "\192\175", "\226\130", "17/x-lock-0000000000",
  "x-lock-0000000000", "lock-0000000000", "latch-0000000001", "a-rank-0000000001", "2-lease-0000000007", "qn-0000000001", "qn-1", "w-7",
  "m-7", "round-1", "b-0000000001", "__WRIT__0000000000", "__READ__0000000000", "x__lock__0000000003", "_c_1-lock-0000000000",
  "lock--2147483648", "lock--147483648", "0123456789abcdef-1", "0123456789abcdef_1_2-q-0000000001", "order-1700000000", "1700000000",
  "seat", "lanes", "dead", "later", "claims", "consumers", "ids", "in", "out", "open", "opens",
  "done", "leases", "locks", "ready", "queue", "queues", "used-0", "used-1023", "used-x", "mark-0123456789abcdef-1", "mark-up",
  "transactions", "participants", "clock", "parts", "members", "job-timer", "-timer", "timer", "timers" }

local function back(escaped)
  if escaped == "=" then return "" end
  return (escaped:gsub("=(%x%x)", function(digits) return string.char(tonumber(digits, 16)) end))
end

-- What is wrong with the escaped name, or nil.
local function problem_of(name, escaped)
  if back(escaped) ~= name then return "means another name" end
  if core.path_problem("/" .. escaped) then return core.path_problem("/" .. escaped) end
  if escaped:find("/", 1, true) then return "is more than one component" end
  if #escaped > 3 * math.max(#name, 1) then return "is too long" end
  for i = 1, #OURS do
    if escaped:find(OURS[i]) then return "looks like one of ours: " .. OURS[i] end
  end
end

-- Plain Lua: for 85,000 names busted's assertions would take a minute.
local function check(name)
  local escaped = zk.escape(name)
  local problem = problem_of(name, escaped)
  if problem then error(("%q: %q %s"):format(name, escaped, problem), 2) end
  return escaped
end

-- Park and Miller's generator: the same names on every Lua.
local function dice(seed)
  return function(n)
    seed = seed * 16807 % 2147483647
    return seed % n + 1
  end
end

local function random_names(seed, count)
  local roll, pieces, names = dice(seed), {}, {}
  for _, special in ipairs(SPECIAL) do pieces[#pieces + 1] = special end
  for byte = 0, 255 do pieces[#pieces + 1] = string.char(byte) end
  for digit = 0, 9 do pieces[#pieces + 1] = tostring(digit):rep(3) end
  for i = 1, count do
    local parts = {}
    for j = 1, roll(6) do parts[j] = pieces[roll(#pieces)] end
    names[i] = table.concat(parts)
  end
  return names
end

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

  it("accepts every byte and every pair of bytes, and gives different results for different names", function()
    local seen, count = {}, 0
    local function add(name)
      local escaped = check(name)
      if (seen[escaped] or name) ~= name then error(("%q and %q are both %q"):format(name, seen[escaped], escaped)) end
      seen[escaped], count = name, count + 1
    end
    for _, name in ipairs(SPECIAL) do add(name) end
    for first = 0, 255 do
      add(string.char(first))
      for second = 0, 255 do add(string.char(first, second)) end
    end
    for _, name in ipairs(random_names(1, 20000)) do add(name) end
    assert.is_true(count > 85000)
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
