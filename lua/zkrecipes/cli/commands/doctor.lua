-- zkr doctor: asks every server, and says in one sentence each what is wrong with this configuration.

local arguments = require "zkrecipes.cli.arguments"
local checkup = require "zkrecipes.cli.checkup"
local clean = require "zkrecipes.cli.clean"
local exit = require "zkrecipes.cli.exit"
local format = require "zkrecipes.cli.format"
local pool = require "zkrecipes.cli.pool"
local problem = require "zkrecipes.cli.problem"
local words = require "zkrecipes.cli.words"

local M = { name = "doctor", group = "Servers", summary = "Ask every server, and say what is wrong." }

M.examples = [[
zkr doctor
zkr -s zk1:2181,zk2:2181,zk3:2181 --timeout 30 doctor
]]

local SKEW = 1 -- seconds

function M.define(parser)
  parser:description("Ask every server: does it answer, does it lead, how long is a round trip, which version. Then say in one sentence "
    .. "each what is wrong; exit with 1 if something is. Creates and deletes one znode, to read the servers' clock.")
  arguments.json(parser, "Print a JSON object.")
end

-- ---- What may be wrong: each function returns sentences -------------------------------------------

-- A session refuses such a list. The client would take all behind the first '/' for one path, so the servers behind it would not count.
local function chroot_inside(context, say)
  local inside = context.settings.hosts:match "(/[^,]*),"
  if inside then
    say("The chroot '%s' stands in the midst of the hosts, so no session can be opened; write it once, behind the last host.", inside)
  end
  return inside ~= nil
end

local function not_answering(servers, say)
  local dead = 0
  for _, server in ipairs(servers) do
    if server.problem and not server.silent then
      dead = dead + 1
      say("%s does not answer: %s.", server.name, server.problem)
    elseif server.silent and not server.unasked then
      say("%s does not allow the word `srvr`, so its mode and version are unknown; see 4lw.commands.whitelist.", server.name)
    end
    if server.refused then say("%s lets no session in: %s.", server.name, server.refused) end
  end
  if dead * 2 >= #servers and dead > 0 and #servers > 1 then
    say("%d of %d servers do not answer, so the others have no majority.", dead, #servers)
  end
end

-- The names of the servers with this value of the field.
local function names_with(servers, field, value)
  local names = {}
  for _, server in ipairs(servers) do
    if server[field] == value then names[#names + 1] = server.name end
  end
  return names
end

local function leaders(servers, say)
  local leading, alone = names_with(servers, "mode", "leader"), names_with(servers, "mode", "standalone")
  if #alone > 0 and #servers > 1 then
    say("%s: each runs standalone, so %s.", table.concat(alone, ", "),
      #alone > 1 and "these servers share nothing" or "it is no member of the others' ensemble")
  elseif #leading > 1 then
    say("%s: each leads, so they belong to different ensembles.", table.concat(leading, ", "))
  elseif #leading + #alone == 0 and #names_with(servers, "mode", "follower") > 0 then
    say "No server of this list leads. The leader may be missing in the list."
  elseif #leading + #alone == 0 and #names_with(servers, "silent", true) == 0 then
    say "No server leads, so no session can be opened."
  end
end

local function versions(servers, say)
  local first
  for _, server in ipairs(servers) do
    first = first or server.version and server
    if server.version and server.version ~= first.version then
      say("%s has version %s, but %s has version %s.", server.name, server.version, first.name, first.version)
    end
  end
end

local function timeouts(servers, say, asked)
  for _, server in ipairs(servers) do
    if server.timeout and math.abs(server.timeout - asked) > 0.001 then
      say("%s changes the session's timeout from %g s to %g s; see --timeout, and minSessionTimeout and maxSessionTimeout of the server.",
        server.name, asked, server.timeout)
    end
  end
end

local function connections(context, servers, say)
  for _, server in ipairs(servers) do
    local here = server.most and server.most > 0 and checkup.from_here(context, server)
    if here and here * 5 >= server.most * 4 then
      say("%s has %d connections from this address, and allows %d; see maxClientCnxns.", server.name, here, server.most)
    end
  end
end

local function clocks(context, say)
  local ahead, exact = checkup.skew(context)
  if not ahead then
    say("The servers' clock is unknown: %s.", exact)
  elseif math.abs(ahead) > SKEW + exact then
    say("The clock of the servers is %.1f s %s the clock of this machine.", math.abs(ahead), ahead > 0 and "ahead of" or "behind")
  end
end

-- True if a session with the whole list opens. Servers that let a session in a moment ago may be without a leader now.
local function opens(context, servers, say)
  local some = false
  for _, server in ipairs(servers) do some = some or server.timeout ~= nil end
  if not some then return false end
  local opened, raised = pcall(context.session, context)
  if opened then return true end
  if not problem.is(raised) then error(raised, 0) end
  say("No session can be opened with the whole list: %s.", raised.text)
  return false
end

-- ---- The report ----------------------------------------------------------------------------------

local function row_of(server)
  if server.problem and not server.silent then return { server.name, "does not answer" } end
  return { server.name, server.mode or "unknown", server.round_trip and ("%.1f ms"):format(server.round_trip * 1e3) or "no session",
    server.version or "unknown", ("%s"):format(server.connections or "unknown") }
end

local function print_text(context, servers, problems)
  local rows = { { "SERVER", "MODE", "ROUND TRIP", "VERSION", "CONNECTIONS" } }
  for _, server in ipairs(servers) do rows[#rows + 1] = row_of(server) end
  context:write(format.columns(rows))
  context:write(#problems > 0 and "\n" .. table.concat(problems, "\n") .. "\n" or "\nNothing is wrong.\n")
end

local function print_json(context, servers, problems)
  local list = {}
  for i, server in ipairs(servers) do
    list[i] = { name = server.name, mode = server.mode, version = server.version, connections = server.connections,
      round_trip = server.round_trip, problem = not server.unasked and server.problem or server.refused }
  end
  context:print_json({ servers = list, problems = #problems > 0 and problems or nil }, { "servers", "problems" })
end

function M.run(context, given)
  local servers, problems = words.servers(context.settings.hosts), {}
  local function say(...) problems[#problems + 1] = clean((...):format(select(2, ...))) end
  pool(context.zk, servers, function(server) return checkup.server(context, server) end)
  not_answering(servers, say)
  leaders(servers, say)
  versions(servers, say)
  timeouts(servers, say, context.settings.timeout)
  if not chroot_inside(context, say) and opens(context, servers, say) then
    connections(context, servers, say)
    clocks(context, say)
  end
  (given.json and print_json or print_text)(context, servers, problems)
  return #problems > 0 and exit.NO or exit.OK
end

return M
