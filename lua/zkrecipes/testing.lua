-- Real ZooKeeper servers for tests: on 127.0.0.1, in temporary folders, gone when the test runner is gone.
--
--   local testing = require "zkrecipes.testing"
--   local server = assert(testing.start())              -- or testing.ensemble{ members = 3 }
--   ... session{ hosts = server.hosts } ...
--   server:kill()  server:restart()  server:pause()  server:resume()
--   testing.expire(server, session.id)
--   server:stop()
--
-- Needs bash and Java, and the server's jars: Debian's libzookeeper-java, or ZOOKEEPER_HOME or CLASSPATH.
-- Every call blocks until its effect is complete (the server serves, the process is dead), so no test needs to sleep.

local certificates = require "zkrecipes.testing.certificates"
local supervisor = require "zkrecipes.testing.supervisor"
local server_of = require "zkrecipes.testing.server"
local wire = require "zkrecipes.testing.wire"

local M = {}

---@class zkrecipes.testing.Options
---@field port? integer the client port, default a free one (only for `start`)
---@field tick_time? integer milliseconds, default 500: sessions may be as short as two ticks and expire on a tick
---@field config? table<string, string|number|boolean> further lines of zoo.cfg, e.g. { maxClientCnxns = 60 }
---@field jvm? string[] further flags of the JVM, e.g. { "-Xmx1g", "-Djute.maxbuffer=4194304" }
---@field container_interval? integer milliseconds between two sweeps for empty containers and TTL nodes, default 60000
---@field timeout? number seconds the server may take until it serves, default 300
---@field tls? boolean the servers offer TLS, with certificates of their own: `server.tls` is a session's option `tls`
---@field sasl? table<string, string> passwords by user: the servers offer SASL with DIGEST-MD5 to these users
---@field members? integer members of an ensemble, default 3 (only for `ensemble`)

local OPTIONS = { port = "number", tick_time = "number", config = "table", jvm = "table", container_interval = "number",
  timeout = "number", members = "number", tls = "boolean", sasl = "table" }

local function check_options(options)
  if options == nil then return {} end
  if type(options) ~= "table" then error("options must be a table, not " .. type(options), 3) end
  local meta = debug.getmetatable(options)
  if meta and (meta.__index or meta.__pairs) then error("options must be a table that inherits nothing", 3) end
  for name, value in pairs(options) do
    if not OPTIONS[name] then error("unknown option '" .. tostring(name) .. "'", 3) end
    if type(value) ~= OPTIONS[name] then
      error(("option '%s' must be a %s, not %s"):format(name, OPTIONS[name], type(value)), 3)
    end
  end
  if options.port and (options.port % 1 ~= 0 or options.port < 1 or options.port > 65535) then
    error("option 'port' must be a whole number from 1 to 65535", 3)
  end
  for user, password in pairs(options.sasl or {}) do
    if type(user) ~= "string" or not user:find("^[%w_.-]+$") or type(password) ~= "string" or password:find("%c") then
      error("option 'sasl' must have names of letters, digits and '_.-' with passwords of one line", 3)
    end
  end
  return options
end

---Several servers that form one ensemble.
---@class zkrecipes.testing.Ensemble
---@field hosts string the members' addresses with commas
---@field tick number their tickTime in seconds, for a session's option `tick`
---@field tls? table with TLS: a session's option `tls`
---@field members zkrecipes.testing.Server[]
local Ensemble = {}
Ensemble.__index = Ensemble

---Starts all members again at once, after killing those that run. Returns when every one serves.
---@return zkrecipes.testing.Ensemble|nil self
---@return string? message
---@return string? code "start_failed"
function Ensemble:restart()
  for _, server in ipairs(self.members) do server_of.begin(server) end
  local message, code
  for _, server in ipairs(self.members) do
    local ok, why, what = server_of.await(server)
    if not ok then message, code = message or why, what end
  end
  if code then return nil, message, code end
  return self
end

---Kills every member (kill -9); their data stay.
function Ensemble:kill()
  for _, server in ipairs(self.members) do server:kill() end
end

---Ends every member and removes their folders. May be called twice.
function Ensemble:stop()
  for _, server in ipairs(self.members) do server:stop() end
end
Ensemble.__close = Ensemble.stop

