-- Requests one after the other, by spec/faults/direct_spec.lua: `lua direct_child.lua HOSTS PATH COUNT`. Prints how they ended. Some of its
-- sockets are those of a forked process, too.

local collect = require "spec.support.collect"
local fork = require "spec_fork"
local zk = require "zkrecipes"

local hosts, path, count = arg[1], arg[2], tonumber(arg[3])
local ends, FORKS = {}, 5

local function fork_one()
  local own = io.open("/proc/self/stat"):read("*n")
  if fork.fork() ~= 0 then return end
  os.execute(("while kill -0 %d; do sleep 0.05; done 2>/dev/null >/dev/null"):format(own))
  fork.exit(0)
end

local function requests()
  local session = zk.session { hosts = hosts, timeout = 100, log = function() end }
  for i = 1, count do
    assert(session:connected(200))
    if i <= FORKS then
      for _ = 1, 10 do assert(session:exists(path)) end -- then the I/O thread sleeps
      fork_one()
    end
    local done, _, code = session:set(path, ("data"):rep(100))
    local word = done and "done" or code
    ends[word] = (ends[word] or 0) + 1
  end
  session:close(200)
end

zk.run(function()
  requests()
  collect() -- all of the session is freed
  collect()
  local session = zk.session { hosts = hosts, timeout = 100 }
  assert(session:exists(path))
  session:close(200)
end)

for word, times in pairs(ends) do print(word .. " " .. times) end
