-- The counter. A successful add counts exactly once, an add with unknown outcome at most once. compare_and_set is linearizable. After a
-- deletion no sum contains what the counter held before. A counter that only one coroutine uses behaves like a variable. No id is given
-- or name twice, and none by an object that has seen the deletion of its znode. In some histories an allocation fails now and then.

local SHARED, COMPARED, REMOVED, OWN, IDS = "/c/shared", "/c/compared", "/c/removed", "/c/own", "/c/ids"
local NAMES, ANEW = "/c/names", "/c/anew"
local MOST = 50 -- adds: each has its own bit of the 53

-- A call whose write may have been done, or may still be done.
local DOUBTFUL = { connection_loss = true, canceled = true, closed = true }

-- A failure that no fault explains is a violation.
local function expect_failure(h, method, message, code)
  h:expect(DOUBTFUL[code] or code == "timeout" or h.starves and (code == "no_memory"), "%s: %s", method, message)
end

local function doubtful(h, method, message, code)
  expect_failure(h, method, message, code)
  return DOUBTFUL[code]
end

local function some_limit(h) return h:chance(0.3) and { timeout = h:chance(0.3) and 0 or h:within(6) } or nil end

-- ---- Adds: the bits of a sum tell which adds it holds --------------------------------------------

local function bit_of(sum, index) return math.floor(sum / 2 ^ index) % 2 end

