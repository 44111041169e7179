---@meta zkrecipes
error("definitions for the language server; this file is not to be loaded")

--- Conventions. Durations are in seconds, fractions are allowed. A time limit that you omit means no limit; 0 means do not
--- wait. Data are strings of any bytes; nil is ZooKeeper's null data and differs from "". 64-bit ids are strings of 16
--- lower-case hexadecimal digits; comparing them with < gives their numeric order.
---
--- Misuse (a wrong type, a bad path, a released hold) raises an error at the caller's line. Any other failure returns
--- nil, message, code: a sentence for the log, and one of zkrecipes.Code. Each function lists after `code` the codes to check
--- for. "..." at the end of the list means that it can also return the codes that any request can return: "connection_loss",
--- "closed", "auth_failed", "forked", "no_auth", "no_memory", "server_error", or, rarely, another code from the server.
---
--- Functions marked @async wait without blocking the host. On the main thread, outside of any coroutine, they run the loop
--- until they have their answer. On Lua 5.1 they cannot be called inside pcall (use zk.pcall), an iterator or a metamethod. On
--- no Lua can they be called inside table.sort, string.gsub, require or a finalizer.

---@class zkrecipes
---@field _VERSION string the version, for example "0.1.0"
---@field canceled table what is raised in a canceled task; compare with ==
---@field pcall fun(fn: function, ...): boolean, ... a pcall whose function may wait, also on Lua 5.1
local zk = {}

---@alias zkrecipes.Code
---| "timeout"            # the time limit passed
---| "canceled"           # lock:cancel() or task:cancel()
---| "lost"               # the ZooKeeper session was lost, and all its holds with it
---| "closed"             # the session is closed; the message of a write says whether it may have been made
---| "forked"             # the session belongs to the parent process
---| "connection_loss"    # no server answered in time, or the answer was lost; a change may or may not have been made
---| "no_node" | "node_exists" | "not_empty" | "bad_version"
---| "no_auth"            # the znode's ACL does not allow it
---| "auth_failed"        # the server refused the session's credentials
---| "no_children_for_ephemerals" | "bad_arguments" | "invalid_acl"
---| "too_large"          # a request of more than 1,000,000 bytes, or an answer of more than 64,000,000
---| "full" | "conflict"
---| "unsupported"        # the server or the client library does not support the request; or the package was upgraded meanwhile
---| "no_memory" | "quota_exceeded" | "reconfig" | "server_error"
---| "error"              # a function of the program raised an error (a task, a codec), or the task that did the work was killed

---@alias zkrecipes.State "connecting"|"connected"|"suspended"|"lost"|"closed"

---Loads all recipes now. Otherwise each is loaded at its first use, except inside nginx, where all are loaded at once. Call it at the start
---of a program that changes its root directory, may run out of descriptors, or must live through an upgrade of the package.
---```lua
---local zk = require "zkrecipes"
---assert(zk.preload())
---```
---@return true? ok, string? message, "unsupported"? code the package was upgraded or removed since this process loaded it
function zk.preload() end

-- ---- Names from outside ------------------------------------------------------------------------

---Makes one safe path component from any bytes; two different names never give the same component. Use it for every name that does
---not come from your own program. Letters, digits, '-', '_', '.' and UTF-8 that ZooKeeper accepts stay as they are; every other byte
---becomes '=' and two hexadecimal digits. If the whole name has a special meaning in a directory, one of its bytes is escaped too.
---```lua
---local lock = session:lock("/orders/" .. zk.escape(ngx.unescape_uri(ngx.var.arg_order)))
---```
---@param name string at most 1,000 bytes
---@return string? component at most three times as long
---@return string? message
---@return "too_large"? code
function zk.escape(name) end

-- ---- Hosts -------------------------------------------------------------------------------------

---Returns this module for another host (an event loop). Each host has one module.
---```lua
---local zk = require "zkrecipes".using "luv"
---```
---@param adapter "builtin"|"openresty"|"luv"|"cqueues"|"copas"|"poll"|string|table name of a module
---zkrecipes.adapters.NAME, or an adapter (see zkrecipes/host/host.lua), with a name or without
---@return zkrecipes
function zk.using(adapter) end

---@class zkrecipes.RunOptions
---@field fail_fast? boolean default false; true: the first error of any coroutine cancels all coroutines, and run raises it
---@field on_error? fun(text: string) gets the errors of coroutines that no task:wait() waits for; default: they go to stderr
---@field sigterm? boolean default true: SIGTERM cancels all coroutines, closes the sessions, and then ends the process; false: do
---not catch the signal

---Built-in host only. Runs `fn` in a coroutine until it and all that it spawned have ended. Then it closes the sessions that were
---opened meanwhile, which takes at most 2 seconds. At the end it raises the error of `fn`, if any, with its traceback.
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

