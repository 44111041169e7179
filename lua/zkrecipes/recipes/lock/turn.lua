-- A turn: what lock:acquire of a cohort gives to a member. It shares the znode with the cohort's other turns, but each turn ends alone.
--
-- Its state refers to the cohort (cohort.lua), to the lock's own hold (`main`), and says whether the turn is over, and why.

local activity = require "zkrecipes.status.activity"
local check = require "zkrecipes.check"
local collected = require "zkrecipes.collected"
local core = require "zkrecipes.core"
local tasks = require "zkrecipes.host.tasks"
local wait = require "zkrecipes.host.wait"
local waiters = require "zkrecipes.host.waiters"

local M = {}

local Turn = {}
Turn.__index = Turn
Turn.__name = "zkrecipes.hold"

-- If the lock was lost, the lock's own hold reports that.
for _, name in ipairs { "create", "set", "delete", "multi" } do
  Turn[name] = function(turn, ...)
    if turn.state.over == "released" then
      core.misuse(("bad call of '%s' (the hold was released; acquire again before writing under it)"):format(name))
    end
    local main = turn.state.main
    return main[name](main, ...)
  end
end

function Turn:valid() return not self.state.over and self.state.main:valid() end

function Turn:left() return self.state.over and 0 or self.state.main:left() end

-- Ends the turn with this state.
local function finish(state, why)
  if state.over then return end
  state.over = why
  local cohort = state.cohort
  if state.waiters then state.waiters:wake() end
  cohort.current = nil
  if why == "released" then cohort:pass() else cohort:forget() end
end

M.finish = finish

function Turn:release()
  finish(self.state, "released")
  return true
end

local function is_over(self)
  local state = self.state
  if state.over then return state.over ~= "released" end
  return activity.is_over(state.main)
end

activity.follow { methods = Turn, meta = Turn, inner = { over = is_over, host = function(turn) return turn.state.cohort.host end } }

-- turn: is kept meanwhile; nil: it can be collected while the coroutine waits for its end.
local function await_end(state, timeout, turn)
  if not state.over and timeout == 0 then
    local why = state.main:lost(0)
    if why then finish(state, why) end
  elseif not state.over then
    state.waiters = state.waiters or waiters.new(state.cohort.host)
    local record = state.waiters:enter()
    record.kept = turn
    state.cohort:watch()
    if not wait.pause(state.cohort.host, record, timeout) then record:give_up() end
  end
  if state.over then return state.over end
  return nil, "hold:lost " .. state.main.path .. ": the time limit passed", "timeout"
end

function Turn:lost(timeout)
  check.seconds(timeout, 1, "lost", true)
  return await_end(self.state, timeout, self)
end

function Turn:on_lost(fn)
  check.fn(fn, 1, "on_lost")
  local state, turn_of = self.state, setmetatable({ self }, { __mode = "v" })
  tasks.behind(state.cohort.host, {}, function()
    local why = await_end(state)
    if why ~= "released" and turn_of[1] then fn(turn_of[1], why) end
  end)
  return true
end

local function dropped(state) tasks.later(state.cohort.host, finish, state, "released") end

-- A new turn of the cohort, with its state.
function M.new(cohort)
  local main = cohort.main
  local state = { cohort = cohort, main = main, over = false }
  return setmetatable({ state = state, token = main.token, path = main.path, since = cohort.host.adapter.now(),
    guard = collected.guard(dropped, state) }, Turn), state
end

check.selves("turn", Turn, Turn)

core.own(debug.getinfo(1, "S").source)
return M
