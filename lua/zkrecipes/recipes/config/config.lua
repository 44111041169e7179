-- Configuration: a value in a znode, which a program reads without a request and changes exactly once. Composes the watched copy
-- (src/recipes/tree) and durable writes (src/recipes/counter/value.c); write.lua has the latter.
--
-- 1. `session:config` makes a copy of the znode. When it changes, the server tells, and the copy is read again.
-- 2. `get` decodes what the copy has if it has changed since the last time, and returns that value until it changes again.
-- 3. `set` and `update` write the znode. The copy learns of that as of any other change.
--
-- What can go wrong: the data do not decode, or may not be read: the last good value stays, the log and `problem` tell. The znode does not
-- exist, or its data are null: the value is the default. The codec raises an error: it is caught, and counts as not decoded. A codec waits,
-- and the copy changes meanwhile: what it gives then is too old; decode again.

local check = require "zkrecipes.check"
local classes = require "zkrecipes.classes"
local codecs = require "zkrecipes.recipes.config.codec"
local core = require "zkrecipes.core"
local dispatch = require "zkrecipes.host.dispatch"
local failure = require "zkrecipes.failure"
local limits = require "zkrecipes.limit"
local write = require "zkrecipes.recipes.config.write"

local tree_class = core.classes.tree
local count = tree_class.inner.count
local changed = classes.waiting(tree_class.inner.changed)

local Config = {}
Config.__index = Config
Config.__name = "zkrecipes.config"

local Changes = {}
Changes.__index = Changes
Changes.__name = "zkrecipes.config_changes"

-- ---- What is shown -----------------------------------------------------------------------------

-- What the copy has cannot be shown; text: nil if it can.
local function trouble(config, text, code)
  local known = config.trouble
  config.trouble = text and { text = text, code = code }
  if text and not (known and known.text == text) then dispatch.tell(core.host(config.session), "warning", text, config.session) end
end

local function is_same(state, stat)
  local known = state.stat
  if not known or not stat then return known == stat end
  return known.czxid == stat.czxid and known.mzxid == stat.mzxid and known.mtime == stat.mtime
end

-- The value in these data; or nil, why, code.
local function value_of(config, data, stat, refused)
  if refused then return nil, "it may not be read; the last good value stays", refused end
  if data == nil then return config.default end
  local value, problem = config.codec.decode(data)
  if problem then return nil, ("the data of version %d are not shown: %s"):format(stat.version, problem), "conflict" end
  return value
end

local shown -- it calls itself

-- What get shows: { value =, stat = }. It is another table for each other state.
function shown(config)
  local seen = count(config.tree)
  if seen == config.seen then return config.state end
  local data, stat, refused = config.tree:get()
  local value, why, code = value_of(config, data, stat, refused)
  if count(config.tree) ~= seen then return shown(config) end -- the codec has waited
  config.seen = seen
  trouble(config, why and ("config %s: %s"):format(config.path, why), code)
  if not why and not is_same(config.state, stat) then config.state = { value = value, stat = stat } end
  return config.state
end

-- config:get(): the value, and its stat.
function Config:get()
  local state = shown(self)
  return state.value, state.stat
end

-- config:age(): how old that may be.
function Config:age() return self.tree:age() end

-- config:source(): "server", or "file" until a server has answered; nil: nothing was loaded yet.
function Config:source() return self.tree.source end

-- config:problem(): why the value is not the newest one, and a code; or nil.
function Config:problem()
  shown(self)
  if self.trouble then return self.trouble.text, self.trouble.code end
  local code = self.tree.problem
  if code then return ("config %s: the znode cannot be followed: %s"):format(self.path, code), code end
  return nil
end

-- ---- Waiting and following ---------------------------------------------------------------------

-- Calls fn(state) when the copy is loaded and after each change, until it returns true.
local function follow(config, timeout, fn)
  local tree, limit = config.tree, limits.new(config.session, timeout)
  local ok, message, code = tree_class.core.ready(tree, limit.left())
  while ok do
    local seen = count(tree)
    if fn(shown(config)) then return true end
    ok, message, code = changed(tree, seen, limit.left())
  end
  return nil, message, code
end

-- config:ready([timeout]): waits until the copy was loaded once.
function Config:ready(timeout)
  check.seconds(timeout, 1, "ready", true)
  return tree_class.core.ready(self.tree, timeout)
end

