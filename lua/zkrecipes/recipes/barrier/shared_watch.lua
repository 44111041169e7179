-- A shared watch: the coroutines of a session that wait until a znode is there, or is gone, share one watch. Its event wakes all of
-- them; none of them reads the znode again.
--
-- What can go wrong: the connection or the session is lost (the watch goes on with the next one, and what was missed is looked up);
-- all waiters give up (the watch is closed); a coroutine comes while an answer is under way that is older than its call (it waits for
-- the next answer).

local check = require "zkrecipes.check"
local core = require "zkrecipes.core"
local waiters = require "zkrecipes.host.waiters"
local limits = require "zkrecipes.limit"
local activity = require "zkrecipes.status.activity"
local requests = require "zkrecipes.lost_answers"
local tasks = require "zkrecipes.host.tasks"
local wait = require "zkrecipes.host.wait"

local M = {}

local all_shared = setmetatable({}, { __mode = "k" }) -- session > key > shared watch, while a coroutine waits for it

-- Wakes the coroutines that came before the request which found the wanted state; true if no others wait.
local function admit(shared, came)
  shared.waiters:wake(came)
  return shared.waiters:empty()
end

-- Checks until the znode is in the wanted state, or no coroutine waits any more; or nil, message, code.
local function look(shared)
  if shared.first then
    local fit, message, code = shared.first(shared.session)
    if not fit then return nil, message, code end
  end
  while not shared.over do
    local came = shared.waiters.came
    shared.asking = true
    local stat, message, code = requests.sure_while(shared, shared.session.exists, shared.session, shared.path)
    shared.asking = stat == nil
    if stat == nil then return nil, message, code end
    local found = (stat ~= false) == shared.wanted
    if found and admit(shared, came) then return true end
    if not found and not shared.over then
      local event
      event, message, code = shared.watch:wait()
      if not event then return nil, message, code end
    end
  end
end

local function awaited(shared) return not shared.over end

local function forget(shared)
  shared.over = true
  if shared.all[shared.key] == shared then shared.all[shared.key] = nil end
  shared.watch:close()
end

-- Called when the task that checks ends, also if it was canceled.
local function tell(shared, task)
  if not task.ok then
    shared.message, shared.code = "the check of the znode was canceled", "canceled"
  elseif not task.results[1] then
    shared.message, shared.code = task.results[2], task.results[3]
  end
  forget(shared)
  shared.waiters:wake()
end

-- The shared watch, or nil, message, code.
local function shared_of(session, path, wanted, kind, first)
  local all = all_shared[session] or {}
  all_shared[session] = all
  local key = (wanted and "+" or "-") .. kind .. path
  if all[key] then return all[key] end
  local watch, message, code = session:watch(path)
  if not watch then return nil, message, code end
  local shared = { host = core.host(session), session = session, path = path, wanted = wanted, watch = watch, all = all, key = key,
    first = first, asking = true, valid = awaited }
  shared.waiters = waiters.new(shared.host, function() if not shared.over then forget(shared) end end)
  all[key] = shared
  tasks.behind(shared.host, { on_end = function(task) tell(shared, task) end }, look, shared)
  return shared
end

-- As await, with a time limit of 0.
local function look_once(session, path, wanted, what, first)
  local limit = limits.new(session, 0)
  local fit, message, code = true, nil, nil
  if first then fit, message, code = first(limit.session) end
  if not fit then return limit:told(nil, message, code) end
  local stat
  stat, message, code = limit.session:exists(path)
  if stat == nil then return limit:told(nil, message, code) end
  if (stat ~= false) == wanted then return true end
  return nil, what .. ": it is not open", "timeout"
end

-- await(object, path, wanted, timeout, what [, kind, first]): waits until the znode exists (wanted) or is gone; true, or nil, message,
-- code. `object` belongs to a session. first(session) is called before anything else and sends its requests through this session; it
-- must give true, or nil, message, code. `kind` separates it from other objects with this path.
function M.await(object, path, wanted, timeout, what, kind, first)
  check.seconds(timeout, 1, "wait", true)
  wait.check()
  local session = object.session
  if timeout == 0 then
    return look_once(session, path, wanted, what .. " " .. path, first)
  end
  local shared, message, code = shared_of(session, path, wanted, kind or "", first)
  if not shared then return nil, message, code end
  local record = shared.waiters:enter()
  activity.begin(shared.host, record, object)
  local done = wait.pause(shared.host, record, timeout)
  activity.forget(shared.host, record)
  if not done then
    record:give_up()
    return limits.passed(session, what .. " " .. path, shared.asking)
  end
  if shared.code then return nil, shared.message, shared.code end
  return true
end

core.own(debug.getinfo(1, "S").source)
return M
