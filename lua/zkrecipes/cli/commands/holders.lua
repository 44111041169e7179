-- zkr holders: the contenders at a lock, a read/write lock, a semaphore or an election, in order.

local arguments = require "zkrecipes.cli.arguments"
local exit = require "zkrecipes.cli.exit"
local format = require "zkrecipes.cli.format"
local words = require "zkrecipes.cli.words"
local znode = require "zkrecipes.cli.znode"

local M = { name = "holders", group = "Servers", summary = "Show which sessions hold a lock or an election, and which wait." }

M.examples = [[
zkr holders /locks/report
zkr holders /leader >/dev/null || echo 'no leader'
zkr holders --json /pool | jq -r 'select(.holding).host'
]]

function M.define(parser)
  parser:description("Show which sessions hold a lock, a semaphore or an election, and which wait: since when, from which host. "
    .. "Exits with 1 if no session holds it. Hosts need servers that allow the four-letter word `cons`.")
  arguments.path(parser, "The path of the lock, the semaphore or the election.")
  arguments.json(parser, "Print one JSON object per contender.")
end

local KEYS = { "path", "holding", "shared", "permits", "since", "session", "host", "token", "data", "data_base64" }

local function fields_of(one, host)
  local fields = { host = host }
  for key, value in pairs(one) do fields[key] = value end
  fields.data = nil
  znode.put_data(fields, one.data)
  return fields
end

local function row_of(one, host)
  local state = one.holding and "holds" or "waits"
  if one.shared then state = state .. ", shared" end
  if one.permits then state = ("%s %d"):format(state, one.permits) end
  return { state, format.age(os.time() - one.since), host or "", one.session, format.line(one.data, 24), one.path:match "[^/]*$" }
end

-- An unfair lock is an ephemeral znode itself.
local function contenders(context, path)
  local session = context:session()
  local stat = context:check(path, session:exists(path))
  if not stat then context:check(path, nil, "", "no_node") end
  return context:check(path, session:lock(path, { fair = not stat.ephemeral_owner }):contenders())
end

function M.run(context, given)
  local found = contenders(context, given.path)
  local clients, allowed = {}, true
  if #found > 0 then clients, allowed = words.clients(context) end
  if not allowed then
    context:note(context.settings.tls and "the hosts are unknown, because four-letter words are not asked by TLS"
      or "the hosts are unknown, because no server allows `cons`; add it to 4lw.commands.whitelist of the servers")
  end
  local rows, held = { { "STATE", "SINCE", "HOST", "SESSION", "DATA", "ZNODE" } }, false
  for _, one in ipairs(found) do
    held = held or one.holding
    if given.json then context:print_json(fields_of(one, clients[one.session]), KEYS) end
    rows[#rows + 1] = row_of(one, clients[one.session])
  end
  if not given.json and #found > 0 then context:write(format.columns(rows)) end
  if not held then context:fail(exit.NO, given.path .. ": no session holds it") end
end

return M
