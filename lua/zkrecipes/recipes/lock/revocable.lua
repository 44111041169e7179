-- Revocable locks: lock:request() writes a word into the holder's znode (src/recipes/lock_request.c); the holder watches its znode,
-- restores its data and calls on_request(hold).

local core = require "zkrecipes.core"
local coroutines = require "zkrecipes.host.coroutines"
local dispatch = require "zkrecipes.host.dispatch"
local requests = require "zkrecipes.lost_answers"
local tasks = require "zkrecipes.host.tasks"
local wait = require "zkrecipes.host.wait"

local M = {}

local session_class = core.classes.session

local REQUEST = "__REVOKE__"

local WEAK = { __mode = "kv" }

-- Restores the znode's data from before the request. Repeats the write while the answer is lost and the hold is valid.
local function restore(hold, path, data) requests.sure_while(hold, hold.set, hold, path, data) end

-- Reports an error of on_request. The next request is handled all the same.
local function call(host, on_request, hold)
  local ok, problem = coroutines.protected(on_request, hold)
  if ok then return end
  if problem == wait.canceled then error(problem, 0) end
  tasks.behind(host, {}, error, problem, 0)
end

local function is_over(hold_of) return not hold_of[1] or hold_of[1]:lost(0) and true end

-- Looks for a request. Returns true while the hold is not over. Refers to the hold only during the call.
local function look(session, path, hold_of, way)
  local found = requests.sure(session.get, session, path)
  if is_over(hold_of) then return false end
  local hold = hold_of[1]
  if found == REQUEST and hold:valid() then
    restore(hold, path, way.data)
    call(core.host(session), way.on_request, hold)
  end
  return true
end

local AGAIN = 1 -- seconds until it tries again to get a watch

-- Returns a watch on the hold's znode; nil: the hold is over, or the session is closed. While the session has no room for a watch, it
-- does not see requests: the log says so once.
local function watch_hold(session, path, hold_of)
  local host, told = core.host(session), false
  repeat
    local watch, message, code = session_class.inner.watch_znode(session, path)
    if watch or not requests.PASSES[code] then return watch end
    if not told then
      local text = "%s: cannot watch for requests to release the lock: %s; it keeps trying"
      dispatch.tell(host, "warning", text:format(path, message), session)
    end
    told = true
    wait.pause(host, wait.record(), AGAIN)
  until is_over(hold_of)
end

-- Handles requests until the hold is over. Does not refer to the hold while it waits, so that the hold can be collected.
local function attend(session, path, hold_of, way)
  local watch = watch_hold(session, path, hold_of)
  if not watch then return end
  wait.within(core.host(session), watch.close, watch, function()
    while look(session, path, hold_of, way) and watch:wait() do end
  end)
  watch:close()
end

-- Handles the requests for this hold in the background, until it is over.
function M.attend(lock, hold, way)
  tasks.behind(core.host(lock), {}, attend, lock.session, hold.path, setmetatable({ hold }, WEAK), way)
end

core.own(debug.getinfo(1, "S").source)
return M
