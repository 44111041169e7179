-- How often sessions connect while no server serves: each pauses, whatever the other ones of the process do.
-- Tags: sanitize

local env = require "spec.support.env"
local lfs = require "lfs"
local zk = require "zkrecipes"

local TIMEOUT = 6
local PAUSE = TIMEOUT / 60 -- of the client library, when it has tried all servers

-- Starts hostile_child.lua. Returns its address, a function that says how many connections it has ended, and one that ends it.
local function hostile_server()
  local file = os.tmpname()
  local pipe = io.popen(("echo $$; exec %s spec/support/hostile_child.lua %s"):format(env.interpreter(), file))
  local pid, port = pipe:read "*l", assert(pipe:read "*l", "it has not started")
  local function connections() return lfs.attributes(file, "size") end
  local function stop()
    os.execute("kill -9 " .. pid)
    pipe:close()
    os.remove(file)
  end
  return "127.0.0.1:" .. port, connections, stop
end

describe("sessions without a server", function()
  local hosts, connections, stop
  before_each(function() hosts, connections, stop = hostile_server() end)
  after_each(function() stop() end)

  it("pause between their attempts, though they do not pause at the same time", env.run(function()
    local sessions, began = {}, zk.now()
    for number = 1, 4 do
      sessions[number] = zk.session { hosts = hosts, timeout = TIMEOUT }
      zk.sleep(PAUSE / 4)
    end
    env.eventually("some attempts", function() return zk.now() > began + 2 and connections() > 8 end)
    local attempts, most = connections(), #sessions * ((zk.now() - began) / PAUSE + 2)
    for _, session in ipairs(sessions) do session:close(0) end
    assert.is_true(attempts <= most, ("%d attempts; %.0f are enough"):format(attempts, most))
  end))
end)
