-- Runs a function while the caller leads:
--
--   election:lead(fn, options)   campaigns, calls fn(term), resigns, campaigns again
--   election:stop()              ends all of these, and the timers (timer.lua), which run in the same way
--
-- 1. A task campaigns, again and again.
-- 2. When it is elected, it runs fn in a second task. It resigns only after fn has ended, so that no other candidate can lead while
--    fn runs because of our resignation.
-- 3. When the term is lost, it cancels fn's task, so that fn's next wait raises. It learns of the loss when the lease ends, before the
--    server can let another candidate lead; after a pause of the process it learns that when the process runs again.
-- 4. When fn has ended, it campaigns again. If fn raised an error, it reports the error and waits first, longer after each error.
--
-- What can go wrong: fn never waits, so nothing can stop it. Such a function must check term:valid().

local check = require "zkrecipes.check"
local core = require "zkrecipes.core"
local coroutines = require "zkrecipes.host.coroutines"
local requests = require "zkrecipes.lost_answers"
local retry = require "zkrecipes.host.retry"
local tasks = require "zkrecipes.host.tasks"
local wait = require "zkrecipes.host.wait"

local M = {}

local active = setmetatable({}, { __mode = "k" }) -- election > its leads > their numbers

-- ---- One term ----------------------------------------------------------------------------------

-- lead() returns to its caller when neither the campaigning task nor the function runs any more.
local function wake_if_over(lead)
  if lead.task.done and not lead.serving then
    active[lead.election][lead] = nil
    wait.wake(lead.host, lead.record)
  end
end

-- Starts the function for this term. A separate function, so that the closures use no variable of the frame that waits: if that
-- coroutine is killed (in nginx, by on_error), its variables are lost.
local function start_service(lead, term)
  local host, service = lead.host, { lost = false }
  local function over() return not term:valid() and not lead.resigned(term) end
  local function on_end()
    service.lost = over()
    term:resign()
    lead.serving = false
    wait.wake(host, service.record)
    wake_if_over(lead)
  end
  function service.cancel() service.task:cancel() end
  service.record = wait.record(service.cancel)
  local ok, task = pcall(tasks.spawn, host, { quiet = true, on_end = on_end, over = over }, lead.fn, term)
  if not ok then
    term:resign()
    error(task, 0)
  end
  service.task, lead.serving = task, true
  return service
end

-- Runs the function for this term. Returns its task, and true if the term was lost before the function ended.
local function serve(lead, term)
  local service = start_service(lead, term)
  local told, problem = term:on_lost(service.cancel)
  if not told then
    service.cancel()
    retry.report(lead.host, lead.on_error, problem)
  end
  wait.pause(lead.host, service.record)
  return service.task, service.lost
end

-- ---- The campaigner ----------------------------------------------------------------------------

local function pause(lead, seconds)
  if seconds > 0 then wait.pause(lead.host, wait.record(), seconds) end
end

-- True if the function ended without an error, or only because its term ended.
local function ended_well(lead, task, lost)
  local problem = task.results[1]
  if task.ok or lost or problem == wait.canceled then return true end
  retry.report(lead.host, lead.on_error, problem)
  return false
end

local function campaign(lead)
  local failures = 0
  while true do
    local term, message, code = lead.election:campaign()
    if term then
      failures = ended_well(lead, serve(lead, term)) and 0 or failures + 1
    elseif requests.PASSES[code] then
      failures = code == "lost" and 0 or failures + 1
    else
      return nil, message, code
    end
    pause(lead, math.max(retry.seconds(lead, failures), term and lead.cooldown or 0))
  end
end

-- ---- Methods -----------------------------------------------------------------------------------

-- Reads the options of lead; more: further options and their types.
function M.options(options, argument, name, more)
  local known = { cooldown = "number" }
  for option, kind in pairs(retry.OPTIONS) do known[option] = kind end
  for option, kind in pairs(more or {}) do known[option] = kind end
  options = check.options(options, known, argument, name)
  check.seconds(options.cooldown, argument, name, true)
  retry.check(options, argument, name)
  return options
end

local started = 0

local function start(election, fn, options, resigned)
  local host, lead = core.host(election), nil
  started = started + 1
  lead = retry.set({
    election = election, host = host, fn = fn, resigned = resigned, cooldown = options.cooldown or 0,
    record = wait.record(function() lead.task:cancel() end),
  }, options)
  lead.task = tasks.spawn(host, { quiet = true, on_end = function() wake_if_over(lead) end }, campaign, lead)
  active[election] = active[election] or {}
  active[election][lead] = started
  return lead
end

-- Leads until it is stopped; name: of the method.
function M.run(election, name, fn, options, resigned)
  wait.check()
  local lead = start(election, fn, options, resigned)
  wait.pause(lead.host, lead.record)
  local task = lead.task
  if task.ok then return coroutines.unpack(task.results) end
  if task.results[1] ~= wait.canceled then error(task.results[1], 0) end
  return nil, ("election:%s %s: it was stopped"):format(name, election.path), "canceled"
end

-- resigned(term): true if the user has resigned.
function M.methods(resigned)
  local methods = {}

  -- election:lead(fn [, options]): runs until it is stopped or the session is closed.
  function methods:lead(fn, options)
    check.fn(fn, 1, "lead")
    return M.run(self, "lead", fn, M.options(options, 2, "lead"), resigned)
  end

  -- election:stop(): stops the functions; lead and every return when their functions have ended.
  function methods:stop()
    local all = wait.in_order(active[self] or {})
    for i = 1, #all do all[i].task:cancel() end
    return #all
  end

  return methods
end

core.own(debug.getinfo(1, "S").source)
return M
