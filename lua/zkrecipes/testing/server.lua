-- One real server of a test: its configuration, its life (kill, restart, pause, resume, stop), its four-letter words.
-- The process itself is held by a supervisor, see testing/supervisor.lua.

local supervisor = require "zkrecipes.testing.supervisor"
local wire = require "zkrecipes.testing.wire"

local M = {}

-- Test servers hold little and start often: a small heap, the simple collector and only the quick compiler.
local JVM = { "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData",
  "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn" }

local CONFIG = { forceSync = "no", extendedTypesEnabled = "true", ["admin.enableServer"] = "false",
  ["4lw.commands.whitelist"] = "*", maxClientCnxns = 0, maxSessionTimeout = 120000, initLimit = 120, syncLimit = 6 }

-- The plain port stays, for the four-letter words. TLS 1.3 is offered only if the cipher suites are listed too.
local TLS = { secureClientPortAddress = "127.0.0.1", serverCnxnFactory = "org.apache.zookeeper.server.NettyServerCnxnFactory",
  ["ssl.keyStore.type"] = "PEM", ["ssl.trustStore.type"] = "PEM", ["ssl.clientAuth"] = "want", ["ssl.protocol"] = "TLSv1.3",
  ["ssl.enabledProtocols"] = "TLSv1.3,TLSv1.2",
  ["ssl.ciphersuites"] = "TLS_AES_128_GCM_SHA256,TLS_AES_256_GCM_SHA384,TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256" }

local SASL = { ["authProvider.sasl"] = "org.apache.zookeeper.server.auth.SASLAuthenticationProvider" }

local TICK_TIME = 500
local PATIENCE = 60 -- seconds that an answer may take; it takes far less even on a busy machine

