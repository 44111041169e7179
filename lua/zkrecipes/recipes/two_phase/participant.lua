-- A participant: two_phase:serve(name, { prepare =, commit =, abort = }). See two_phase.lua for the story.
--
-- One task watches the inbox and starts a task for each transaction in it, up to MOST at a time. Another task sweeps (tidying.lua).
--
-- The task of a transaction: read it; if it is open and has no vote of ours, call `prepare` and vote; wait for the decision; call `commit`
-- or `abort`; acknowledge; tidy.
--
-- What can go wrong:
-- * A function raises, or fails. A failed `prepare` is a no; the other two are called again, with growing pauses.
-- * A function ends its task, in nginx by ngx.exit. The transaction begins again; its vote and the decision are found.
-- * A request fails. It is sent again, with growing pauses, until the session is closed; the log tells what cannot be done.
-- * Another process serves with this name. Both do the work, and the first answer counts.
-- * Another client has deleted the transaction. Its outcome is not known any more, so nothing is called; the log tells.

local check = require "zkrecipes.check"
local classes = require "zkrecipes.classes"
local core = require "zkrecipes.core"
local coroutines = require "zkrecipes.host.coroutines"
local tidyings = require "zkrecipes.recipes.two_phase.tidying"
local clocks = require "zkrecipes.recipes.two_phase.clock"
local dispatch = require "zkrecipes.host.dispatch"
local escape = require "zkrecipes.escape"
local failure = require "zkrecipes.failure"
local records = require "zkrecipes.recipes.two_phase.record"
local requests = require "zkrecipes.lost_answers"
local tasks = require "zkrecipes.host.tasks"
local transactions = require "zkrecipes.recipes.two_phase.transaction"
local wait = require "zkrecipes.host.wait"
local waiters = require "zkrecipes.host.waiters"
local activity = require "zkrecipes.status.activity"

local M = {}

local session_class, tree_class = core.classes.session, core.classes.tree
local changed = classes.waiting(tree_class.inner.changed)

local MOST = 100           -- transactions at a time
local PAUSES = { 0.1, 10 } -- seconds between two attempts

local Participant = { __name = "zkrecipes.participant" }
Participant.__index = Participant

local function tell(part, text) dispatch.tell(part.host, "warning", ("two_phase:serve %s: %s"):format(part.path, text), part.session) end

-- ---- Again and again ---------------------------------------------------------------------------

-- Calls call(...) until it gives something, false too; or nil, message, code if the session is over.
local function persist(part, call, ...)
  local known
  local function goes_on(_, value, message, code)
    if value ~= nil or requests.ENDS[code] then return false end
    if not requests.PASSES[code] and message ~= known then
      known = message
      tell(part, ("'%s': %s; it is tried again"):format(part.name, check.text(message)))
    end
    return true
  end
  return requests.again(part.host, PAUSES, goes_on, call, ...)
end

-- ---- The user's functions ----------------------------------------------------------------------

-- zk.canceled may be the function's own failure, of a task that it waited for. If it is that of our task, the wait raises it again.
local function result(part, ok, ...)
  local value, why = ...
  if not ok and value == wait.canceled then wait.pause(part.host, wait.record(), 0) end
  if not ok then return false, check.text(value) end
  if value == false or value == nil and why ~= nil then return false, check.text(why or "it returned false") end
  return true, value
end

-- Calls handlers[name](id, data): false and why, or true and what it returned. If the participant was stopped meanwhile, only a success of
-- `commit` or `abort` is told on: no vote is created, and nothing is called again.
local function call(part, work, name, tx)
  work.inside = true
  local ok, value = result(part, coroutines.pcall(part.handlers[name], tx.place.id, tx.record.data))
  work.inside = false
  if part.stopping and (not ok or name == "prepare") then error(wait.canceled, 0) end
  return ok, value
end

-- True if the vote is yes; otherwise why not.
local function ask(part, work, tx)
  local ok, value = call(part, work, "prepare", tx)
  if ok and value then return true end
  return false, ok and "it returned nothing" or value
end

-- Calls commit or abort until it succeeds.
local function finish(part, work, tx, name)
  requests.again(part.host, PAUSES, function(seconds, ok, why)
    if ok then return false end
    local text = "'%s': %s of '%s' failed: %s; it is called again in %g s"
    tell(part, text:format(part.name, name, check.shown(tx.place.id), why, seconds))
    return true
  end, call, part, work, name, tx)
end

-- ---- Voting ------------------------------------------------------------------------------------

