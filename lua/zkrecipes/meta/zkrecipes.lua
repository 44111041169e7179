---@meta zkrecipes
error("definitions for the language server; this file is not to be loaded")

--- Conventions. Durations are in seconds, fractions allowed; a limit that is left out means no limit, 0 means do not
--- wait. Data are strings of any bytes; nil is ZooKeeper's null data and differs from "". 64-bit identities are
--- strings of 16 lower-case hexadecimal digits, which compare with < in the right order.
---
--- Misuse (a wrong type, a bad path, a released hold) raises at the caller's line. Any other failure returns
--- nil, message, code: a sentence for the log, and one of zkrecipes.Code. Behind each `code` stand those to look for; "..."
--- behind them: and of those that any request may give: "connection_loss", "closed", "auth_failed", "forked", "no_auth",
--- "no_memory", "server_error", or, seldom, another one that the server answers.
---
--- Functions marked @async wait without blocking the host. On the main thread, outside of any coroutine, they drive
--- the loop until they are answered. On Lua 5.1 they cannot be called inside of pcall (use zk.pcall), of an iterator
--- or of a metamethod; on no Lua inside of table.sort, string.gsub, require or a finalizer.

---@class zkrecipes
---@field _VERSION string "scm" or the version
---@field canceled table what is raised in a canceled task; compare with ==
---@field pcall fun(fn: function, ...): boolean, ... pcall in which one may wait, also on Lua 5.1
local zk = {}

---@alias zkrecipes.Code
---| "timeout"            # the time limit passed
---| "canceled"           # lock:cancel() or task:cancel()
---| "lost"               # the ZooKeeper session is over, and with it all that it held
---| "closed"             # the session is closed
---| "forked"             # the session belongs to the parent process
---| "connection_loss"    # no server answered in time, or the answer was lost; a write may or may not have been done
---| "no_node" | "node_exists" | "not_empty" | "bad_version"
---| "no_auth"            # the znode's ACL does not allow it
---| "auth_failed"        # the server refused the session's credentials
---| "no_children_for_ephemerals" | "bad_arguments" | "invalid_acl"
---| "too_large"          # more than the 1,000,000 bytes a server takes
---| "full" | "conflict"
---| "unsupported"        # the server or the client library does not offer it
---| "no_memory" | "quota_exceeded" | "reconfig" | "server_error"
---| "error"              # task:wait(): the task raised an error

---@alias zkrecipes.State "connecting"|"connected"|"suspended"|"lost"|"closed"

-- ---- Names from outside ------------------------------------------------------------------------

---One safe path component from any bytes; no two names give the same one. Use it for every name that does not come from
---your own program. Letters, digits, '-', '_', '.' and UTF-8 that ZooKeeper takes stay as they are; every other byte becomes
---'=' and two hexadecimal digits, and so does one byte of a name that would mean something in a directory.
---```lua
---local lock = session:lock("/orders/" .. zk.escape(ngx.unescape_uri(ngx.var.arg_order)))
---```
---@param name string at most 1,000 bytes
---@return string? component at most three times as long
---@return string? message
---@return "too_large"? code
function zk.escape(name) end

-- ---- Hosts -------------------------------------------------------------------------------------

---The same module on another host (an event loop); one module per host.
---```lua
---local zk = require "zkrecipes".using "luv"
---```
---@param adapter "builtin"|"openresty"|"luv"|"cqueues"|"copas"|"poll"|string|table name of a module
---zkrecipes.adapters.NAME, or an adapter (see zkrecipes/host/host.lua)
---@return zkrecipes
function zk.using(adapter) end

---@class zkrecipes.RunOptions
---@field fail_fast? boolean default false; true: the first error of any coroutine cancels all and is raised by run
---@field on_error? fun(text: string) gets the errors of coroutines that nobody waits for; default: they go to stderr
---@field sigterm? boolean default true: SIGTERM cancels all coroutines, closes the sessions, and then ends the process; false: leave
---the signal alone

