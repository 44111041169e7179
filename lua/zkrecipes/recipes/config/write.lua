-- The writes of a configuration.
--
-- set: encode; one durable write (src/recipes/counter/value.c).
--
-- update:
-- 1. Take what the copy has, or what this object has written since.
-- 2. Call fn with the value, and encode what it returns.
-- 3. Write that, if the znode is still as in 1: one durable write.
--
-- What can go wrong: another client has written: read the znode, and go to 2. The znode does not exist: create it without data, which is no
-- value yet, and continue. fn returns nil, so nothing is written, or the data do not decode: the value may be outdated, so read the znode
-- after a sync, and go to 2. An answer is lost: the durable write finds out whether it was done. A failure that no repetition can end (no
-- right, too large, data that do not decode) is returned at once.

local core = require "zkrecipes.core"
local classes = require "zkrecipes.classes"
local requests = require "zkrecipes.lost_answers"

local M = {}

local put = classes.waiting(core.classes.value.inner.put)

local WORN = "its znode was written 2^32 times and has version -1, with which ZooKeeper cannot compare; "
  .. "call set once without a version"
local CLOSED = "the configuration is closed"
local OTHER = "the znode has changed, or was deleted, since it was as expected; get it again"

local function about(config, text) return ("config %s: %s"):format(config.path, text) end

-- The data; or nil, message, code.
local function encoded(config, value)
  local data, problem = config.codec.encode(value)
  if problem then return nil, about(config, problem), "error" end
  return data
end

-- Writes once: true; false if it is not as expected; or nil, message, code. Notes what was written, for the next update.
local function write(config, data, version, czxid, timeout)
  if version == -1 then return nil, about(config, WORN), "bad_version" end
  if config.closed then return nil, about(config, CLOSED), "closed" end -- perhaps while fn or the codec waited
  config.last = nil
  local done, stat, code = put(config.writer, data, version, czxid, timeout)
  if done and stat then config.last = { data = data, stat = stat } end
  if done == nil then return nil, stat, code end
  return done
end

-- ---- set ---------------------------------------------------------------------------------------

function M.set(config, value, expected, timeout)
  local data, problem, why = encoded(config, value)
  if not data then return nil, problem, why end
  local is_stat = type(expected) == "table"
  local done, message, code = write(config, data, is_stat and expected.version or not is_stat and expected or nil,
    is_stat and expected.czxid or nil, timeout)
  if done then return true end
  if done == false then return nil, about(config, OTHER), "bad_version" end
  return nil, message, code
end

-- ---- update ------------------------------------------------------------------------------------

-- What the znode was found to be: { data =, stat = }; no stat: it does not exist.

-- What is known without a request; or nil.
local function known(config)
  local data, stat, refused = config.tree:get()
  local last = config.last
  if last and (not stat or last.stat.mzxid > stat.mzxid) then return last end
  if refused or config.tree:age() == math.huge then return nil end
  return { data = data, stat = stat }
end

-- After an answer to a sync or a write, the session never reads an older state.
local function look(config, session, behind)
  if behind then
    local ok, message, code = requests.sure(session.sync, session, config.path)
    if not ok then return nil, message, code end
  end
  local data, stat, code = requests.sure(session.get, session, config.path)
  if code == "no_node" then return {} end
  if code then return nil, stat, code end
  return { data = data, stat = stat }
end

-- A value that fn may change; or nil, message, code.
local function value_in(config, data)
  if data == nil and type(config.default) ~= "table" then return config.default end
  local problem, code
  if data == nil then
    data, problem, code = encoded(config, config.default)
    if not data then return nil, problem, code end
  end
  local value, why = config.codec.decode(data)
  if why then return nil, about(config, why), "conflict" end
  return value
end

-- Creates the znode without data. Returns its stat; false if another client has created it; or nil, message, code.
local function make(config, session)
  local path, stat, code = requests.sure(session.create, session, config.path, nil, { parents = true })
  if path then return stat end
  if code == "node_exists" then return false end
  return nil, stat, code
end

-- As `write`.
local function replace(config, limit, found, data)
  local stat = found.stat
  if not stat then
    local message, code
    stat, message, code = make(config, limit.session)
    if not stat then return stat, message, code end
  end
  return write(config, data, stat.version, stat.czxid, limit:rest())
end

-- Calls fn once: its result and the data for it; nil: it wants no change; or nil, nil, message, code.
local function ask(config, fn, found)
  local value, message, code = value_in(config, found.data)
  if message then return nil, nil, message, code end
  local wanted = fn(value, found.stat)
  if wanted == nil then return nil end
  local data, problem, why = encoded(config, wanted)
  if not data then return nil, nil, problem, why end
  return wanted, data
end

-- True and the value; false if fn wants no change; or nil, message, code.
function M.update(config, fn, limit)
  local session, fresh, message, code = limit.session, false, nil, nil
  local found = known(config)
  if not found then found, message, code = look(config, session, false) end
  while found do
    local wanted, data, done
    wanted, data, message, code = ask(config, fn, found)
    if message and (fresh or code ~= "conflict") then return nil, message, code end
    if wanted == nil and fresh then return false end
    if wanted ~= nil then
      done, message, code = replace(config, limit, found, data)
      if done then return true, wanted end
      if done == nil then return nil, message, code end
    end
    found, message, code = look(config, session, wanted == nil)
    fresh = true -- the next read shows a state of a time during the call
  end
  return nil, message, code
end

core.own(debug.getinfo(1, "S").source)
return M
