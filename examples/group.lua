-- Three workers in a group; each shares the work by its place among the members.
-- lua5.4 examples/group.lua [hosts]

local zk = require "zkrecipes"

local PATH = "/zkrecipes-example-group"

zk.run(function()
  local session = zk.session { hosts = arg[1] or "127.0.0.1:2181", timeout = 20 }
  local group = session:group(PATH, { grace = 5 })

  local members = {}
  for i, id in ipairs { "red", "green", "blue" } do
    members[i] = group:join("port " .. 8000 + i, { id = id })
    assert(members[i]:ready(30))
  end

  local function show(n)
    for place, member in ipairs(assert(group:await(n, 30))) do print(("%d of %d: %s at %s"):format(place, n, member.id, member.data)) end
  end
  show(3)

  local changes = group:changes()
  for _ = 1, 3 do assert(changes:next(30)) end -- those who are there
  assert(members[2]:update("port 9000"))
  local change = assert(changes:next(30))
  print(change.kind, change.id, change.before, change.data)
  assert(members[1]:leave(30))
  change = assert(changes:next(30)) -- after the grace
  print(change.kind, change.id)

  assert(members[2]:leave(30) and members[3]:leave(30))
  group:close()
  session:delete(PATH)
  session:close()
end)