-- True if our vote exists; or nil, message, code.
local function has_voted(part, tx)
  if tx.stat.num_children == 0 then return false end
  local stat, message, code = part.session:exists(records.mark(tx.place, tx.record.tag, "yes", part.escaped))
  if stat == nil then return nil, message, code end
  return stat and true
end

-- Votes, unless that is done or it is too late. True; or nil, message, code.
local function vote(part, tx)
  local done, message, code = part.session:multi {
    { "check", tx.place.path, 0 },
    { "create", records.mark(tx.place, tx.record.tag, "yes", part.escaped), "" },
    clocks.part(part.clock),
  }
  if done then part.clock:told(done[3]) end
  if done or code == "node_exists" or code == "bad_version" then return true end
  if code ~= "no_node" then return nil, message, code end
  local found, problem, why = transactions.read(part.session, tx.place)
  if not found then return why == "no_node" or nil, problem, why end
  local ready
  ready, problem, why = clocks.ask(part.clock) -- which makes it
  if not ready then return nil, problem, why end
  return nil, message, "connection_loss" -- again
end

-- Decides as `transactions.decide`; false: the transaction is gone.
local function refuse(part, tx, why)
  local record, message, code = transactions.decide(part.session, tx, "aborted", ("'%s' voted no: %s"):format(part.name, why))
  if code == "no_node" then return false end
  return record, message, code
end

-- ---- One transaction ---------------------------------------------------------------------------

local function acknowledge(part, tx)
  local tag = tx.record.tag
  local done, message, code = part.session:multi {
    { "delete", records.entry(tx.place, tag, part.escaped) },
    { "create", records.mark(tx.place, tag, "done", part.escaped), "" },
  }
  if done or code == "no_node" or code == "node_exists" then return true end
  return nil, message, code
end

-- The transaction; false: it is gone; or nil, message, code.
local function find(part, place, tag)
  local tx, message, code = transactions.read(part.session, place)
  if code == "no_node" or tx and tx.record.tag ~= tag then return false end
  if not tx then return nil, message, code end
  return tx
end

local function settled(part, tx, left)
  local record, message, code = transactions.settle(part.session, tx, left)
  if code == "no_node" then return false end
  return record, message, code
end

-- The transaction is gone. If our inbox has it no more, another process has done it under this name.
local function is_gone(part, place, tag)
  if not persist(part, part.session.exists, part.session, records.entry(place, tag, part.escaped)) then return end
  tell(part, ("'%s': another client has deleted '%s'; its outcome is not known"):format(part.name, check.shown(place.id)))
end

-- The record with the decision; false: the transaction is gone; nil: the session is over.
local function decision(part, work, tx)
  if tx.record.state ~= "open" then return tx.record end
  local left = clocks.left(part.clock, tx)
  local voted = persist(part, has_voted, part, tx)
  if voted == false and left() > 0 then
    local yes, why = ask(part, work, tx)
    if not yes then return persist(part, refuse, part, tx, why) end
    voted = persist(part, vote, part, tx)
  end
  if voted == nil then return nil end
  return persist(part, settled, part, tx, left)
end

local function take_part(part, work, place, tag)
  local tx = persist(part, find, part, place, tag)
  if tx == false then return is_gone(part, place, tag) end
  if not tx then return end
  local record = decision(part, work, tx)
  if record == false then return is_gone(part, place, tag) end
  if not record or record.sum then return end -- tidied: another process has done it under this name
  finish(part, work, tx, record.state == "committed" and "commit" or "abort")
  if not persist(part, acknowledge, part, tx) then return end
  tx.record = record
  tidyings.tidy(part.tidying, tx)
end

-- ---- The inbox ---------------------------------------------------------------------------------

local function wake_if_over(part)
  if part.running == 0 then part.waiters:wake() end
end

local function start_task(part, work, fn, ...)
  part.running, part.started = part.running + 1, part.started + 1
  part.tasks[work] = part.started
  work.task = tasks.behind(part.host, { on_end = function(task)
    part.running, part.tasks[work] = part.running - 1, nil
    if work.on_end then work.on_end(task) end
    wake_if_over(part)
  end }, fn, ...)
end

local start_more

-- nginx ends a task if a function in it calls ngx.exit. Then the transaction is still in the inbox.
local function start_again(part, entry)
  wait.pause(part.host, wait.record(), PAUSES[1])
  part.known[entry] = nil
  start_more(part)
end

