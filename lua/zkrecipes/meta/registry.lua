---@meta zkrecipes.registry

-- Service discovery. See docs/recipes/registry.md.

---@class zkrecipes.Session
local Session = {}

---@class zkrecipes.RegistryOptions
---@field names? string[] the services to read; a `*` stands for any bytes of a name; default: all
---@field file? string absolute path of a file that keeps the last copy
---@field least_bad? boolean false: pick returns "conflict" if all instances are down; default true: the one that will be back first
---@field longest_down? number seconds: upper limit of the pauses after repeated failures; default 60

---Returns a registry, whose copy begins to load. Needs lua-cjson.
---```lua
---local registry = assert(session:registry("/services"))
---```
---@param path string not the root; it need not exist
---@param options? zkrecipes.RegistryOptions
---@return zkrecipes.Registry? registry, string? message, zkrecipes.Code? code "unsupported" (lua-cjson is missing), "closed",
---"auth_failed", "forked", "no_memory"
function Session:registry(path, options) end

---Services that find each other. The znodes and their JSON are those of Curator's service discovery
---(https://curator.apache.org/docs/service-discovery); the hash is rendezvous hashing (Thaler, Ravishankar 1996), the weighted choice
---nginx's smooth weighted round robin.
---@class zkrecipes.Registry
---@field path string
---@field session zkrecipes.Session
---@field tree zkrecipes.Tree
local Registry = {}

---@class zkrecipes.RegisterOptions
---@field address string
---@field id? string default: a random UUID
---@field port? integer
---@field ssl_port? integer
---@field weight? number above 0, at most 1e9; default 1
---@field enabled? boolean default true
---@field meta? any has JSON; Curator's payload
---@field meta_json? string the same as JSON text, which is kept as it is; in place of meta
---@field fields? table<string, string> foreign members: name > JSON text

---Registers in the background. Keep the registration: if it is collected, it leaves.
---```lua
---local mine = assert(registry:register("web", { id = "web-1", address = "10.0.0.7", port = 8080 }))
---```
---@param name string of the service
---@param instance zkrecipes.RegisterOptions
---@return zkrecipes.Registration? registration, string? message, zkrecipes.Code? code "too_large", "closed", "auth_failed", "forked",
---"no_memory"
function Registry:register(name, instance) end

---Waits until the copy was loaded once.
---```lua
---assert(registry:ready(30))
---```
---@async
---@param timeout? number seconds; nil: no limit
---@return true? ready, string? message, zkrecipes.Code? code "timeout", "connection_loss", "canceled", "full", "closed", "auth_failed",
---"forked", "no_memory"
function Registry:ready(timeout) end

---Waits until the service has n instances or more.
---```lua
---for _, one in ipairs(assert(registry:await("web", 2, 30))) do print(one.address) end
---```
---@async
---@param name string
---@param n? integer default 1
---@param timeout? number seconds; nil: no limit
---@return zkrecipes.Instance[]? instances, string? message, zkrecipes.Code? code "timeout", "connection_loss", "canceled", "full",
---"closed", "auth_failed", "forked", "no_memory"
function Registry:await(name, n, timeout) end

---Returns the instances in the order in which their znodes were made. Never waits.
---@param name string
---@return zkrecipes.Instance[]
function Registry:instances(name) end

---Returns the services that have instances. Never waits.
---@return string[] names sorted
function Registry:names() end

---Returns the znodes that are skipped because their data are no instance. Never waits.
---@return { path: string, message: string, code: zkrecipes.Code }[]
function Registry:problems() end

---Chooses an instance that is enabled and not down. Never waits.
---```lua
---local instance = registry:pick("web", "hash", user)
---if instance then connect(instance.address, instance.port) end
---```
---@param name string
---@param strategy? "round_robin"|"random"|"weighted"|"least"|"hash" default "round_robin"
---@param key? string for "hash"
---@return zkrecipes.Instance? instance, string? message, zkrecipes.Code? code "no_node": there is none; "timeout": not loaded yet;
---"conflict": all are down
function Registry:pick(name, strategy, key) end

---Returns a reader, which first reports all present instances. It can be called as an iterator.
---```lua
---for change in registry:changes("web") do print(change.kind, (change.instance or change.before).id) end
---```
---@param name? string default: all services
---@return zkrecipes.RegistryChanges? changes, string? message, zkrecipes.Code? code "closed", "auth_failed", "forked", "no_memory"
function Registry:changes(name) end

---Returns how old the copy may be; see Tree:age.
---@return number seconds
function Registry:age() end

---Returns where the copy comes from.
---@return "server"|"file"|nil source
function Registry:source() end

---Ends the copy and its readers; registrations stay.
---@return true
function Registry:close() end

---@class zkrecipes.RegistryChange
---@field kind "added"|"changed"|"removed"
---@field name string
---@field instance? zkrecipes.Instance nil: removed
---@field before? zkrecipes.Instance nil: added

---@class zkrecipes.RegistryChanges
---@field path string
local RegistryChanges = {}

---Returns the next change.
---```lua
---local change = assert(changes:next(30))
---```
---@async
---@param timeout? number seconds; nil: no limit
---@return zkrecipes.RegistryChange? change, string? message, zkrecipes.Code? code "timeout", "connection_loss", "canceled", "closed",
---"auth_failed", "forked", "no_memory"
function RegistryChanges:next(timeout) end

---Ends the reader.
---@return true
function RegistryChanges:close() end

---What this process has registered: a presence.
---@class zkrecipes.Registration
---@field id string
---@field name string
---@field path string
---@field presence zkrecipes.Presence
local Registration = {}

---Waits until the znode exists with the last data; see Presence:ready.
---```lua
---assert(registration:ready(30))
---```
---@async
---@param timeout? number seconds; nil: no limit
---@return true? ready, string? message, zkrecipes.Code? code "timeout" (another znode is in the way), "connection_loss" ...: as of
---Presence:ready
function Registration:ready(timeout) end

---Changes what the instance says; what is not given stays. cjson.null removes a member.
---```lua
---assert(registration:update({ enabled = false }, 30))
---```
---@async
---@param changes table as for register, without `id`
---@param timeout? number seconds; nil: no limit
---@return true? ok, string? message, zkrecipes.Code? code "timeout", "too_large" ...: as of Presence:update
function Registration:update(changes, timeout) end

---Removes the znode; see Presence:leave.
---```lua
---registration:leave(30)
---```
---@async
---@param timeout? number seconds; nil: no limit
---@return true? ok, string? message, zkrecipes.Code? code "timeout", "connection_loss" ...: as of Presence:leave
function Registration:leave(timeout) end

---Returns how it stands; see Presence:state.
---@return "joining"|"present"|"blocked"|"left" state
function Registration:state() end

---An instance of a service, as it was when it was read.
---@class zkrecipes.Instance
---@field name string
---@field id string
---@field address string
---@field port? integer
---@field ssl_port? integer
---@field weight number
---@field enabled boolean
---@field meta? any Curator's payload
---@field registered? number seconds since 1970, the clock of the instance
---@field type? string "DYNAMIC" ...
---@field path string
---@field token string the creation zxid of its znode
local Instance = {}

---Takes it out of the choice of this process, longer after each failure.
---```lua
---if not connect(instance.address, instance.port) then instance:down(2) end
---```
---@param seconds? number default 1
---@return number seconds for which it is out
function Instance:down(seconds) end

---Takes it into the choice again, and forgets its failures.
---@return true
function Instance:up() end

---Ends the use that pick(name, "least") has begun. The end of the scope of a `local instance <close>` does it too, and the collector
---when the program has dropped the instance; in nginx also openresty.release(), for the uses of its request.
---@return true
function Instance:done() end

---Returns how many uses of it this process has begun and not ended.
---@return integer
function Instance:uses() end

---Returns the members of its JSON that mean nothing to a registry.
---@return table<string, string> fields name > JSON text
function Instance:fields() end
