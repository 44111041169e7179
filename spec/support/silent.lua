-- A server that hangs: what a session says of it.

local assert = require "luassert"
local env = require "spec.support.env"
local zk = require "zkrecipes"

-- Fails unless a session with these options says with this pattern what the server does not answer, also when the client library gives up
-- before we do: after some attempts its own limit, a share of the session's timeout, is the shorter one. server: { hosts =,
-- connections = }; without the latter each attempt has a line of the log.
return function(pattern, server, options)
  local lines = {}
  local all = { hosts = server.hosts, timeout = 2, log = function(_, line) lines[#lines + 1] = line end }
  for name, value in pairs(options) do all[name] = value end
  local session = zk.session(all)
  env.eventually("six attempts", function() return (server.connections or 2 * #lines) >= 6 end)
  env.eventually(pattern, function() return session.trouble and session.trouble:find(pattern) end)
  env.eventually("the message has it", function()
    return env.fails("connection_loss", session:exists("/", { timeout = 0.2 })):find(pattern)
  end)
  local text = table.concat(lines, "\n")
  assert.matches(pattern, text)
  local client = { "it did not answer in time", "the connection broke", "zk retcode" } -- its own words
  for _, words in ipairs(client) do assert.is_nil(text:find(words, 1, true), text) end
  session:close(0)
end
