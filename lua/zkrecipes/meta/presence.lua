---@meta zkrecipes.presence

-- Ephemeral znodes that heal themselves. See docs/recipes/presence.md.

---@class zkrecipes.Session
local Session = {}

---Makes an ephemeral znode in the background, and makes it again in each new session. Keep what it returns: if it is collected, it leaves.
---```lua
---local presence = assert(session:presence("/workers/web-1", "10.0.0.7:8080"))
---assert(presence:ready(30))
---```
---@param path string not the root; parents that are missing are made
---@param data? string
---@return zkrecipes.Presence? presence, string? message, zkrecipes.Code? code "too_large", "closed", "auth_failed", "forked", "no_memory"
function Session:presence(path, data) end

---An ephemeral znode that exists until the program leaves (the algorithm is that of Curator's PersistentNode).
---@class zkrecipes.Presence
---@field path string
---@field session zkrecipes.Session
---@field problem? zkrecipes.Code why the last try failed, "no_auth" say; it is tried again each second
local Presence = {}

---Waits until the znode exists with the last data.
---@param timeout? number seconds; nil: no limit
---@return true? ready, string? message, zkrecipes.Code? code "timeout" (another znode is in the way), "connection_loss", "canceled",
---"closed", "auth_failed", "no_auth", "no_children_for_ephemerals", "too_large", "full", "quota_exceeded", "server_error", "unsupported",
---"no_memory", "forked"
function Presence:ready(timeout) end

---Writes other data, and waits until the znode has them. If that fails, the presence keeps trying.
---```lua
---assert(presence:update("10.0.0.7:8081"))
---```
---@param data? string
---@param timeout? number seconds; nil: no limit
---@return true? updated, string? message, zkrecipes.Code? code "timeout", "connection_loss", "canceled", "closed" (it has left),
---"auth_failed", "no_auth", "no_children_for_ephemerals", "too_large", "full", "quota_exceeded", "server_error", "unsupported",
---"no_memory", "forked"
function Presence:update(data, timeout) end

---Deletes the znode, and waits until it is gone. If that fails, the deletion continues in the background. Idempotent.
---@param timeout? number seconds; nil: no limit
---@return true? left, string? message, zkrecipes.Code? code "timeout", "connection_loss", "canceled", "no_memory", "forked"
function Presence:leave(timeout) end

---Returns how far it is: "blocked": another znode is in the way, and is waited for.
---@return "joining"|"present"|"blocked"|"left" state
function Presence:state() end