---Built-in host only. Runs `fn` in a coroutine until it and all it spawned have ended, then closes the sessions that
---were opened meanwhile (for at most 2 seconds). An error of `fn` is raised, with its traceback, at the end.
---```lua
---zk.run(function()
---  local session = zk.session{ hosts = "zk1:2181,zk2:2181" }
---  print(session:get("/conf"))
---end)
---```
---@param fn fun(): ...
---@param options? zkrecipes.RunOptions
---@return any ... what fn returned
function zk.run(fn, options) end

---Runs `fn(...)` in a coroutine of its own, later. Outside of run it begins when something drives the loop.
---```lua
---local task = zk.spawn(function(name) return session:get(name) end, "/conf")
---print(task:wait(5))
---```
---@param fn function
---@param ... any
---@return zkrecipes.Task
function zk.spawn(fn, ...) end

---Sleeps; 0 lets the others run.
---```lua
---zk.sleep(0.5)
---```
---@async
---@param seconds number
function zk.sleep(seconds) end

---Seconds on a clock that only goes forward, also while the machine sleeps.
---@return number
function zk.now() end

---Runs all functions at once and waits for every one. An error in one cancels the rest and is raised.
---```lua
---local a, b = zk.all{ function() return session:get("/a") end, function() return session:get("/b") end }
---```
---@async
---@param fns (fun(): any)[]
---@return any ... the first result of each, in order
function zk.all(fns) end

---Runs all functions at once and returns what the first one to end returns (or raises); the others are canceled and
---have ended when it returns.
---```lua
---print(zk.any { function() return lock:acquire() end, function() zk.sleep(5) return "too long" end })
---```
---@async
---@param fns (fun(): ...)[]
---@return any ...
function zk.any(fns) end

---@class zkrecipes.Task
local Task = {}

---Waits until the task has ended.
---```lua
---print(task:wait(5))
---```
---@async
---@param timeout? number seconds
---@return any ... what its function returned; or nil, message, "timeout"|"canceled"|"error"
function Task:wait(timeout) end

---Its present wait and each later one raise zk.canceled, so that clean-up behind zk.pcall and <close> runs. May be
---called again. The task ends when its function does.
---```lua
---task:cancel()
---```
function Task:cancel() end

-- ---- Session -----------------------------------------------------------------------------------

---@class zkrecipes.Auth
---@field scheme string "digest", for instance
---@field credential string "user:password"

---@class zkrecipes.AclEntry
---@field perms string|string[] letters of "rwcda", or a list of "read", "write", "create", "delete", "admin"
---@field scheme string "world", "auth", "digest", "ip" ...
---@field id string "anyone" for world, "" for auth

---@alias zkrecipes.Acl "open"|"creator"|"read"|zkrecipes.AclEntry[]

---@class zkrecipes.SessionOptions
---@field hosts? string|string[] "host:port,host:port/chroot"; default "127.0.0.1:2181"
---@field timeout? number seconds, of the session, as asked for; default 10
---@field tick? number seconds, the servers' tickTime: holds then stay valid for longer when servers fall silent, see
---docs/session.md; default: at most half the timeout, or 2 s if that is more
---@field request_timeout? number seconds that a request which names no limit waits for its answer; default: as long as the
---session's timeout
---@field namespace? string prefix of every path, made when it is missing
---@field auth? zkrecipes.Auth[] said on every connection
---@field acl? zkrecipes.Acl of nodes we create; default "open"
---@field strict? boolean default false; true: hold:valid() also demands that the leader has its quorum (16 small
---writes per timeout)
---@field guardian? boolean default false; true: a small process ends the session as soon as this process is dead (see
---docs/guardian.md)
---@field log? fun(level: "error"|"warning"|"info", text: string) called from the loop; must not wait

---Opens a session and returns at once; connecting goes on behind it, for ever, and after an expiry a new ZooKeeper
---session is opened by itself. Collected, it is closed when no lock, hold or watch of it is left.
---```lua
---local session = zk.session{ hosts = { "zk1:2181", "zk2:2181" }, timeout = 6, namespace = "/app" }
---```
---@param options? zkrecipes.SessionOptions
---@return zkrecipes.Session? session, string? message, zkrecipes.Code? code "forked", "no_memory"
function zk.session(options) end

return zk