local function check_sum(h, adds, sum, began)
  for _, add in ipairs(adds) do
    local there = bit_of(sum, add.index) == 1
    h:expect(not there or not add.failed, "add %d failed, and %d counts it", add.index, sum)
    h:expect(there or not add.ended or add.ended >= began, "add %d was done, and %d does not count it", add.index, sum)
  end
  h:expect(sum >= 0 and sum < 2 ^ #adds, "the sum %d is none of %d adds", sum, #adds)
end

-- Of two sums, one must contain all adds of the other.
local function check_order(h, adds)
  local sums = {}
  for _, add in ipairs(adds) do sums[#sums + 1] = add.sum end
  table.sort(sums)
  for i = 2, #sums do
    for index = 0, #adds - 1 do
      h:expect(bit_of(sums[i - 1], index) <= bit_of(sums[i], index), "%d and %d do not belong to one history", sums[i - 1], sums[i])
    end
  end
end

local function add_once(h, zk, counter, adds)
  local add = { index = #adds, failed = false }
  adds[#adds + 1] = add
  local began = h.world:now()
  local sum, message, code = h:attempt(zk, function() return counter:add(2 ^ add.index, some_limit(h)) end)
  if sum == nil then
    add.failed = not doubtful(h, "add", message, code)
    return
  end
  h:expect(bit_of(sum, add.index) == 1, "%d does not contain its own add %d", sum, add.index)
  check_sum(h, adds, sum, began)
  add.sum, add.ended = sum, h.world:now()
end

local function adder(h, zk, counter, adds)
  for _ = 1, h:below(8) do
    zk.sleep(h:chance(0.6) and 0 or h:within(6))
    if #adds < MOST then add_once(h, zk, counter, adds) end
  end
end

-- ---- compare_and_set: every value is written by one call, so the last one leads back to the first --

local function compare_once(h, zk, counter, book, expected)
  local call = { expected = expected, value = #book + 1, began = h.world:now() }
  book[call.value] = call
  local set, current, code = h:attempt(zk, function()
    local set, current, code = counter:compare_and_set(expected, call.value, some_limit(h))
    return set, current, code
  end)
  call.set, call.ended = set, h.world:now()
  if set == nil then
    call.doubtful = doubtful(h, "compare_and_set", current, code)
    return expected
  end
  call.current = not set and current or nil
  h:expect(set or current ~= expected, "compare_and_set fails with the value %d that it expects", expected)
  return set and call.value or current
end

local function comparer(h, zk, counter, book)
  local seen = 0
  for _ = 1, h:below(8) do
    zk.sleep(h:chance(0.6) and 0 or h:within(6))
    seen = compare_once(h, zk, counter, book, seen)
    if h:chance(0.2) then seen = counter:get() or seen end
  end
end

-- The calls that have written, in the order of their writes.
local function chain_of(h, book, last)
  local chain, value = {}, last
  while value ~= 0 do
    local call = h:expect(book[value], "no call has set %d", value)
    h:expect(call.set or call.doubtful, "%d was set, though its call failed", value)
    h:expect(not call.place, "%d was set twice", value)
    call.place = true
    table.insert(chain, 1, call)
    value = call.expected
  end
  for place, call in ipairs(chain) do call.place = place end
  return chain
end

local function check_chain(h, book, last)
  local chain = chain_of(h, book, last)
  for i = 2, #chain do
    for k = 1, i - 1 do
      h:expect(chain[i].doubtful or chain[i].ended >= chain[k].began, "%d came after %d, which began later", chain[i].value, chain[k].value)
    end
  end
  for value, call in ipairs(book) do
    h:expect(call.place or not call.set, "%d was set and is lost", value)
    local current = call.current
    if current then
      local writer = book[current]
      h:expect(current == 0 or writer.place and writer.began <= call.ended, "%d was never there", current)
      local successor = chain[current == 0 and 1 or writer.place + 1]
      h:expect(not successor or successor.doubtful or successor.ended >= call.began, "%d was already replaced", current)
    end
  end
end

-- ---- Deleted under the adders: a sum holds each add at most once --------------------------------

-- Amounts are powers of 4, so an add that counts twice shows as a 2.
local function check_digits(h, sum)
  local rest = sum
  while rest > 0 do
    h:expect(rest % 4 <= 1, "%d holds an add twice", sum)
    rest = math.floor(rest / 4)
  end
end

local function adder_to_removed(h, zk, counter, tally)
  for _ = 1, h:below(4) do
    zk.sleep(h:chance(0.6) and 0 or h:within(6))
    if tally.removed < MOST / 2 then
      tally.removed = tally.removed + 1
      local sum, message, code = counter:add(4 ^ (tally.removed - 1), some_limit(h))
      if sum then check_digits(h, sum) else expect_failure(h, "add", message, code) end
    end
  end
end

-- Each new znode has the same versions, and an old write may come late.
local function remover(h, zk, session)
  for _ = 1, h:below(6) do
    zk.sleep(h:within(h:chance(0.5) and 0.01 or 4))
    session:delete_tree(REMOVED, { timeout = 5 })
  end
end

-- ---- Alone: all values that the counter may have -------------------------------------------------

local function apply(kind, value, one, two)
  if kind == "add" then return value + one, value + one end
  if kind == "set" then return true, one end
  if value == one then return true, two end
  return false, value
end

-- The values after a call with this result; nil: any.
local function after(possible, result, known, kind, one, two)
  local values = {}
  for value in pairs(possible) do
    local wanted, becomes = apply(kind, value, one, two)
    if not known or wanted == result then values[becomes] = true end
  end
  return values
end

local function loner(h, zk, counter)
  local possible = { [0] = true }
  for _ = 1, h:below(10) do
    zk.sleep(h:chance(0.6) and 0 or h:within(4))
    local kind, one, two = h:pick { "add", "set", "compare_and_set" }, h:below(3), nil
    if kind == "compare_and_set" then two = h:below(3) end
    local result, message, code = counter[kind](counter, one, two)
    if result ~= nil then
      possible = after(possible, result, true, kind, one, two)
      h:expect(next(possible), "%s of one coroutine alone gave %s", kind, tostring(result))
      h:expect(result or possible[message], "compare_and_set of one coroutine alone found %s", tostring(message))
    elseif doubtful(h, kind, message, code) then
      for value in pairs(after(possible, nil, false, kind, one, two)) do possible[value] = true end
    end
  end
end

-- ---- Ids: none is given twice --------------------------------------------------------------------

local function take_once(h, zk, ids, seen, before)
  local id, message, code = h:attempt(zk, function() return ids:next(some_limit(h)) end)
  if id == nil then
    expect_failure(h, "next", message, code)
    return before
  end
  h:expect(not seen[id], "%d is given twice", id)
  h:expect(id > before, "%d comes after %d", id, before)
  seen[id] = true
  return id
end

local function taker(h, zk, ids, seen)
  local before = 0
  for _ = 1, h:below(12) do
    zk.sleep(h:chance(0.6) and 0 or h:within(4))
    before = take_once(h, zk, ids, seen, before)
  end
end

-- ---- Names: none is given twice, and none after a conflict ---------------------------------------

local function namer(h, zk, ids, seen)
  for _ = 1, h:below(6) do
    zk.sleep(h:chance(0.6) and 0 or h:within(4))
    local name, message, code = h:attempt(zk, function() return ids:next_name("n-", some_limit(h)) end)
    if name == nil then expect_failure(h, "next_name", message, code) end
    h:expect(name == nil or not seen[name], "the name %s is given twice", name)
    seen[name or ""] = true
  end
end

-- One object, whose directory is deleted again and again.
local function namer_of_anew(h, zk, session)
  local ids, ended = session:ids(ANEW, { block = 3 }), false
  for _ = 1, h:below(10) do
    zk.sleep(h:chance(0.6) and 0 or h:within(2))
    local method = h:pick { "next", "next_name", "next_name" }
    local given, message, code = h:attempt(zk, function() return ids[method](ids, method == "next_name" and "n-" or nil) end)
    h:expect(given == nil or not ended, "%s has given %s after a conflict", method, tostring(given))
    ended = ended or code == "conflict"
    if given == nil and not ended then expect_failure(h, method, message, code) end
    if h:chance(0.3) then session:delete_tree(ANEW, { timeout = 5 }) end
  end
end

-- ---- The history ---------------------------------------------------------------------------------

-- books.counters has the only references, so that `check` can drop them.
local function users(h, number, zk, session, books)
  local counters = { shared = session:counter(SHARED), compared = session:counter(COMPARED), removed = session:counter(REMOVED),
    own = session:counter(OWN .. number), ids = session:ids(IDS, { block = h:below(3) }) }
  books.counters[number] = counters
  for place = 1, h:below(3) do
    local name = ("%d.%d"):format(number, place)
    h:user("adder " .. name, zk, function()
      adder(h, zk, h:chance(0.7) and counters.shared or session:counter(SHARED), books.adds)
    end)
    h:user("comparer " .. name, zk, function() comparer(h, zk, counters.compared, books.compared) end)
    h:user("taker " .. name, zk, function() taker(h, zk, counters.ids, books.ids) end)
    h:user("to removed " .. name, zk, function() adder_to_removed(h, zk, counters.removed, books) end)
  end
  if h:chance(0.7) then h:user("remover " .. number, zk, function() remover(h, zk, session) end) end
  h:user("loner " .. number, zk, function() loner(h, zk, counters.own) end)
end

-- A name whose answer is lost stays until its session ends, so these users have a session of their own, which is closed at the end.
local function namers(h, number, zk, books)
  local session = h:session(zk)
  local ids = session:ids(NAMES)
  table.insert(books.others, session)
  for place = 1, h:below(3) do
    h:user(("namer %d.%d"):format(number, place), zk, function() namer(h, zk, ids, books.names) end)
  end
  h:user("namer of anew " .. number, zk, function() namer_of_anew(h, zk, session) end)
end

return function(h)
  local books, first = { adds = {}, compared = {}, ids = {}, names = {}, removed = 0, counters = {}, others = {} }, nil
  for number = 1, 1 + h:below(3) do
    local zk = h:process()
    local session = h:session(zk)
    first = first or session
    users(h, number, zk, session, books)
    if h.seed % 5 == 2 then namers(h, number, zk, books) end -- not always: they take the other users' time
  end
  h.starves = h:chance(0.3)
  function h.check()
    h.world:advance(30) -- until all canceled calls have ended
    local now = h.world:now()
    local sum = h:expect(first:counter(SHARED):add(0), "cannot add")
    check_sum(h, books.adds, sum, now)
    check_order(h, books.adds)
    local set, last = h:expect(first:counter(COMPARED), "no counter"):compare_and_set(-1, -1)
    h:expect(set == false, "cannot compare: %s", last)
    check_chain(h, books.compared, last)
    check_digits(h, h:expect(first:counter(REMOVED):get(), "cannot read"))
    for _, counters in ipairs(books.counters) do
      for name in pairs(counters) do counters[name] = nil end
    end
    for _, other in ipairs(books.others) do other:close() end
    collectgarbage()
    collectgarbage()
  end
end
