-- The connections of many real sessions break a few times: each waiter keeps its watches, one znode and the memory that it had.

local core = require "zkrecipes.core"
local env = require "spec.support.env"
local proxies = require "spec.support.proxy"
local testing = require "zkrecipes.testing"
local zk = require "zkrecipes"

local SESSIONS, CUTS = 40, 8
local WATCHES = 2 * SESSIONS - 1 -- each on the one ahead and on its announcement; the first needs no announcement

local server = assert(testing.start())
local proxy = proxies.start(server)

local function watches() return tonumber(server:mntr():match("zk_watch_count%s+(%d+)")) end

env.run(function()
  local holder = zk.session { hosts = server.hosts, timeout = 60 }
  local hold = assert(holder:lock("/l"):acquire())
  local sessions, waits, blocks, bytes = {}, {}, nil, nil
  for i = 1, SESSIONS do
    sessions[i] = zk.session { hosts = proxy.hosts, timeout = 60 }
    waits[i] = env.start(function() assert(sessions[i]:lock("/l"):acquire()):release() end)
  end
  for i = 1, CUTS do
    env.queue_of(holder, "/l", SESSIONS + 1)
    env.eventually("all watch", function() return watches() == WATCHES end)
    for _, session in ipairs(sessions) do assert(session:sync("/")) end
    if i == 3 then blocks, bytes = env.blocks(), core.alloc_bytes() end
    proxy:reset()
    proxy:cut()
    assert(proxy:wait_for("connections", SESSIONS, 300))
  end
  env.eventually("all watch again", function() return watches() == WATCHES end) -- the server may not have noticed the cuts yet
  for _, session in ipairs(sessions) do assert(session:sync("/")) end
  assert(env.blocks() <= blocks, env.blocks() .. " blocks after " .. blocks)
  assert(core.alloc_bytes() <= bytes + 16 * blocks, core.alloc_bytes() .. " bytes after " .. bytes) -- the C library rounds blocks up
  hold:release()
  for i = 1, SESSIONS do waits[i]() end
  env.queue_of(holder, "/l", 0)
  env.eventually("nothing is watched", function() return watches() == 0 end)
  for _, session in ipairs(sessions) do session:close() end
  holder:close()
end)()
proxy:stop()
server:stop()
