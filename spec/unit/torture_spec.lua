-- The checker of the torture run finds each violation, in logs made by hand.

local check = require "dev.torture.check"
local journals = require "dev.torture.journal"
local randoms = require "dev.torture.random"
local tally = require "dev.torture.tally"

-- Tokens and zxids are written as %d here and have 16 digits in the log.
local function hex(number) return ("%016x"):format(number) end

-- A turn without a fault: granted at `from`, writes once at `from` + 0.1, valid until `to`.
local function turn(log, worker, from, to, token, value)
  for _, line in ipairs { "%g 1 waits a", "%g 1 holds " .. hex(token), "%g 1 valid" } do
    log:add(worker, line:format(from))
  end
  log:add(worker, ("%g 1 writes %d"):format(from + 0.1, value))
  log:add(worker, ("%g 1 wrote %d %s"):format(from + 0.2, value, hex(token + 1)))
  log:add(worker, ("%g 1 valid"):format(to))
  log:add(worker, ("%g 1 releases"):format(to))
end

local NO_FACTS = { crashed = {}, deserted = {}, left = {}, processes = {}, items = {} }

-- The checks that failed, in their order.
local function failures(log, final, facts)
  local all = {}
  for name, none in pairs(NO_FACTS) do all[name] = (facts or {})[name] or none end
  local failed = {}
  for _, one in ipairs(check.checks(log, { a = final }, all)) do
    if not one[2] then failed[#failed + 1] = one[1] end
  end
  return failed
end

describe("the checker of the torture run", function()
  local log
  before_each(function() log = journals.new() end)

  it("finds no violation in a good run", function()
    turn(log, 1, 1, 2, 10, 1)
    turn(log, 2, 2, 3, 20, 2)
    turn(log, 1, 3.5, 4, 30, 3)
    log:add(1, "5 0 state connected 0123456789abcdef")
    log:add(1, "6 0 ends")
    assert.are.same({}, failures(log, 3))
  end)

  it("sees two valid holds at once", function()
    turn(log, 1, 1, 2, 10, 1)
    turn(log, 2, 1.9, 3, 20, 2)
    assert.are.same({ "no two valid holds of a lock at once" }, failures(log, 2))
  end)

  it("finds a writer that wrote during a reader's hold, unless the reader's session had been killed", function()
    log:add(1, "1 1 torn 5 6")
    assert.are.same({ "no reader saw a write" }, failures(log, 0))
    log:expired(1, 0.5, 2)
    assert.are.same({}, failures(log, 0))
    log:add(2, "1 1 torn 5 6")
    assert.are.same({ "no reader saw a write" }, failures(log, 0))
  end)

  it("sees an item that is lost, done twice, or done but still in the queue", function()
    for _, line in ipairs { "1 0 put a-1 done", "1 0 put a-1 done", "1 0 put a-2 done", "1 0 put a-3 lost", "2 0 job a-1 lost",
      "3 0 job a-1 done", "3 0 job a-2 connection_loss" } do
      log:add(1, line)
    end
    assert.are.same({}, failures(log, 0))
    log:add(1, "4 0 put a-4 done")
    assert.are.same({ "no item of the queue lost" }, failures(log, 0))
    assert.are.same({}, failures(log, 0, { items = { ["a-4"] = true } }))
    assert.are.same({ "no item done twice" }, failures(log, 0, { items = { ["a-4"] = true, ["a-1"] = true } }))
    log:add(2, "5 0 job a-1 done")
    assert.are.same({ "no item done twice" }, failures(log, 0, { items = { ["a-4"] = true } }))
  end)

  it("allows one missing item for each take without an answer, and none for a take with an answer", function()
    for _, line in ipairs { "1 0 put a-1 done", "1 0 put a-2 done", "1 0 put a-3 done", "2 0 job w1 taking", "2 0 job a-1 taken",
      "2 0 job w1 took", "2 0 job a-3 removed" } do
      log:add(1, line)
    end
    assert.are.same({ "no item of the queue lost" }, failures(log, 0))
    log:add(2, "3 0 job w2 taking")
    assert.are.same({}, failures(log, 0))
    log:add(2, "3 0 put a-4 done")
    assert.are.same({ "no item of the queue lost" }, failures(log, 0))
    local rest = { ["a-4"] = true }
    for _, name in ipairs { "a-1", "a-3" } do
      assert.are.same({ "no item done twice" }, failures(log, 0, { items = { ["a-4"] = true, [name] = true } }))
    end
    log:add(2, "4 0 job a-3 gone")
    assert.are.same({}, failures(log, 0, { items = rest }))
    log:add(2, "4 0 job a-3 done")
    assert.are.same({ "no item done twice" }, failures(log, 0, { items = rest }))
  end)

  it("sees more permits of a pool than its largest limit, until a session was killed", function()
    local function share(worker, name, from, to, permits)
      for _, line in ipairs { "%g %d waits pool", "%g %d holds " .. hex(10 * worker + name), "%g %d permits " .. permits, "%g %d valid" } do
        log:add(worker, line:format(from, name))
      end
      log:add(worker, ("%g %d valid"):format(to, name))
      log:add(worker, ("%g %d releases"):format(to, name))
    end
    share(1, 1, 1, 3, 3)
    share(2, 1, 1.5, 3, 2)
    share(2, 2, 2, 4, 1)
    share(3, 1, 3, 5, 3)
    assert.are.same({}, failures(log, 0)) -- six at once
    share(3, 2, 2.9, 5, 1)
    assert.are.same({ "no more permits than the limit" }, failures(log, 0))
    share(4, 1, 1.6, 1.8, 3) -- eleven permits; only eight of them may count
    share(4, 2, 1.7, 1.9, 3)
    assert.are.same({ "no more permits than the limit" }, failures(log, 0))
    assert.are.equal(11, log.most_permits)
    for i = 1, 2 do log.holds[#log.holds - i + 1].first = nil end
    log:add(1, "3.5 0 state lost -")
    log:expired(1, 2.5, 5)
    assert.are.same({}, failures(log, 0))
  end)

  it("counts a downgraded writer as a reader, which must read what it wrote", function()
    turn(log, 1, 1, 2, 10, 1)
    for _, line in ipairs { "3 1 waits a", "3 1 holds " .. hex(20), "3 1 valid", "4 1 valid", "4 1 downgrades" } do log:add(1, line) end
    log:add(1, "5 1 read 1 x 1 x 1 x")
    assert.are.same({}, failures(log, 1))
    assert.are.same({ 1, 1 }, { log.downgrades, log.reads })
    log:add(1, "6 1 torn 1 x 2 y 2 y")
    assert.are.same({ "no reader saw a write" }, failures(log, 1))
  end)

  it("finds a member that passed the barrier while two other members waited and did not give up", function()
    for _, line in ipairs { "1 0 arrives cyclic-a", "2 0 arrives cyclic-b", "3 0 arrives cyclic-c", "4 0 parts cyclic-a passed",
      "5 0 parts cyclic-b lost", "5 0 arrives cyclic-d" } do
      log:add(1, line)
    end
    assert.are.same({}, failures(log, 0)) -- c was killed
    log:add(2, "6 0 arrives cyclic-e")
    log:add(2, "7 0 parts cyclic-d passed")
    assert.are.same({}, failures(log, 0))
    log:add(1, "8 0 parts cyclic-c timeout")
    assert.are.same({ "no member passed a barrier alone" }, failures(log, 0))
  end)

  it("counts a member whose session was lost until the server has certainly ended that session", function()
    for _, line in ipairs { "1 0 arrives cyclic-a", "2 0 parts cyclic-a lost", "3 0 arrives cyclic-b", "3 0 arrives cyclic-c",
      "4 0 parts cyclic-b passed", "4 0 parts cyclic-c passed" } do
      log:add(1, line)
    end
    assert.are.same({}, failures(log, 0))
    for _, line in ipairs { "30 0 arrives cyclic-d", "30 0 arrives cyclic-e", "31 0 parts cyclic-d passed",
      "31 0 parts cyclic-e passed" } do
      log:add(1, line)
    end
    assert.are.same({ "no member passed a barrier alone" }, failures(log, 0))
  end)

  it("does not count members of another barrier", function()
    for _, line in ipairs { "1 0 arrives cyclic-a", "1 0 arrives cyclic-b", "1 0 arrives double-c", "2 0 parts cyclic-a passed",
      "2 0 parts cyclic-b passed", "2 0 parts double-c timeout" } do
      log:add(1, line)
    end
    assert.are.same({ "no member passed a barrier alone" }, failures(log, 0))
  end)

  it("finds a member that left a double barrier before two other members of its round, unless these may have been dead", function()
    for worker = 1, 3 do
      log:add(worker, "1 0 arrives double-" .. worker)
      log:add(worker, "2 0 parts double-" .. worker .. " passed")
    end
    log:add(1, "3 0 leaves double-1")
    log:add(2, "4 0 leaves double-2")
    log:add(3, "5 0 leaves double-3")
    log:add(1, "5.1 0 left double-1 passed")
    assert.are.same({}, failures(log, 0))
    log:add(2, "4.9 0 left double-2 passed")
    assert.are.same({ "no member left a barrier before the others" }, failures(log, 0))
    log:add(3, "4.95 0 state lost -")
    assert.are.same({}, failures(log, 0))
    log:add(3, "6 0 left double-3 closed")
    assert.are.same({ "nothing unexpected was said" }, failures(log, 0))
  end)

  it("sees a hold inside a long hold, and a later one that overlaps the long one", function()
    turn(log, 1, 1, 9, 10, 1)
    turn(log, 2, 2, 3, 20, 2)
    turn(log, 3, 8, 9.5, 30, 3)
    local checks = check.checks(log, { a = 3 }, NO_FACTS)
    assert.matches("^2 times; lock a: worker 1, token " .. hex(10), checks[1][3])
  end)

  it("keeps holds of different locks apart", function()
    turn(log, 1, 1, 2, 10, 1)
    for _, line in ipairs { "1.5 1 waits b", "1.5 1 holds " .. hex(20), "1.5 1 valid", "1.8 1 valid", "1.9 1 releases" } do
      log:add(2, line)
    end
    assert.are.same({}, failures(log, 1))
  end)

  it("does not count the time in which no process saw the hold valid", function()
    for _, line in ipairs { "1 1 waits a", "1 1 holds " .. hex(10), "1 1 valid", "5 1 invalid", "5 1 releases" } do
      log:add(1, line)
    end
    turn(log, 2, 4, 6, 20, 1)
    assert.are.same({}, failures(log, 1))
  end)

  it("counts a hold only until its session was killed, but the next session's hold in full", function()
    turn(log, 1, 1, 3, 10, 1)
    turn(log, 2, 2, 4, 20, 2)
    log:add(1, "3.5 0 state lost -")
    log:expired(1, 1.9, 5)
    assert.are.same({}, failures(log, 2))
    assert.is_true(log.outlived > 1.09 and log.outlived < 1.11)
    turn(log, 1, 4, 6, 30, 3)
    turn(log, 2, 5, 7, 40, 4)
    assert.are.same({ "no two valid holds of a lock at once" }, failures(log, 4))
  end)

  it("does not excuse a hold that outlives its lease", function()
    turn(log, 1, 1, 3, 10, 1)
    turn(log, 2, 2, 4, 20, 2)
    log:expired(1, 1.9, 2.9)
    assert.are.same({ "no two valid holds of a lock at once" }, failures(log, 2))
  end)

  it("sees a token that decreases", function()
    turn(log, 1, 1, 2, 20, 1)
    turn(log, 2, 3, 4, 10, 2)
    local failed = failures(log, 2)
    assert.are.equal("tokens grow from hold to hold", failed[1])
  end)

  it("finds the write of a stale holder: after the next holder's in the server's order", function()
    log:add(1, "1 1 waits a")
    log:add(1, "1 1 holds " .. hex(10))
    log:add(1, "1 1 writes 2")
    turn(log, 2, 2, 3, 20, 1)
    log:add(1, "4 1 wrote 2 " .. hex(30))
    assert.are.same({ "no write of a stale holder" }, failures(log, 2))
  end)

  it("sees the write of a stale holder: begun while the next holder held, but before it wrote", function()
    log:add(1, "1 1 waits a")
    log:add(1, "1 1 holds " .. hex(10))
    log:add(2, "2 1 waits a")
    log:add(2, "2 1 holds " .. hex(20))
    log:add(2, "2 1 valid")
    log:add(1, "3 1 writes 1")
    log:add(1, "3 1 wrote 1 " .. hex(30))
    assert.are.same({ "no write of a stale holder" }, failures(log, 1))
  end)

  it("finds an update that is lost, done twice, or that no holder wrote", function()
    local lost = { "no update lost or done twice" }
    turn(log, 1, 1, 2, 10, 1)
    turn(log, 2, 3, 4, 20, 1)
    assert.are.same(lost, failures(log, 1)) -- the second update did not see the first
    log = journals.new()
    turn(log, 1, 1, 2, 10, 1)
    assert.are.same(lost, failures(log, 0)) -- the register went back
    assert.are.same(lost, failures(log, 2))
    turn(log, 2, 3, 4, 20, 3)
    assert.are.same(lost, failures(log, 3))
  end)

  it("accepts a write of unknown outcome, done or not, but no refused write", function()
    turn(log, 1, 1, 2, 10, 1)
    log:add(2, "3 1 waits a")
    log:add(2, "3 1 holds " .. hex(20))
    log:add(2, "3 1 writes 2")
    log:add(2, "3 1 refused 2 connection_loss")
    assert.are.same({}, failures(log, 1))
    assert.are.same({}, failures(log, 2))
    log:add(2, "4 1 writes 2")
    log:add(2, "4 1 refused 2 lost")
    assert.are.same({ "no update lost or done twice" }, failures(log, 3))
  end)

  it("takes a killed worker's last write for unknown, and its waits for ended", function()
    log:add(1, "1 1 waits a")
    log:add(1, "1 2 waits a")
    log:add(1, "1 1 holds " .. hex(10))
    log:add(1, "1 1 writes 1")
    assert.is_true(log:holding(1))
    log:died(1, 2)
    assert.is_false(log:holding(1))
    assert.are.same({}, failures(log, 0))
    assert.are.same({}, failures(log, 1))
  end)

  it("finds a waiter that was never answered", function()
    log:add(1, "1 1 waits a")
    assert.are.same({ "every wait got an answer" }, failures(log, 0))
    log:add(1, "2 1 gives_up timeout")
    assert.are.same({}, failures(log, 0))
  end)

  it("finds leftovers, workers that died, and forgotten waits", function()
    for name, text in pairs { left = "nothing is left on the servers", processes = "no process is left",
      crashed = "every worker lived until it was ended", deserted = "every worker was granted after the faults" } do
      assert.are.same({ text }, failures(log, 0, { [name] = { "something" } }))
    end
  end)

  it("refuses malformed lines", function()
    for _, line in ipairs { "lua5.4: out of memory", "1 1 valid", "1 1 explodes", "1 1 gives_up server_error" } do
      log = journals.new()
      log:add(1, line)
      assert.are.same({ "nothing unexpected was said" }, failures(log, 0))
    end
  end)
end)

describe("the figures of the torture run", function()
  it("agree with the journal", function()
    local log = journals.new()
    turn(log, 1, 1, 2, 10, 1)
    turn(log, 1, 6, 7, 20, 2)
    turn(log, 2, 8, 9, 30, 3)
    log.holds[2].asked = 1.5
    assert.are.same({ 4 }, tally.handoffs(log.holds)) -- the third worker had not waited before the release
    assert.are.equal(4.5, tally.quantile(tally.waits(log.holds), 1))
    local faults = { { kind = "cut", worker = 2, holder = true, from = 3, to = 4 },
      { kind = "cut", worker = 1, from = 4, to = 7 } }
    local cut = tally.recoveries(log.holds, faults, 1).cut
    assert.are.same({ times = 2, holders = 1, stalls = { 3, 2 }, backs = { 4 } }, cut)
  end)

  it("have a quantile also without samples", function()
    assert.is_nil(tally.quantile({}, 0.5))
    assert.are.equal(2, tally.quantile({ 3, 1, 2 }, 0.5))
  end)
end)

describe("the torture run's random choices", function()
  it("are the same for the same seed, and differ between streams", function()
    local function some(...)
      local random, numbers = randoms.new(...), {}
      for i = 1, 5 do numbers[i] = random:next() end
      return numbers
    end
    assert.are.same(some(7, 1), some(7, 1))
    assert.are_not.same(some(7, 1), some(7, 2))
    assert.are_not.same(some(7, 1), some(8, 1))
    for _, number in ipairs(some(999999, 4025)) do
      assert.is_true(number >= 0 and number < 1)
    end
  end)
end)