local function add(lines, options, more)
  for key, value in pairs(more) do
    if (options.config or {})[key] == nil then lines[#lines + 1] = key .. "=" .. value end
  end
end

local function config_of(options, places, id)
  local place = places[id]
  local lines = { "tickTime=" .. (options.tick_time or TICK_TIME), "dataDir=" .. place.folder .. "/data" }
  add(lines, options, CONFIG)
  if places.tls then
    add(lines, options, TLS)
    add(lines, options, { secureClientPort = place.secure, ["ssl.keyStore.location"] = places.tls.store,
      ["ssl.trustStore.location"] = places.tls.ca })
  end
  if options.sasl then add(lines, options, SASL) end
  for key, value in pairs(options.config or {}) do lines[#lines + 1] = key .. "=" .. tostring(value) end
  if #places == 1 then
    lines[#lines + 1] = "clientPort=" .. place.client .. "\nclientPortAddress=127.0.0.1"
    return table.concat(lines, "\n")
  end
  for i, p in ipairs(places) do
    lines[#lines + 1] = ("server.%d=127.0.0.1:%s:%s;127.0.0.1:%s"):format(i, p.quorum, p.election, p.client)
  end
  return table.concat(lines, "\n") .. "\n# server_id=" .. id
end

local function command_of(options, place, places)
  local command = { places.java }
  for _, flag in ipairs(JVM) do command[#command + 1] = flag end
  if options.container_interval then
    command[#command + 1] = ("-Dznode.container.checkIntervalMs=%d"):format(options.container_interval)
  end
  command[#command + 1] = "-Dzookeeper.log.dir=" .. place.folder
  if options.sasl then command[#command + 1] = "-Djava.security.auth.login.config=" .. place.folder .. "/jaas.conf" end
  for _, flag in ipairs(options.jvm or {}) do command[#command + 1] = flag end
  local jars = places.tls and places.jars .. ":" .. places.netty or places.jars
  for _, word in ipairs{ "-cp", jars, "org.apache.zookeeper.server.quorum.QuorumPeerMain" } do
    command[#command + 1] = word
  end
  command[#command + 1] = place.folder .. "/zoo.cfg"
  return command
end

-- The users of SASL, in the form that Java reads.
local function write_users(users, folder)
  local lines = { "Server {", "  org.apache.zookeeper.server.auth.DigestLoginModule required" }
  for user, password in pairs(users) do
    lines[#lines + 1] = ('  user_%s="%s"'):format(user, (password:gsub('[\\"]', "\\%0")))
  end
  local file = assert(io.open(folder .. "/jaas.conf", "w"))
  file:write(table.concat(lines, "\n"), ";\n};\n")
  file:close()
end

---One real server, standalone or a member of an ensemble.
---@class zkrecipes.testing.Server
---@field hosts string "127.0.0.1:port", for a session; with TLS its port for TLS
---@field port string its client port, in plain text
---@field tls? { ca: string, cert: string, key: string } with TLS: a session's option `tls`
---@field tick number its tickTime in seconds, for a session's option `tick`
---@field folder string its temporary folder: zoo.cfg, data, log
---@field pid string process id of the JVM, changes at restart
---@field state "starting"|"running"|"paused"|"killed"|"stopped"
local Server = {}
Server.__index = Server

-- Servers live until they are stopped, also when the test keeps nothing but `hosts`.
M.living = {}

local function alive(server)
  if server.state == "stopped" then error("this test server was stopped", 3) end
end

---Starts the supervisor of one server; `begin` and `await` start the server itself.
---@param options zkrecipes.testing.Options
---@param places table from `supervisor.prepare`
---@param id integer which of the places
---@return zkrecipes.testing.Server
function M.spawn(options, places, id)
  local place = places[id]
  local tls = places.tls
  local server = setmetatable({ hosts = "127.0.0.1:" .. (tls and place.secure or place.client), port = place.client,
    folder = place.folder, tls = tls and { ca = tls.ca, cert = tls.cert, key = tls.key },
    tick = (options.tick_time or TICK_TIME) / 1000, limit = options.timeout or 300, state = "starting" }, Server)
  if options.sasl then write_users(options.sasl, place.folder) end
  server.supervisor = supervisor.spawn(place, ("%d"):format(math.ceil(server.limit)),
    config_of(options, places, id), command_of(options, place, places))
  M.living[server] = true
  return server
end

local FAILED = { exited = "ended while it started", silent = "did not serve in time", gone = "lost its supervisor" }

---First half of a (re)start: several servers can be on their way at once.
function M.begin(server)
  server.supervisor:send("start")
  server.state = "starting"
end

---Second half: waits until the server serves.
---@return zkrecipes.testing.Server|nil server
---@return string? message
---@return string? code "start_failed"
function M.await(server)
  local answer = server.supervisor:wait()
  server.pid = answer:match("^ok (%d+)")
  server.state = server.pid and "running" or "killed"
  if server.pid then return server end
  return nil, ("the ZooKeeper server %s %s; the end of its log:\n%s"):format(server.hosts,
    FAILED[answer] or answer, server:log(15)), "start_failed"
end

---The last lines of the server's log.
---@param count? integer lines, default 50
---@return string text
function Server:log(count)
  local file, lines = io.open(self.folder .. "/log"), {}
  if not file then return "" end
  for line in file:lines() do lines[#lines + 1] = line end
  file:close()
  return table.concat(lines, "\n", math.max(1, #lines - (count or 50) + 1))
end

---Kills the server (kill -9); its data stay. Returns when it is dead. Works on a paused server as well.
function Server:kill()
  alive(self)
  self.supervisor:send("kill")
  self.supervisor:wait()
  self.state = "killed"
end

---Starts the server again on the same port and data, after killing it when it runs. Returns when it serves; a member
---of an ensemble serves when a quorum of members runs (for all of them at once: `Ensemble:restart`).
---@return zkrecipes.testing.Server|nil self
---@return string? message
---@return string? code "start_failed"
function Server:restart()
  alive(self)
  M.begin(self)
  return M.await(self)
end

local function signal(server, word, state)
  server.supervisor:send(word)
  if server.supervisor:wait() ~= "ok" then
    return nil, "the ZooKeeper server " .. server.hosts .. " does not run", "not_running"
  end
  server.state = state
  return true
end

---Stops the server's process (SIGSTOP): connections stay open, nothing answers.
---@return boolean|nil done
---@return string? message
---@return string? code "not_running"
function Server:pause()
  alive(self)
  return signal(self, "pause", "paused")
end

---Lets a paused server go on (SIGCONT).
---@return boolean|nil done
---@return string? message
---@return string? code "not_running"
function Server:resume()
  alive(self)
  return signal(self, "resume", "running")
end

---Ends the server and removes its folder. May be called twice.
function Server:stop()
  if self.state == "stopped" then return end
  self.state = "stopped"
  M.living[self] = nil
  self.supervisor:quit()
end
Server.__close = Server.stop

---Sends a four-letter word: server:word("mntr"). Each word is a method as well: server:mntr().
---@param word string
---@param timeout? number seconds, default 60
---@return string|nil answer
---@return string? message
---@return string? code "timeout"
function Server:word(word, timeout)
  alive(self)
  return wire.word(self.port, word, timeout or PATIENCE)
end

for word in ("srvr stat ruok mntr wchs wchc wchp cons crst dump envi conf srst isro"):gmatch("%l+") do
  Server[word] = function(self, timeout)
    alive(self)
    return wire.word(self.port, word, timeout or PATIENCE)
  end
end

---The part this server plays now.
---@return "standalone"|"leader"|"follower"|nil mode nil while it does not serve
function Server:mode()
  alive(self)
  if self.state ~= "running" then return nil end
  local answer = wire.word(self.port, "srvr", PATIENCE)
  return answer and answer:match("Mode: (%a+)")
end

return M
