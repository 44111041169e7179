-- A program that has its configuration in ZooKeeper, and follows its changes.
-- lua5.4 examples/tree.lua [hosts]

local zk = require "zkrecipes"

local DIR = "/zkrecipes-example-tree"

zk.run(function()
  local session = zk.session { hosts = arg[1] or "127.0.0.1:2181", timeout = 20 }
  assert(session:create(DIR, "1.0"))
  local conf = session:tree(DIR)
  assert(conf:ready(30))
  print("version " .. conf:get())

  local follower = zk.spawn(function()
    for change in conf:changes() do
      local before = change.before and change.before.data or "-"
      print(("%s %s: %s > %s"):format(change.kind, change.path:sub(#DIR + 1), before, change.data or "-"))
    end
    print("closed")
  end)

  -- Waits until the program has seen what another one might have written.
  local function write(method, name, value)
    assert(session[method](session, DIR .. name, value))
    assert(conf:await(function(tree) return tree:get(DIR .. name) == value end, 30))
    zk.sleep(0)
  end
  write("create", "/limit", "10")
  write("set", "/limit", "20")
  write("delete", "/limit")

  for path, data in conf:pairs() do print("left: " .. path:sub(2) .. " " .. data) end
  conf:close()
  follower:wait()
  assert(session:delete_tree(DIR))
  session:close()
end)