-- Starts what is in the inbox and was not started. An entry stays in the copy for a moment after it was deleted.
function start_more(part)
  part.crowded = false
  local there = {}
  for _, entry in ipairs(part.tree and part.tree:children() or {}) do
    there[entry] = true
    local place, tag = records.place_of_entry(part.folder, entry)
    if place and not part.known[entry] then
      if part.working == MOST then
        part.crowded = true
      else
        local work = {}
        part.known[entry], part.working = "working", part.working + 1
        function work.on_end(task)
          part.working = part.working - 1
          if task.ok or task.results[1] == wait.canceled then
            part.known[entry] = "over"
          else
            start_task(part, {}, start_again, part, entry)
          end
          if part.crowded and not part.stopping then start_more(part) end
        end
        start_task(part, work, take_part, part, work, place, tag)
      end
    end
  end
  for entry, what in pairs(part.known) do
    if what == "over" and not there[entry] then part.known[entry] = nil end
  end
end

local function follow(part)
  local tree, message, code = session_class.core.tree(part.session, part.inbox, 1)
  if not tree then return nil, message, code end
  part.tree = tree
  local ok
  ok, message, code = tree_class.core.ready(tree)
  while ok do
    local seen = tree_class.inner.count(tree)
    start_more(part)
    ok, message, code = changed(tree, seen)
  end
  part.tree = nil
  tree_class.core.close(tree)
  return nil, message, code
end

local function make_inbox(part)
  local made, message, code = part.session:create(part.inbox, "", { parents = true })
  if made or code == "node_exists" then return true end
  return nil, message, code
end

-- Cancels the tasks; which(work): those that it is true for.
local function cancel(part, which)
  part.stopping = true
  for _, work in ipairs(wait.in_order(part.tasks)) do
    if work.task and which(work) then work.task:cancel() end
  end
  if part.tree then
    tree_class.core.close(part.tree)
    part.tree = nil
  end
end

local function is_outside(work) return not work.inside end

-- The writes before the inbox is read bring this session's server up to date: it has each vote of an earlier process with this name.
local function work_inbox(part)
  if persist(part, make_inbox, part) and persist(part, clocks.ask, part.clock) then
    start_task(part, {}, tidyings.work, part.tidying)
    persist(part, follow, part)
  end
  cancel(part, is_outside) -- the session is over
end

-- ---- Methods -----------------------------------------------------------------------------------

-- participant:wait([timeout]): until it has ended.
function Participant:wait(timeout)
  check.seconds(timeout, 1, "wait", true)
  wait.check()
  if self.running == 0 then return true end
  if timeout ~= 0 then
    local record = self.waiters:enter()
    if wait.pause(self.host, record, timeout) then return true end
    record:give_up()
  end
  return nil, ("participant:wait %s: the time limit passed"):format(self.path), "timeout"
end

-- participant:stop([timeout]): begins nothing more, and waits for the functions that run.
function Participant:stop(timeout)
  check.seconds(timeout, 1, "stop", true)
  wait.check()
  for work in pairs(self.tasks) do
    if work.task == wait.task() then core.misuse("a participant's function cannot wait for the end of the participant; call close") end
  end
  cancel(self, is_outside)
  local ok, _, code = self:wait(timeout)
  if ok then return true end
  return nil, ("participant:stop %s: the time limit passed, and functions still run"):format(self.path), code
end

-- participant:close(): cancels the functions that run, too.
function Participant:close()
  cancel(self, function() return true end)
  return true
end

failure.name(Participant, "participant")
check.selves("participant", Participant, Participant)
Participant.__close = function(part) part:close() end

local function state(part)
  if part.stopping then return nil end
  return ("'%s', %d transactions at work"):format(check.shown(part.name), part.working)
end

-- A participant; or nil, message, code.
function M.start(two, name, handlers)
  local escaped, message, code = escape(name)
  if not escaped then return nil, message, code end
  local session, host = two.session, core.host(two.session)
  if session.state == "closed" then return nil, ("two_phase:serve %s: the session is closed"):format(two.path), "closed" end
  local part = setmetatable({ session = session, host = host, folder = two.path, path = two.path, name = name, escaped = escaped,
    inbox = records.inbox({ folder = two.path }, escaped), handlers = handlers, known = {}, tasks = {}, started = 0, running = 0,
    working = 0, waiters = waiters.new(host) }, Participant)
  part.clock = clocks.new(session, two.path .. "/clock")
  part.tidying = tidyings.new(part.session, two, part.clock)
  start_task(part, {}, work_inbox, part)
  activity.takes_part(host, part, state)
  return part
end

core.own(debug.getinfo(1, "S").source)
return M
