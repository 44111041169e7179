-- The part of a session that is written in Lua: opening with `log`, the iterator over its states, and the functions for foreign
-- event loops.

local check = require "zkrecipes.check"
local classes = require "zkrecipes.classes"
local core = require "zkrecipes.core"
local hosts = require "zkrecipes.host.host"

local M = {}

local class = core.classes.session
local Session = {}

-- ---- Opening -----------------------------------------------------------------------------------

-- Spaces around hosts do no harm: lists come from files and environments.
local function trimmed(text)
  if type(text) ~= "string" then return text end
  return (text:gsub("%s*,%s*", ","):match("^%s*(.-)%s*$"))
end

-- Hosts as one string, however they were given.
function M.joined(list)
  if type(list) ~= "table" then return trimmed(list) end
  check.list(list, 1, "session", "list of hosts", "hosts")
  for i = 1, #list do
    if type(list[i]) ~= "string" then
      check.bad(1, "session", ("option 'hosts', entry %d: string expected, got %s"):format(i, type(list[i])))
    end
  end
  return trimmed(table.concat(list, ","))
end

local function check_options(options)
  if options == nil then return {} end
  check.plain(options, 1, "session", "table of options")
  if options.read_only then
    check.bad(1, "session", "option 'read_only': not supported, because in a read-only session the " ..
      "ZooKeeper client may report success for a write that was not done")
  end
  if options.log ~= nil then
    if type(options.log) ~= "function" then
      check.bad(1, "session", "option 'log': function expected, got " .. type(options.log))
    end
  end
  return options
end

-- The password may be a function, so that no option needs to hold it; it is called once, and may wait. name: "tls" or "sasl".
local function read_password(options, name, only_check)
  if type(options) ~= "table" or type(rawget(options, "password")) ~= "function" then return options end
  check.plain(options, 1, "session", "table of options")
  local given = {}
  for key, value in next, options do given[key] = value end
  given.password = only_check and "" or given.password()
  if type(given.password) ~= "string" then
    check.bad(1, "session", ("option '%s', option 'password': the function returned no string but a %s"):format(name, type(given.password)))
  end
  return given
end

-- Returns the options as the core takes them, and `log`. only_check: calls no function.
local function read(options, only_check)
  local given = {}
  for key, value in next, check_options(options) do given[key] = value end
  local log = given.log
  given.log, given.read_only = log ~= nil, nil
  given.hosts = M.joined(given.hosts)
  given.tls, given.sasl = read_password(given.tls, "tls", only_check), read_password(given.sasl, "sasl", only_check)
  return given, log
end

M.read = read

-- check(options): raises what zk.session(options) would raise, and opens none.
function M.check(options) core.check_session((read(options, true))) end

-- Opens a session with what `read` has returned.
function M.start(host, given, log)
  hosts.ready(host)
  local session, message, code = host.engine:session(given)
  if not session then return nil, message, code end
  host.opened_count = host.opened_count + 1
  host.opened[host.opened_count] = session
  if log then core.keep(session, "log", log) end
  if host.adapter.keep then host.adapter.keep(host.client) end
  return session
end

-- zk.session(options): the session opens in the background.
function M.open(host, options) return M.start(host, read(options)) end

-- ---- Closing -----------------------------------------------------------------------------------

-- A session that closes stops being the host's shared session.
local function unshare(session)
  local host = core.host(session)
  local shared = host.shared
  if shared and shared.session == session then host.shared, host.named = nil, shared.named end
end

function Session:close(timeout)
  check.seconds(timeout, 1, "close", true)
  unshare(self)
  return class.core.close(self, timeout)
end

-- The end of a `local session <close>`: a coroutine cannot wait there, so the session closes in the background.
function class.meta.__close(session)
  unshare(session)
  local slot, host = class.start.close(session, nil)
  if slot then host.engine:drop(slot) end
end

-- ---- States ------------------------------------------------------------------------------------

-- for state in session:states() do ... end: the states since the beginning (at most the last 16), then
-- every new one; ends when the session is closed.
function Session:states()
  local seen = 0
  return function()
    local state, count = self:next_state(seen)
    if not state then return nil end
    seen = count
    return state
  end
end

-- ---- Foreign loops -----------------------------------------------------------------------------

function Session:loop() return hosts.loop(core.host(self)) end
function Session:fd() return core.host(self).engine:fd() end
function Session:pollfd() return core.host(self).engine:fd() end
function Session.events() return "r" end
function Session:dispatch() return hosts.dispatch(core.host(self)) end

classes.extend(class, Session)

core.own(debug.getinfo(1, "S").source)
return M
