-- The latch: every count counts exactly once; it opens with the n-th, and not before. In some histories memory is exhausted now and then,
-- and in some an operator writes the znode by hand, which counts, too.

local PATH = "/l/latch"

local function version(h)
  local _, stat = h.world:get(PATH)
  return stat and stat.version or 0
end

local function is_open(h) return h.world:get(PATH .. "/open") ~= nil end

local function counter(h, zk, latch, tally)
  for _ = 1, h:below(3) do
    zk.sleep(h:chance(0.6) and 0 or h:within(6))
    local left, message, code = h:attempt(zk, function()
      local left, message, code = latch:count_down()
      return left, message, code
    end)
    if left == nil then
      tally.unknown = tally.unknown + 1
      h:expect(code == "canceled" or h.starves and code == "no_memory", "count_down: %s", message)
    else
      tally.done = tally.done + 1
      h:expect(left >= tally.size - version(h) and left < tally.size, "%d left of %d, after %d", left, tally.size, version(h))
      h:expect(left > 0 or is_open(h), "the last count has not opened it")
      h:expect(is_open(h) or tally.done <= version(h), "%d counts are done, and %d counted", tally.done, version(h))
    end
  end
end

local function operator(h, zk, session, tally)
  for _ = 1, h:below(2) do
    zk.sleep(h:within(6))
    local done, _, code = h:attempt(zk, function() return session:set(PATH, tostring(tally.size)) end)
    if done then
      tally.done = tally.done + 1
    elseif code ~= "no_node" then
      tally.unknown = tally.unknown + 1
    end
  end
end

local function waiter(h, zk, latch)
  for _ = 1, 3 do
    local timeout = h:chance(0.5) and h:within(6) or nil
    local passed, message, code = h:attempt(zk, function() return latch:wait(timeout) end)
    h:expect(not passed or is_open(h), "passed a latch that is not open")
    local late = timeout and (code == "timeout" or code == "connection_loss")
    h:expect(passed or late or code == "canceled" or h.starves and code == "no_memory", "wait: %s", message)
  end
end

return function(h)
  local tally, first = { done = 0, unknown = 0, size = h:below(8) }, nil
  for number = 1, 1 + h:below(3) do
    local zk = h:process()
    local session = h:session(zk)
    local latch = session:latch(PATH, tally.size)
    first = first or latch
    for place = 1, h:below(4) do
      h:user(("counter %d.%d"):format(number, place), zk, function() counter(h, zk, latch, tally) end)
    end
    for place = 1, h:below(3) do
      h:user(("waiter %d.%d"):format(number, place), zk, function() waiter(h, zk, latch) end)
    end
  end
  h.starves = h:chance(0.3)
  if h:chance(0.3) then
    local zk = h:process()
    local session = h:session(zk)
    tally.by_hand = true
    h:user("operator", zk, function() operator(h, zk, session, tally) end)
  end
  function h.settle()
    h.world:advance(60) -- until the counters have ended
    h:expect(version(h) <= tally.done + tally.unknown, "%d counted, of %d done and %d unknown", version(h), tally.done,
      tally.unknown)
    while h:expect(first:count(), "cannot count") > 0 do
      h:expect(first:count_down(), "cannot count down")
      tally.done = tally.done + 1
    end
  end
  function h.check()
    h:expect(is_open(h), "it has no znode that says that it is open")
    if tally.by_hand then return end
    h:expect(version(h) == tally.size, "%d counts of %d", version(h), tally.size)
    h:expect(#h.world:children(PATH) == tally.size + 1, "%d znodes", #h.world:children(PATH))
  end
end
