-- Two programs say that they are there, and where; a third one sees who is.
-- lua5.4 examples/presence.lua [hosts]

local zk = require "zkrecipes"

local DIR = "/zkrecipes-example-presence"

zk.run(function()
  local hosts = arg[1] or "127.0.0.1:2181"
  local observer = zk.session { hosts = hosts, timeout = 20 }
  local workers = observer:tree(DIR)

  local function show(count)
    assert(workers:await(function(tree) return #(tree:children() or {}) == count end, 30))
    local names = workers:children() or {}
    for i, name in ipairs(names) do names[i] = name .. " at " .. workers:get(DIR .. "/" .. name) end
    print(#names > 0 and table.concat(names, ", ") or "nobody")
  end

  local session = zk.session { hosts = hosts, timeout = 20 }
  local one, two = session:presence(DIR .. "/one", "port 8001"), session:presence(DIR .. "/two", "port 8002")
  assert(one:ready(30) and two:ready(30))
  show(2)

  assert(two:update("port 9002"))
  assert(workers:await(function(tree) return tree:get(DIR .. "/two") == "port 9002" end, 30))
  show(2)

  assert(one:leave(30))
  show(1)
  session:close() -- the servers delete the other one
  show(0)
  workers:close()
  observer:delete(DIR)
  observer:close()
end)
