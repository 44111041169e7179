-- A time limit over several requests, for methods that send more than one.
--
--   local limit = limits.new(session, timeout)   begins now; nil: no limit; 0: to try
--   limit.session                 the session's requests, each with the time that is left as its limit
--   limit:write(hold, name, ...)  a guarded write of a hold, with the time that is left as its limit
--   limit:call(what, fn)          fn(the time that is left), which calls a method of the core
--   limit.left()                  the seconds that are left, 0 at least; nil: no limit
--   return limit:told(...)        the results of the method, with the right code
--   limits.for_method(session, timeout)   as `new`; without a timeout as `request`
--   limits.request(session)       begins now, and lasts as long as one request may take: for a method without a time limit that checks
--                                 whether a request was done whose answer was lost. Its requests fail with `connection_loss`
--
-- A timeout of 0 (a try) does not wait for a connection, and waits for answers no longer than a try of the core does.
--
-- What can go wrong: the limit passes between two requests, or while one is in flight. Then that request and each later one fail with
-- a special code, so that code which repeats requests after `connection_loss` does not repeat them. `told` replaces this code by
-- `timeout` or `connection_loss`.

local classes = require "zkrecipes.classes"
local core = require "zkrecipes.core"

local M = {}

local LATE = "late"
local TRY = 1 -- seconds

-- Requests > which of their arguments are the options.
local REQUESTS = { create = 3, get = 2, set = 4, exists = 2, delete = 3, children = 2, get_acl = 2, set_acl = 4, sync = 2,
  add_auth = 3, multi = 2, multi_in = 3, transact = 2 }

-- Requests that users do not have.
local INNER = { multi_in = classes.waiting(core.classes.session.inner.multi_in),
  transact = classes.waiting(core.classes.session.inner.transact) }

-- ---- Words -------------------------------------------------------------------------------------

local function why(session, text)
  local trouble = session.trouble
  return trouble and ("%s (not connected: %s)"):format(text, trouble) or text
end

-- passed(session, what, asking): the results of a method whose limit has passed. asking: what it waits for depends on an answer that
-- is not here yet.
function M.passed(session, what, asking)
  local connected = session.state == "connected"
  if connected and not asking then return nil, what .. ": the time limit passed", "timeout" end
  local text = connected and "no server answered within the time limit" or "there was no connection within the time limit"
  return nil, what .. ": " .. why(session, text), "connection_loss"
end

-- away(session): whether a try ends at once. (A closed session says that itself.)
function M.away(session) return session.state ~= "connected" and session.state ~= "closed" end

-- unconnected(session, what): the results of a try without a connection.
function M.unconnected(session, what)
  return nil, what .. ": " .. why(session, "not connected, and a time limit of 0 does not wait for a connection"),
    "connection_loss"
end

-- try_seconds(session): how long to try waits for an answer.
function M.try_seconds(session) return session.request_timeout or math.min(TRY, session.timeout) end

-- ---- Limits ------------------------------------------------------------------------------------

local Limit = {}
Limit.__index = Limit

-- True if nothing may be sent any more.
local function refuses(limit)
  local session = limit.real
  return limit.try and M.away(session) or limit.now() >= limit.deadline and session.state ~= "closed"
end

-- The message of a request that is refused; sets limit.code.
local function refusal(limit, what)
  local session, message = limit.real
  if limit.try and M.away(session) then
    message, limit.code = select(2, M.unconnected(session, what))
  else
    message, limit.code = select(2, M.passed(session, what, limit.late ~= LATE))
  end
  return message
end

local function with_timeout(options, seconds)
  local all = { timeout = seconds }
  for key, value in pairs(options or {}) do all[key] = value end
  return all
end

-- "session:get /path"; of a multi: the path of its first part.
local function described(kind, name, first)
  if type(first) == "table" then first = first[1] and first[1][2] end
  return kind .. ":" .. name .. (type(first) == "string" and " " .. first or "")
