-- Sweeping: what remains of transactions that have ended.
--
-- 1. What this participant has tidied is deleted when its time is over: the `keep` of session:two_phase, and twice the time for votes, so
--    that each `run` of the transaction has ended by then.
-- 2. Every `keep` seconds: list all transactions, and look at each that is not in 1. If it should have been decided, conclude it. If no
--    inbox has it any more, tidy it. If it was tidied long ago by a participant that has died, delete it.
--
-- What can go wrong: another participant does the same. Each of these writes names a version, so it is done once. A transaction cannot be
-- read or tidied (no_auth): the others are.

local core = require "zkrecipes.core"
local clocks = require "zkrecipes.recipes.two_phase.clock"
local records = require "zkrecipes.recipes.two_phase.record"
local requests = require "zkrecipes.lost_answers"
local timers = require "zkrecipes.host.timers"
local transactions = require "zkrecipes.recipes.two_phase.transaction"
local wakeups = require "zkrecipes.host.wakeup"

local M = {}

local SHORTEST = 1 -- seconds between two looks at all
local AGAIN = 10   -- seconds to wait after a failure that does not pass

function M.new(session, two, clock)
  return { session = session, folder = two.path, keep = two.keep, clock = clock, at = {}, mine = timers.new(),
    wakeup = wakeups.new(core.host(session)), till = math.huge }
end

local function kept_for(tidying, record) return tidying.keep + 2 * record.milliseconds / 1000 end

-- This participant has tidied it.
function M.add(tidying, tx)
  local due = tidying.clock.now() + kept_for(tidying, tx.record)
  tidying.mine:start({ place = tx.place }, due)
  tidying.at[tx.place.name] = true
  if due < tidying.till then tidying.wakeup:wake() end
end

local function sweep_mine(tidying)
  local one = tidying.mine:expire(tidying.clock.now())
  while one do
    local done, message, code = transactions.forget(tidying.session, one.place)
    if done == nil then
      tidying.mine:start(one, one.at)
      return nil, message, code
    end
    tidying.at[one.place.name] = nil
    one = tidying.mine:expire(tidying.clock.now())
  end
  return true
end

local function sweep_one(tidying, place)
  local tx, message, code = transactions.get(tidying.session, place)
  if not tx then return code == "no_node" or code == "conflict" or nil, message, code end
  local record, session = tx.record, tidying.session
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
  for _, name in ipairs(names) do
    if not tidying.at[name] then
      local done, problem, why = sweep_one(tidying, records.place_of_name(tidying.folder, name))
      if done == nil and (requests.PASSES[why] or requests.ENDS[why]) then return nil, problem, why end
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
