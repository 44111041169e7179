---@meta zkrecipes.config

-- Configuration. See docs/recipes/config.md.

---@class zkrecipes.Session
local Session = {}

---@class zkrecipes.Codec
---@field encode fun(value: any): string?, string? the data; or nil and what is wrong; may raise; must not wait
---@field decode fun(data: string): any, string? the value; or nil and what is wrong; may raise; must not wait

---@class zkrecipes.ConfigOptions
---@field codec? zkrecipes.Codec as lua-cjson; nil: values are strings
---@field file? string absolute path of a file that keeps the last data, as for a tree; nil: none
---@field default? any what `get` returns while there is no znode, or no data; default nil

---Returns a value that is kept in a znode, and begins to load it. The algorithm of its writes is ours: that of counters.
---```lua
---local conf = assert(session:config("/conf", { codec = require "cjson", default = { limit = 10 } }))
---assert(conf:ready(30))
---print(conf:get().limit)
---```
---@param path string the znode; it need not exist
---@param options? zkrecipes.ConfigOptions
---@return zkrecipes.Config? config, string? message, zkrecipes.Code? code "closed", "auth_failed", "forked", "no_memory"
function Session:config(path, options) end

---@class zkrecipes.ConfigWriteOptions
---@field timeout? number seconds; 0: do not wait for a connection; nil: no limit

---A value in a znode. The reads are those of a watched copy.
---@class zkrecipes.Config
---@field path string
---@field session zkrecipes.Session
local Config = {}

---Returns the value. Asks no server and never waits. All callers get the same table: do not change it.
---```lua
---local value, stat = conf:get()
---```
---@return any value the default while there is none
---@return zkrecipes.Stat? stat nil: there is no znode, or no value of it was good yet
function Config:get() end

---Returns how old the value may be. Asks no server and never waits.
---@return number seconds 0: it is current, up to how far the session's server is behind; math.huge: it was never loaded
function Config:age() end

---Returns where the value is from. Asks no server and never waits.
---```lua
---if conf:source() == "file" then print "last known configuration" end
---```
---@return "server"|"file"|nil source nil: nothing was loaded yet
function Config:source() end

---Returns why `get` has not the newest value, or nil. Asks no server and never waits.
---@return string? message
---@return zkrecipes.Code? code "conflict": it does not decode; "no_auth", "full", "no_memory"
function Config:problem() end

---Waits until the value was loaded once.
---```lua
---assert(conf:ready(30))
---```
---@async
---@param timeout? number seconds; 0: only check; nil: no limit
---@return true? ready, string? message, zkrecipes.Code? code "timeout", "connection_loss", "full", "closed", "auth_failed",
---"forked", "no_memory"
function Config:ready(timeout) end

---Calls `fn` when the value is loaded and after each change, until it returns a true value.
---```lua
---assert(conf:await(function(value) return value.limit > 10 end, 30))
---```
---@async
---@param fn fun(value: any, stat?: zkrecipes.Stat): any may wait; its errors are raised
---@param timeout? number seconds; nil: no limit
---@return any value the true value
---@return string? message
---@return zkrecipes.Code? code "timeout", "connection_loss", "full", "closed", "auth_failed", "forked", "no_memory"
function Config:await(fn, timeout) end

---Returns an iterator over the values: first the present value, then each new one. A slow reader gets only the latest.
---```lua
---for value in conf:changes() do print(value.limit) end
---```
---@return zkrecipes.ConfigChanges changes
function Config:changes() end

---Writes a value, exactly once, even if the answer is lost.
---After "connection_loss", "canceled" and "closed" it may have been written; after any other failure it was not.
---```lua
---local value, stat = conf:get()
---local ok, message, code = conf:set({ limit = 20 }, stat)
---```
---@async
---@param value any not nil
---@param expected? zkrecipes.Stat|integer the state, or the version, that the znode must have; nil: any, also none
---@param options? zkrecipes.ConfigWriteOptions
---@return true? ok, string? message, zkrecipes.Code? code "bad_version": it has changed; "error": the codec has failed;
---"too_large", "no_auth", "full", "connection_loss", "timeout", "closed" ...
function Config:set(value, expected, options) end

---Calls `fn` with the value and writes its result, if the value has not changed meanwhile. If it has, calls `fn` again. Writes
---exactly once, like `set`.
---```lua
---assert(conf:update(function(value)
---  value.limit = value.limit + 1
---  return value
---end))
---```
---@async
---@param fn fun(value: any, stat?: zkrecipes.Stat): any gets a copy of the value; nil: write nothing; its errors are raised
---@param options? zkrecipes.ConfigWriteOptions
---@return boolean? written false: `fn` returned nil
---@return any value_or_message what was written
---@return zkrecipes.Code? code "conflict": the data do not decode; "error": the codec cannot encode; "bad_version", "too_large",
---"no_auth", "full", "connection_loss", "timeout", "closed" ...
function Config:update(fn, options) end

---Gives the watch back and ends what waits. The last value stays. Idempotent.
---@return true
function Config:close() end

---@class zkrecipes.ConfigChanges
---@field path string
local ConfigChanges = {}

---Returns the next value, or waits for it.
---```lua
---local changes = conf:changes()
---local value, stat = changes:next(30)
---```
---@async
---@param timeout? number seconds; 0: do not wait; nil: no limit
---@return any value false for nil
---@return zkrecipes.Stat|string|nil stat_or_message
---@return zkrecipes.Code? code "timeout", "connection_loss", "full", "closed", "auth_failed", "forked", "no_memory"
function ConfigChanges:next(timeout) end
