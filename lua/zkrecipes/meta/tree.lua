---@meta zkrecipes.tree

-- Watched copies. See docs/recipes/tree.md.

---@class zkrecipes.Session
local Session = {}

---@class zkrecipes.TreeOptions
---@field filter? string[] paths of the wanted znodes; `*` in a name stands for any bytes of that name; nil: all
---@field file? string absolute path of a file that keeps the last copy; nil: none
---@field depth? integer 0: the znode alone; 1: its children too; 2: theirs too ...; nil: all below

---Returns a watched copy of a znode and those below it, which begins to load. See docs/recipes/tree.md.
---```lua
---local conf = assert(session:tree("/conf"))
---assert(conf:ready(30))
---print(conf:get("/conf/limit"))
---```
---@param path string the root; it need not exist
---@param options? zkrecipes.TreeOptions
---@return zkrecipes.Tree? tree, string? message, zkrecipes.Code? code "closed", "auth_failed", "forked", "no_memory"
function Session:tree(path, options) end

---A copy of a znode and of those below it, which follows every change (the algorithm is that of Curator's TreeCache).
---@class zkrecipes.Tree
---@field path string
---@field source? "server"|"file" where what is shown is from; nil: nothing was loaded yet
---@field problem? string why something is missing in the copy: "full", "no_memory" ...; nil: nothing is
local Tree = {}

---Waits until the copy was loaded once, from the servers or from its file.
---```lua
---local conf = session:tree("/conf")
---assert(conf:ready(30))
---```
---@async
---@param timeout? number seconds; 0: only check; nil: no limit
---@return true? ready, string? message, zkrecipes.Code? code "timeout", "connection_loss", "full", "closed", "auth_failed",
---"forked", "no_memory"
function Tree:ready(timeout) end

---Returns what the copy has of a znode. Asks no server and never waits.
---```lua
---local host = conf:get("/conf/db/host")
---```
---@param path? string default: the root
---@return string? data nil: null data, or there is no such znode in the copy, or it may not be read
---@return zkrecipes.Stat? stat nil: there is no such znode in the copy
---@return string? problem "no_auth": it may not be read
function Tree:get(path) end

---Returns the names of the znode's children in the copy. Asks no server and never waits.
---```lua
---for _, name in ipairs(conf:children() or {}) do print(name) end
---```
---@param path? string default: the root
---@return string[]? names sorted; nil: there is no such znode in the copy
function Tree:children(path) end

---Iterates over the copy: parents before children, these by name. Asks no server and never waits.
---```lua
---for path, data, stat in conf:pairs() do print(path, data, stat.version) end
---```
---@return fun(tree: zkrecipes.Tree, path?: string): string?, string?, zkrecipes.Stat?, string? next
---@return zkrecipes.Tree tree
function Tree:pairs() end

---Returns how old the copy may be. Asks no server and never waits.
---@return number seconds 0: it is current, up to how far the session's server is behind; math.huge: it was never loaded
function Tree:age() end

---Calls `fn` when the copy is loaded and after each change, until it returns a true value.
---```lua
---local host = conf:await(function(tree) return (tree:get("/conf/db/host")) end, 30)
---```
---@async
---@param fn fun(tree: zkrecipes.Tree): any may wait; its errors are raised
---@param timeout? number seconds; nil: no limit
---@return any value the true value
---@return string? message
---@return zkrecipes.Code? code "timeout", "connection_loss", "full", "closed", "auth_failed", "forked", "no_memory"
function Tree:await(fn, timeout) end

---Returns a reader, which first gets the present znodes and then each change. It can be called like an iterator.
---```lua
---for change in conf:changes() do print(change.kind, change.path, change.data) end
---```
---@return zkrecipes.Changes? changes, string? message, zkrecipes.Code? code "no_memory"
function Tree:changes() end

---Gives the watches back and ends all readers. The last known values stay. Idempotent.
---@return true
function Tree:close() end

---@class zkrecipes.TreeState
---@field data? string
---@field stat zkrecipes.Stat
---@field problem? string "no_auth": it may not be read

---@class zkrecipes.Change
---@field kind "added"|"changed"|"removed"
---@field path string
---@field data? string
---@field stat? zkrecipes.Stat nil if it is removed
---@field before? zkrecipes.TreeState what the reader was told before; nil if it is added
---@field problem? string "no_auth": it may not be read

---@class zkrecipes.Changes
---@field path string of the tree's root
local Changes = {}

---Returns the next change, or waits for it.
---```lua
---local changes = conf:changes()
---local change = assert(changes:next(30))
---```
---@async
---@param timeout? number seconds; 0: do not wait; nil: no limit
---@return zkrecipes.Change? change, string? message, zkrecipes.Code? code "timeout", "connection_loss", "closed", "auth_failed",
---"forked", "no_memory"
function Changes:next(timeout) end

---Ends the reader. Idempotent.
---@return true
function Changes:close() end
