---@meta zkrecipes.group

-- Group membership. See docs/recipes/group.md.

---@class zkrecipes.Session
local Session = {}

---@class zkrecipes.GroupOptions
---@field grace? number seconds for which `changes` holds the end of a member back; default 0

---Returns a group, whose copy begins to load.
---```lua
---local group = assert(session:group("/workers", { grace = 10 }))
---local member = assert(group:join("10.0.0.7:8080", { id = "web-1" }))
---```
---@param path string not the root; it need not exist
---@param options? zkrecipes.GroupOptions
---@return zkrecipes.Group? group, string? message, zkrecipes.Code? code "closed", "auth_failed", "forked", "no_memory"
function Session:group(path, options) end

---The present members, and their changes (the algorithm is that of ZooKeeper's group membership and Curator's GroupMember).
---@class zkrecipes.Group
---@field path string
---@field grace number
local Group = {}

---@class zkrecipes.JoinOptions
---@field id? string any bytes; default 16 random hexadecimal digits

---Joins in the background. Keep the member: if it is collected, it leaves.
---@param data? string
---@param options? zkrecipes.JoinOptions
---@return zkrecipes.Member? member, string? message, zkrecipes.Code? code "too_large", "closed", "auth_failed", "forked", "no_memory"
function Group:join(data, options) end

---Waits until the copy was loaded once.
---@param timeout? number seconds; nil: no limit
---@return true? ready, string? message, zkrecipes.Code? code "timeout", "connection_loss", "canceled", "full", "closed", "auth_failed",
---"forked", "no_memory"
function Group:ready(timeout) end

---Returns the members in the order in which their znodes were made. Never waits.
---@return { id: string, data: string?, token: string }[] members token: the creation zxid
function Group:members() end

---Waits until there are n members or more.
---@param n integer
---@param timeout? number seconds; nil: no limit
---@return { id: string, data: string?, token: string }[]? members, string? message, zkrecipes.Code? code "timeout", "connection_loss",
---"canceled", "full", "closed", "auth_failed", "forked", "no_memory"
function Group:await(n, timeout) end

---Returns a reader, which first reports all present members.
---@return zkrecipes.GroupChanges? changes, string? message, zkrecipes.Code? code "closed", "auth_failed", "forked", "no_memory"
function Group:changes() end

---Returns how old the copy may be; see Tree:age.
---@return number seconds
function Group:age() end

---Ends the copy and its readers; members stay.
---@return true
function Group:close() end

---A member of a group: a presence (see zkrecipes.Presence).
---@class zkrecipes.Member
---@field id string
---@field path string
---@field presence zkrecipes.Presence
local Member = {}

---Waits until the znode exists with the last data; see Presence:ready.
---@param timeout? number seconds; nil: no limit
---@return true? ready, string? message, zkrecipes.Code? code "timeout" (another znode is in the way), "connection_loss", "canceled",
---"closed", "auth_failed", "no_auth", "no_children_for_ephemerals", "too_large", "full", "quota_exceeded", "server_error", "unsupported",
---"no_memory", "forked"
function Member:ready(timeout) end

---Gives the member other data; see Presence:update.
---@param data? string
---@param timeout? number seconds; nil: no limit
---@return true? updated, string? message, zkrecipes.Code? code "timeout", "connection_loss", "canceled", "closed" (it has left),
---"auth_failed", "no_auth", "no_children_for_ephemerals", "too_large", "full", "quota_exceeded", "server_error", "unsupported",
---"no_memory", "forked"
function Member:update(data, timeout) end

---Leaves; see Presence:leave. Idempotent.
---@param timeout? number seconds; nil: no limit
---@return true? left, string? message, zkrecipes.Code? code "timeout", "connection_loss", "canceled", "no_memory", "forked"
function Member:leave(timeout) end

---Returns how far it is; see Presence:state.
---@return "joining"|"present"|"blocked"|"left" state "blocked": another member has this id
function Member:state() end

---@class zkrecipes.GroupChange
---@field kind "joined"|"changed"|"left"
---@field id string
---@field data? string
---@field token? string the creation zxid of the znode; nil if it has left
---@field before? string the data before

---Tells the changes of a group in order.
---@class zkrecipes.GroupChanges
---@overload fun(): zkrecipes.GroupChange?, string?, zkrecipes.Code?
local GroupChanges = {}

---Waits for the next change.
---@param timeout? number seconds; nil: no limit
---@return zkrecipes.GroupChange? change, string? message, zkrecipes.Code? code "timeout", "connection_loss", "canceled", "closed",
---"auth_failed", "forked", "no_memory"
function GroupChanges:next(timeout) end

---Ends the reader. Idempotent.
---@return true
function GroupChanges:close() end
