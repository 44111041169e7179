-- Sweeping: what remains of transactions that have ended.
--
-- 1. What this participant has tidied is deleted when its time is over: the `keep` of session:two_phase, and twice the time for votes, so
--    that each `run` of the transaction has ended by then.
-- 2. Every `keep` seconds: list all transactions, and look at each that is not in 1. If it should have been decided, conclude it. If no
--    inbox has it any more, tidy it. If it was tidied long ago by a participant that has died, delete it.
--
-- What can go wrong: another participant does the same. Each of these writes names a version, so it is done once.

local core = require "zkrecipes.core"
local clocks = require "zkrecipes.recipes.two_phase.clock"
local records = require "zkrecipes.recipes.two_phase.record"
local requests = require "zkrecipes.lost_answers"
local timers = require "zkrecipes.host.timers"
local transactions = require "zkrecipes.recipes.two_phase.transaction"
local wait = require "zkrecipes.host.wait"

local M = {}

local SHORTEST = 1 -- seconds between two looks at all
local AGAIN = 10   -- seconds to wait after a failure that does not pass

function M.new(session, two, clock)
  return { session = session, folder = two.path, keep = two.keep, clock = clock, host = core.host(session), at = {},
    mine = timers.new() }
end

local function kept_for(broom, record) return broom.keep + 2 * record.milliseconds / 1000 end

-- This participant has tidied it.
function M.add(broom, tx)
  local due = broom.clock.now() + kept_for(broom, tx.record)
  broom.mine:start({ place = tx.place }, due)
  broom.at[tx.place.name] = true
  if broom.record and due < broom.till then wait.wake(broom.host, broom.record) end
end

local function sweep_mine(broom)
  local one = broom.mine:expire(broom.clock.now())
  while one do
    local done, message, code = transactions.forget(broom.session, one.place)
    if done == nil then
      broom.mine:start(one, one.at)
      return nil, message, code
    end
    broom.at[one.place.name] = nil
    one = broom.mine:expire(broom.clock.now())
  end
  return true
end

local function sweep_one(broom, place)
  local tx, message, code = transactions.get(broom.session, place)
  if not tx then return code == "no_node" or code == "conflict" or nil, message, code end
  local record, session = tx.record, broom.session
  if record.state == "open" then
    if clocks.since(broom.clock, tx.stat.ctime) < kept_for(broom, record) then return true end
    return transactions.conclude(session, tx)
  elseif not record.sum then
    return transactions.tidy_what_is_left(session, tx)
  elseif clocks.since(broom.clock, tx.stat.mtime) >= kept_for(broom, record) then
    return transactions.forget(session, place)
  end
  return true
end

local function sweep_all(broom)
  local session, folder = broom.session, broom.folder .. "/transactions"
  local ok, message, code = clocks.ask(broom.clock)
  if not ok then return nil, message, code end
  local names
  names, message, code = session:children(folder)
  if not names then return code == "no_node" or nil, message, code end
  for _, name in ipairs(names) do
    if not broom.at[name] then
      local done, problem, why = sweep_one(broom, records.place_of_name(broom.folder, name))
      if done == nil and why ~= "no_node" then return nil, problem, why end
    end
  end
  return true
end

local function pause(broom, till)
  broom.record, broom.till = wait.record(), till
  wait.pause(broom.host, broom.record, math.max(till - broom.clock.now(), 0))
  broom.record = nil
end

-- The task. It ends when it is canceled.
function M.work(broom)
  local now = broom.clock.now
  local all = now() + math.max(broom.keep, SHORTEST)
  while true do
    pause(broom, math.min(broom.mine:next() or all, all))
    local ok = requests.insist(broom.session, sweep_mine, broom)
    if now() >= all then
      ok = requests.insist(broom.session, sweep_all, broom) and ok
      all = now() + math.max(broom.keep, SHORTEST)
    end
    if not ok then pause(broom, now() + AGAIN) end
  end
end

core.own(debug.getinfo(1, "S").source)
return M