local function with_mode(members, mode)
  local found = {}
  for _, server in ipairs(members) do
    if server:mode() == mode then found[#found + 1] = server end
  end
  return found
end

---The member that leads; waits while the others elect one. Killed and paused members do not count.
---@param timeout? number seconds, default 60
---@return zkrecipes.testing.Server|nil leader
---@return string? message
---@return string? code "timeout"
function Ensemble:leader(timeout)
  local deadline = os.time() + (timeout or 60)
  repeat
    local leader = with_mode(self.members, "leader")[1]
    if leader then return leader end
    supervisor.bash("read -t 0.05 <> <(:)") -- a pause between two looks
  until os.time() > deadline
  return nil, ("none of %s became the leader within %g s"):format(self.hosts, timeout or 60), "timeout"
end

---The members that follow a leader now.
---@return zkrecipes.testing.Server[] followers
function Ensemble:followers()
  return with_mode(self.members, "follower")
end

-- Another process may take one of our ports between the look and the bind: that is worth another try.
local function collided(ensemble)
  for _, server in ipairs(ensemble.members) do
    if server:log(200):find("Address already in use", 1, true) then return true end
  end
end

-- Places for servers, with certificates if they shall offer TLS. All members have the same.
local function prepare(options, count)
  local places, missing = supervisor.prepare(count)
  if not places or not options.tls then return places, missing end
  local folder = places[1].folder .. "/tls"
  local made, message = certificates.found(folder)
  if not made then return nil, message end
  if places.netty == "" then return nil, "no Netty found: install Debian's package \"libnetty-java\"" end
  places.tls = certificates.issue(folder, "localhost")
  return places
end

local function launch_once(options, count)
  local places, missing = prepare(options, count)
  if not places then return nil, missing, "unsupported" end
  if options.port then places[1].client = ("%d"):format(options.port) end
  local ensemble, hosts = setmetatable({ members = {} }, Ensemble), {}
  for i = 1, count do
    ensemble.members[i] = server_of.spawn(options, places, i)
    hosts[i] = ensemble.members[i].hosts
  end
  ensemble.hosts, ensemble.tick, ensemble.tls = table.concat(hosts, ","), ensemble.members[1].tick, ensemble.members[1].tls
  local ok, message, code = ensemble:restart()
  if ok then return ensemble end
  if collided(ensemble) then code = "collided" end
  ensemble:stop()
  return nil, message, code
end

local function launch(options, count)
  local ensemble, message, code
  for _ = 1, 3 do
    ensemble, message, code = launch_once(options, count)
    if code ~= "collided" then return ensemble, message, code end
    if options.port then return nil, ("another program has the port %d of 127.0.0.1"):format(options.port), "start_failed" end
  end
  return nil, message, "start_failed"
end

---Starts one standalone server and waits until it serves.
---
---    local server = assert(testing.start{ container_interval = 1000 })
---    local session = zk.session{ hosts = server.hosts }
---@param options? zkrecipes.testing.Options
---@return zkrecipes.testing.Server|nil server
---@return string? message
---@return string? code "unsupported" (nothing installed), "start_failed"
function M.start(options)
  local ensemble, message, code = launch(check_options(options), 1)
  if not ensemble then return nil, message, code end
  return ensemble.members[1]
end

---Starts an ensemble and waits until every member serves.
---
---    local ensemble = assert(testing.ensemble{ members = 3 })
---    ensemble:leader():kill()
---    local new = assert(ensemble:leader())
---@param options? zkrecipes.testing.Options
---@return zkrecipes.testing.Ensemble|nil ensemble
---@return string? message
---@return string? code "unsupported" (nothing installed), "start_failed"
function M.ensemble(options)
  options = check_options(options)
  if options.port then error("option 'port' is for one server", 2) end
  local count = options.members or 3
  if count < 2 or count > 9 or count % 1 ~= 0 then error("an ensemble has 2 to 9 members", 2) end
  return launch(options, count)
end

---Ends a session from outside, as the server does when a session's time is over: its ephemerals vanish at once, its
---client learns that the session expired.
---
---    testing.expire(server, session.id)
---@param server zkrecipes.testing.Server any running member of the ensemble
---@param id string session id, 16 hexadecimal digits
---@param timeout? number seconds, default 20
---@return boolean|nil ended
---@return string? message
---@return string? code "no_session", "connection_loss"
function M.expire(server, id, timeout)
  if type(server) ~= "table" or not server.port then error("expire needs a test server", 2) end
  if type(id) ~= "string" or #id ~= 16 or id:find("%X") then
    error("a session id is a string of 16 hexadecimal digits", 2)
  end
  return wire.expire(server.port, id, timeout or 20)
end

return M