---Runs `fn(...)` in a new coroutine, later. Outside of zk.run the coroutine starts when the loop runs next.
---```lua
---local task = zk.spawn(function(name) return session:get(name) end, "/conf")
---print(task:wait(5))
---```
---@param fn function
---@param ... any
---@return zkrecipes.Task
function zk.spawn(fn, ...) end

---Sleeps. 0 lets other coroutines run.
---```lua
---zk.sleep(0.5)
---```
---@async
---@param seconds number
function zk.sleep(seconds) end

---Returns seconds on a clock that only goes forward and that includes the time while the machine sleeps.
---@return number
function zk.now() end

---Runs all functions concurrently and waits for all of them. An error in one cancels the others, and zk.all raises it.
---```lua
---local a, b = zk.all{ function() return session:get("/a") end, function() return session:get("/b") end }
---```
---@async
---@param fns (fun(): any)[] without holes
---@return any ... the first result of each, in order
function zk.all(fns) end

---Runs all functions concurrently. Returns (or raises) what the first function to end returns (or raises). The others are
---canceled, and have ended when zk.any returns.
---```lua
---print(zk.any { function() return lock:acquire() end, function() zk.sleep(5) return "too long" end })
---```
---@async
---@param fns (fun(): ...)[] without holes; at least one
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
---@return any ... what the task's function returned; or nil, message, "timeout"|"canceled"|"error"
function Task:wait(timeout) end

---Cancels the task: its present wait and each later wait raise zk.canceled, so that cleanup after zk.pcall and <close> runs. The
---task ends when its function ends. You may call it again.
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
---@field scheme string "world", "auth", "digest", "x509", "sasl", "ip" ...
---@field id string "anyone" for world, "" for auth, zk.digest(user, password), "CN=ann,O=us", "ann", "10.0.0.0/8"

---@alias zkrecipes.Acl "open"|"creator"|"read"|(zkrecipes.AclEntry|"open"|"creator"|"read")[]

---The id of an ACL's entry for who proves to be `user` by "digest": the name and a hash, which does not tell the password.
---```lua
---local acl = { "creator", { perms = "r", scheme = "digest", id = zk.digest("reports", password) } }
---```
---@param user string without ':'
---@param password string
---@return string id
function zk.digest(user, password) end

---Files are in PEM form and are read for each connection anew.
---@class zkrecipes.Tls
---@field ca? string file of the CAs to trust; default: those of the system
---@field cert? string file of our certificate, for servers that demand one
---@field key? string file of its key; default: the file of cert
---@field password? string|fun(): string of the key
---@field name? string that every server has to prove; default: the name of each in hosts
---@field verify? boolean default true; false: trust any server

---@class zkrecipes.Sasl
---@field mechanism "DIGEST-MD5"|"GSSAPI"
---@field user? string DIGEST-MD5: required; GSSAPI: our principal; default: that of the ticket, or the first in the keytab
---@field password? string|fun(): string DIGEST-MD5: required
---@field keytab? string GSSAPI: file with our key; default: the tickets of the system

---@class zkrecipes.SessionOptions
---@field hosts? string|string[] "host:port,host:port/chroot"; default "127.0.0.1:2181"
---@field timeout? number seconds: the session timeout to ask for; the servers may choose another; default 10
---@field tick? number seconds: the servers' tickTime. If it is given, holds stay valid for longer when the servers do not answer, see
---docs/session.md; default: at most half the timeout, or 2 s if that is more
---@field request_timeout? number seconds that a request without a time limit waits for its answer; default: the session's timeout
---@field namespace? string prefix of every path; created if missing
---@field auth? zkrecipes.Auth[] credentials to present on every connection
---@field acl? zkrecipes.Acl of the znodes that we create; default "open"
---@field strict? boolean default false; true: hold:valid() also requires that the leader still has its quorum (costs 16 small
---writes per timeout)
---@field tls? boolean|zkrecipes.Tls default false; true or a table: encrypt the connection, and verify the servers (see docs/tls.md)
---@field sasl? zkrecipes.Sasl prove to the servers who the session is, before anything else is sent (see docs/sasl.md)
---@field guardian? boolean default false; true: a small process ends the session as soon as this process dies (see
---docs/guardian.md)
---@field log? fun(level: "error"|"warning"|"info", text: string) called from the loop; must not wait

---Opens a session and returns at once. The session connects in the background and never stops trying; after an expiry it opens a new
---ZooKeeper session itself. When the session object is collected as garbage, the session is closed as soon as no lock, hold or watch
---of it is left.
---```lua
---local session = zk.session{ hosts = { "zk1:2181", "zk2:2181" }, timeout = 6, namespace = "/app" }
---```
---@param options? zkrecipes.SessionOptions
---@return zkrecipes.Session? session, string? message, zkrecipes.Code? code "forked", "no_memory"
function zk.session(options) end

return zk
