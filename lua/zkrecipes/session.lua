-- The part of a session that is written in Lua: opening with `log`, the iterator over its states, delete_tree, and the functions for
-- foreign event loops.

local check = require "zkrecipes.check"
local classes = require "zkrecipes.classes"
local core = require "zkrecipes.core"
local failure = require "zkrecipes.failure"
local hosts = require "zkrecipes.host.host"
local limits = require "zkrecipes.limit"
local wait = require "zkrecipes.host.wait"
local znode_path = require "zkrecipes.path"

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

-- zk.session(options): returns at once; the session opens in the background.
function M.open(host, options)
  local given = {}
  for key, value in next, check_options(options) do given[key] = value end
  local log = given.log
  given.log, given.read_only = log ~= nil, nil
  given.hosts = M.joined(given.hosts)
  hosts.ready(host)
  local session, message, code = host.engine:session(given)
  if not session then return nil, message, code end
  host.opened_count = host.opened_count + 1
  host.opened[host.opened_count] = session
  if log then core.keep(session, "log", log) end
  if host.adapter.keep then host.adapter.keep(host.client) end
  return session
end

-- ---- Closing -----------------------------------------------------------------------------------

-- A session that closes stops being the host's shared session.
local function unshare(session)
  local host = core.host(session)
  if host.shared and host.shared.session == session then host.shared = nil end
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

-- ---- delete_tree -------------------------------------------------------------------------------

local BATCH_PARTS, BATCH_BYTES = 200, 200000
local ROUNDS = 10

-- All paths of the tree, each before what is below it; or nil, message, code.
local function list_tree(session, root)
  local paths = { root }
  local at = 1
  while at <= #paths do
    local names, message, code = session:children(paths[at])
    if names then
      for i = 1, #names do paths[#paths + 1] = znode_path.child(paths[at], names[i]) end
    elseif code ~= "no_node" or at == 1 then
      return nil, message, code
    end
    at = at + 1
  end
  return paths
end

-- Deletes one by one: another client may have deleted some, or created others below.
local function delete_each(session, parts)
  for i = 1, #parts do
    local ok, message, code = session:delete(parts[i][2])
    if not ok and code ~= "no_node" then return nil, message, code end
  end
  return true
end

local function delete_batch(session, parts)
  local ok, message, code = session:multi(parts)
  if ok then return true end
  if code == "no_node" or code == "not_empty" or code == "too_large" or code == "connection_loss" then
    return delete_each(session, parts)
  end
  return nil, message, code
end

-- Leaves first, many in one request.
local function delete_paths(session, paths)
  local parts, bytes = {}, 0
  for i = #paths, 1, -1 do
    parts[#parts + 1] = { "delete", paths[i] }
    bytes = bytes + #paths[i] + 50
    if #parts == BATCH_PARTS or bytes > BATCH_BYTES or i == 1 then
      local ok, message, code = delete_batch(session, parts)
      if not ok then return nil, message, code end
      parts, bytes = {}, 0
    end
  end
  return true
end

-- True if another client created znodes below while we deleted, or the connection was lost: deleting twice is harmless.
local function worth_another_round(code) return code == "not_empty" or code == "connection_loss" end

local function delete_tree(session, path, host)
  for round = 1, ROUNDS do
    local done, message, code
    local paths, list_message, list_code = list_tree(session, path)
    if paths then
      done, message, code = delete_paths(session, paths)
    elseif list_code == "no_node" and round > 1 then
      done = true
    else
      return nil, list_message, list_code
    end
    if done then return true end
    if round == ROUNDS or not worth_another_round(code) then return nil, message, code end
    wait.yield(host)
  end
end

-- session:delete_tree(path [, options]): the znode and all below it.
function Session:delete_tree(path, options)
  check.path(path, 1, "delete_tree")
  local timeout = check.options(options, { timeout = "number" }, 2, "delete_tree").timeout
  check.seconds(timeout, 2, "delete_tree", true)
  if path == "/" then check.bad(1, "delete_tree", "the root cannot be deleted") end
  local limit = limits.new(self, timeout)
  return failure.told("session:delete_tree", path, limit:told(delete_tree(limit.session, path, core.host(self))))
end

classes.extend(class, Session)

core.own(debug.getinfo(1, "S").source)
return M