end

local function request(limit, kind, object, name, ...)
  local at, list = REQUESTS[name], { ... }
  if refuses(limit) then return nil, refusal(limit, described(kind, name, list[1])), limit.late end
  list[at] = with_timeout(list[at], limit:rest())
  local send = object[name] or INNER[name]
  local one, two, code = send(object, list[1], list[2], list[3], list[4])
  if one == nil and code == "connection_loss" and (limit.try or limit.now() >= limit.deadline) then
    limit.code = code
    return nil, two, limit.late
  end
  return one, two, code
end

-- Of a hold: a guarded write.
function Limit:write(hold, name, ...)
  if not self.deadline then return hold[name](hold, ...) end
  return request(self, "hold", hold, name, ...)
end

-- call(what, fn): a method of the core, called by fn(the time that is left, or nil).
function Limit:call(what, fn)
  if not self.deadline then return fn() end
  if refuses(self) then return nil, refusal(self, what), self.late end
  local one, two, code = fn(self.try and 0 or self:rest())
  if one == nil and (code == "timeout" or code == "connection_loss") and (self.try or self.now() >= self.deadline) then
    self.code = code
    return nil, two, self.late
  end
  return one, two, code
end

-- A limit for one look, as an argument: of a method that takes one.
function Limit:rest()
  if not self.deadline then return nil end
  return math.max(self.deadline - self.now(), 1e-6)
end

function Limit:told(...)
  local ok, message, code = ...
  if ok == nil and code == LATE then return nil, message, self.code, select(4, ...) end
  return ...
end

-- True when it has passed, or a request has failed because of it.
function Limit:over(code) return code == LATE or self.left() == 0 end

-- ---- The session under a limit -----------------------------------------------------------------

local View = {}

for name in pairs(REQUESTS) do
  View[name] = function(view, ...) return request(view.limit, "session", view.limit.real, name, ...) end
end

function View.watch(view, path) return view.limit.real:watch(path) end
function View.await_gone(view, path, timeout) return view.limit.real:await_gone(path, timeout) end
function View.connected(view, timeout) return view.limit.real:connected(timeout) end

local meta = {}
function meta.__index(view, key) return View[key] or view.limit.real[key] end

-- real(session): what stands behind it, if it is one under a limit.
function M.real(session)
  return debug.getmetatable(session) == meta and session.limit.real or session
end

-- multi_in(session, parts, id): a multi that is sent only in the session with this id; otherwise nil, message, "lost". A plain request that
-- waits for its turn may be sent in the next session.
function M.multi_in(session, parts, id)
  return (M.real(session) == session and INNER or View).multi_in(session, parts, id)
end

-- transact(session, parts): a multi; false if its answer was lost: then what a read shows is the outcome.
function M.transact(session, parts)
  return (M.real(session) == session and INNER or View).transact(session, parts)
end

-- unknown(session): what was sent before may have been done: `told` will not say `timeout`, which means that nothing was.
function M.unknown(session)
  if M.real(session) ~= session then session.limit.code = "connection_loss" end
end

function M.new(session, timeout)
  local now = core.host(session).adapter.now
  local limit = setmetatable({ real = session, session = session, now = now, try = timeout == 0, late = LATE }, Limit)
  if timeout then
    limit.deadline = now() + (limit.try and M.try_seconds(session) or timeout)
    limit.session = setmetatable({ limit = limit }, meta)
  end
  local deadline = limit.deadline
  function limit.left()
    if limit.try then return 0 end
    return deadline and math.max(deadline - now(), 0)
  end
  return limit
end

function M.request(session)
  local limit = M.new(session, session.request_timeout or session.timeout)
  limit.late = "connection_loss"
  return limit
end

function M.for_method(session, timeout)
  if timeout then return M.new(session, timeout) end
  return M.request(session)
end

core.own(debug.getinfo(1, "S").source)
return M
