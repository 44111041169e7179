-- Sweeping: what remains of transactions that have ended.
--
-- 1. What this participant has tidied is deleted when its time is over: the `keep` of session:two_phase, and twice the time for votes, so
--    that each `run` of the transaction has ended by then.
-- 2. Every `keep` seconds: list all transactions, and look at each that is not in 1. If it should have been decided, conclude it. If no
--    inbox has it any more, tidy it. If it was tidied long ago by a participant that has died, delete it.
--
-- What can go wrong: another participant does the same. Each of these writes names a version, so it is done once. A transaction cannot be
-- tidied, because another client has created a znode below it, has written it, or has changed its ACL: the log tells once, the others are
-- tidied, and this one is tried again after a long time.

local check = require "zkrecipes.check"
local core = require "zkrecipes.core"
local clocks = require "zkrecipes.recipes.two_phase.clock"
local dispatch = require "zkrecipes.host.dispatch"
local records = require "zkrecipes.recipes.two_phase.record"
local requests = require "zkrecipes.lost_answers"
local timers = require "zkrecipes.host.timers"
local transactions = require "zkrecipes.recipes.two_phase.transaction"
local wakeups = require "zkrecipes.host.wakeup"

local M = {}

local SHORTEST = 1 -- seconds between two looks at all
local AGAIN = 10   -- seconds to wait after a failure that does not pass
local RARELY = 300 -- the same, if only one transaction cannot be tidied

function M.new(session, two, clock)
  return { session = session, folder = two.path, keep = two.keep, clock = clock, at = {}, blocked = {},
    mine = timers.new(), wakeup = wakeups.new(core.host(session)), till = math.huge }
end

local function kept_for(tidying, record) return tidying.keep + 2 * record.milliseconds / 1000 end

-- This participant has tidied it.
local function add(tidying, tx)
  local due = tidying.clock.now() + kept_for(tidying, tx.record)
  tidying.mine:start({ place = tx.place }, due)
  tidying.at[tx.place.name] = true
  if due < tidying.till then tidying.wakeup:wake() end
end

local function goes_on(code) return not (requests.PASSES[code] or requests.ENDS[code]) end

local BLOCKED = "two_phase:serve %s: transaction '%s' cannot be tidied: %s; it is tried again now and then"

-- This transaction cannot be tidied: `sweep_all` tries it again.
local function block(tidying, place, message)
  if not tidying.blocked[place.name] then
    local text = BLOCKED:format(tidying.folder, check.shown(place.id), message)
    dispatch.tell(core.host(tidying.session), "warning", text, tidying.session)
  end
  tidying.blocked[place.name] = tidying.clock.now() + RARELY
end

-- All have acknowledged, perhaps: tidies.
function M.tidy(tidying, tx)
  local done, message, code = requests.insist(tidying.session, transactions.tidy, tidying.session, tx)
  if done then
    add(tidying, tx)
  elseif done == nil and goes_on(code) then
    block(tidying, tx.place, message)
  end
end

local function sweep_mine(tidying)
  local one = tidying.mine:expire(tidying.clock.now())
  while one do
    local done, message, code = transactions.forget(tidying.session, one.place)
    if done == nil and not goes_on(code) then
      tidying.mine:start(one, one.at)
      return nil, message, code
    end
    if done == nil then block(tidying, one.place, message) end
    tidying.at[one.place.name] = nil
    one = tidying.mine:expire(tidying.clock.now())
  end
  return true
end

-- Another client has written it, so no write that names a version can be done.
local function rewritten(tx)
  local expected = tx.record.state == "open" and 0 or tx.record.sum and 2 or 1
  if tx.stat.version == expected then return nil end
  return ("another client has written %s (version %d); delete it, and those below it"):format(tx.place.path, tx.stat.version)
end

local function sweep_one(tidying, place)
  local tx, message, code = transactions.get(tidying.session, place)
  if not tx then return code == "no_node" or code == "conflict" or nil, message, code end
  local record, session, problem = tx.record, tidying.session, rewritten(tx)
  if problem then return nil, problem, "conflict" end
  if record.state == "open" then
    if clocks.since(tidying.clock, tx.stat.ctime) < kept_for(tidying, record) then return true end
    return transactions.conclude(session, tx)
  elseif not record.sum then
    return transactions.tidy_what_is_left(session, tx)
  elseif clocks.since(tidying.clock, tx.stat.mtime) >= kept_for(tidying, record) then
    return transactions.forget(session, place)
  end
  return true
end

local function sweep_all(tidying)
  local session, folder = tidying.session, tidying.folder .. "/transactions"
  local ok, message, code = clocks.ask(tidying.clock)
  if not ok then return nil, message, code end
  local names
  names, message, code = session:children(folder)
  if not names then return code == "no_node" or nil, message, code end
  local blocked = tidying.blocked
  tidying.blocked = {}
  for _, name in ipairs(names) do tidying.blocked[name] = blocked[name] end
  for _, name in ipairs(names) do
    if not tidying.at[name] and (tidying.blocked[name] or 0) <= tidying.clock.now() then
      local place = records.place_of_name(tidying.folder, name)
      local done, problem, why = sweep_one(tidying, place)
      if done == nil and not goes_on(why) then return nil, problem, why end
      if done == nil then block(tidying, place, problem) end
    end
  end
  return true
end

local function pause(tidying, till)
  tidying.till = till
  tidying.wakeup:pause(math.max(till - tidying.clock.now(), 0))
end

-- The task. It ends when it is canceled.
function M.work(tidying)
  local now = tidying.clock.now
  local all = now() + math.max(tidying.keep, SHORTEST)
  while true do
    pause(tidying, math.min(tidying.mine:next() or all, all))
    local ok = requests.insist(tidying.session, sweep_mine, tidying)
    if now() >= all then
      ok = requests.insist(tidying.session, sweep_all, tidying) and ok
      all = now() + math.max(tidying.keep, SHORTEST)
    end
    if not ok then pause(tidying, now() + AGAIN) end
  end
end

core.own(debug.getinfo(1, "S").source)
return M