-- config:await(fn [, timeout]): the first true value that fn(value, stat) returns.
function Config:await(fn, timeout)
  check.fn(fn, 1, "await")
  check.seconds(timeout, 2, "await", true)
  local found
  local ok, message, code = follow(self, timeout, function(state)
    found = fn(state.value, state.stat)
    return found
  end)
  if ok then return found end
  return nil, message, code
end

-- config:changes(): an iterator over the values. It holds nothing on the server, so it need not be closed.
function Config:changes() return setmetatable({ config = self, path = self.path }, Changes) end

-- changes:next([timeout]): the next value, `false` for nil, and its stat.
function Changes:next(timeout)
  check.seconds(timeout, 1, "next", true)
  local ok, message, code = follow(self.config, timeout, function(state)
    local new = self.told ~= state
    if new then self.told = state end
    return new
  end)
  if not ok then return nil, message, code end
  local value = self.told.value
  if value == nil then value = false end
  return value, self.told.stat
end

-- ---- Writing -----------------------------------------------------------------------------------

local function timeout_of(options, method, argument)
  local timeout = check.options(options, { timeout = "number" }, argument, method).timeout
  check.seconds(timeout, argument, method, true)
  return timeout
end

local ANY_VERSION = "version -1 cannot be compared: to ZooKeeper it means any version"

local function is_version(value) return type(value) == "number" and value % 1 == 0 and value >= -2 ^ 31 and value < 2 ^ 31 end

-- Raises unless it is a stat, a version, or nil.
local function check_expected(expected, argument, method)
  local kind = type(expected)
  if kind == "table" then
    check.plain(expected, argument, method, "stat")
    if not is_version(expected.version) or not tostring(expected.czxid):find "^%x+$" then
      check.bad(argument, method, "no stat of a znode")
    end
    return
  end
  if kind ~= "nil" and kind ~= "number" then check.bad(argument, method, "version or stat expected, got " .. kind) end
  if expected == -1 then check.bad(argument, method, ANY_VERSION) end
  if expected and not is_version(expected) then check.bad(argument, method, "no version: " .. expected) end
end

-- config:set(value [, expected [, { timeout = }]]): expected: the stat, or the version, that the znode must have.
function Config:set(value, expected, options)
  if value == nil then check.bad(1, "set", "value expected, got nil; session:delete deletes the znode") end
  if not self.encodes and type(value) ~= "string" then check.bad(1, "set", "string expected, without a codec, got " .. type(value)) end
  check_expected(expected, 2, "set")
  local timeout = timeout_of(options, "set", 3)
  return write.set(self, value, expected, timeout)
end

-- config:update(fn [, { timeout = }]): writes what fn(value, stat) returns, if the value is still the one that fn got.
function Config:update(fn, options)
  check.fn(fn, 1, "update")
  local timeout = timeout_of(options, "update", 2)
  if timeout == 0 and limits.away(self.session) then return limits.unconnected(self.session, "config:update " .. self.path) end
  local limit = limits.new(self.session, timeout)
  return limit:told(write.update(self, fn, limit))
end

-- config:close(): gives the watch back, and ends what waits. The last known value stays.
function Config:close()
  self.closed, self.writer = true, nil
  return self.tree:close()
end

failure.name(Config, "config")
failure.name(Changes, "config_changes")
function Config.__close(config) config:close() end
function Changes.__call(changes) return changes:next() end
check.selves("config", Config, Config)
check.selves("config_changes", Changes, Changes)

-- ---- The session's method ----------------------------------------------------------------------

local Session = {}
local make_writer = core.classes.session.inner.value

-- session:config(path [, { codec =, default =, file = }])
function Session:config(path, options)
  check.below_root(path, 1, "config")
  local default = type(options) == "table" and rawget(options, "default") -- of any type
  options = check.options(options, { codec = "table", default = type(default), file = "string" }, 2, "config")
  local codec = codecs.of(options.codec)
  check.file(options.file, 2, "config")
  local tree, message, code = self:tree(path, { depth = 0, file = options.file })
  if not tree then return failure.told("session:config", path, nil, message, code) end
  local writer
  writer, message, code = make_writer(self, path)
  if not writer then
    tree:close()
    return failure.told("session:config", path, nil, message, code)
  end
  return setmetatable({ session = self, path = path, tree = tree, codec = codec, encodes = options.codec ~= nil,
    default = options.default, writer = writer, state = { value = options.default } }, Config)
end

classes.extend(core.classes.session, Session)

core.own(debug.getinfo(1, "S").source)
return Config
