-- Requests one after the other, by spec/faults/direct_spec.lua: `lua direct_child.lua HOSTS PATH COUNT`. Prints how they ended.

local zk = require "zkrecipes"

local hosts, path, count = arg[1], arg[2], tonumber(arg[3])
local ends = {}

zk.run(function()
  local session = zk.session { hosts = hosts, timeout = 100, log = function() end }
  for _ = 1, count do
    assert(session:connected(200))
    local done, _, code = session:set(path, ("data"):rep(100))
    local word = done and "done" or code
    ends[word] = (ends[word] or 0) + 1
  end
  session:close(200)
end)

for word, times in pairs(ends) do print(word .. " " .. times) end
