-- What `zkr doctor` finds out about one server, and about the ensemble as this client sees it. Asks only; doctor.lua judges.

local words = require "zkrecipes.cli.words"

local M = {}

local SAMPLES = 5 -- of the round trip; the shortest counts

-- Reads the answer to `srvr`.
local function read_srvr(server, text)
  server.version = text:match "Zookeeper version: ([%w.]+)"
  server.mode = text:match "Mode: (%a+)"
  server.connections = tonumber(text:match "Connections: (%d+)")
  server.outstanding = tonumber(text:match "Outstanding: (%d+)")
end

-- Opens a session with this server alone.
local function try_session(context, server)
  local zk, settings = context.zk, context.settings
  local session = zk.session { hosts = server.name, timeout = settings.timeout, request_timeout = settings.timeout, auth = settings.auth,
    tls = settings.tls, sasl = settings.sasl, log = function() end }
  local connected, message = session:connected(math.min(settings.timeout, words.limit(settings)))
  if connected then
    server.timeout = session.timeout
    for _ = 1, SAMPLES do
      local begun = zk.now()
      if session:exists "/" == nil then break end
      server.round_trip = math.min(server.round_trip or math.huge, zk.now() - begun)
    end
  else
    server.refused = session.trouble or message
  end
  session:close(1)
end

-- server: name, host, port. Fills in:
--   problem      it does not answer `srvr`, and why; silent: because it does not allow the word; unasked: because of TLS
--   version, mode, connections, outstanding
--   refused      it lets no session in, and why; else timeout (seconds, as it agreed to), round_trip (seconds)
--   most         the most connections that it allows from one address; nil, if it does not allow the word `conf`
function M.server(context, server)
  local answer, problem, refused = words.ask(context, server, "srvr")
  if answer then
    read_srvr(server, answer)
  else
    server.problem, server.silent, server.unasked = problem, refused ~= nil, refused == "unasked"
  end
  if not answer and not server.silent then return server end
  try_session(context, server)
  server.most = tonumber((words.ask(context, server, "conf") or ""):match "maxClientCnxns=(%d+)")
  return server
end

-- How many seconds the leader's clock is ahead of ours, and how exact that is; from the time of a znode that is created now.
function M.skew(context)
  local session, uv = context:session(), context.uv
  local function time()
    local seconds, microseconds = uv.gettimeofday()
    return seconds + microseconds / 1e6
  end
  local before = time()
  local path, message, code = session:create("/zkr-doctor-", nil, { ephemeral = true, sequential = true })
  local after = time()
  if not path then return nil, message, code end
  local stat = session:exists(path)
  session:delete(path)
  if not stat then return nil, "the znode is gone" end
  return stat.ctime / 1000 - (before + after) / 2, (after - before) / 2
end

-- The connections from our address to this server, without that of the question; nil if it does not allow `cons`.
function M.from_here(context, server)
  local session = context:session()
  local clients = words.clients(context)
  local ours = clients[session.id]
  local answer = ours and words.ask(context, server, "cons")
  if not answer then return nil end
  return select(2, answer:gsub("/" .. ours:gsub("%p", "%%%0") .. ":%d+%[", "")) - 1
end

return M
