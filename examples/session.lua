-- Plain ZooKeeper: create, read, write, list, several writes at once, and a watch.
-- Run it: lua5.4 examples/session.lua [hosts]

local zk = require "zkrecipes"

local ROOT = "/zkrecipes-example-session"

-- Tells of the changes at one path until the znode is deleted.
local function follow(watch)
  local what
  repeat
    what = assert(watch:wait(60))
    print("watch: " .. what)
  until what == "deleted"
  watch:close()
  return "followed to the end"
end

zk.run(function()
  local session = zk.session { hosts = arg[1] or "127.0.0.1:2181", timeout = 20 }
  session:delete_tree(ROOT) -- what an earlier run may have left

  assert(session:create(ROOT .. "/conf", "level=1", { parents = true }))
  local watcher = zk.spawn(follow, assert(session:watch(ROOT .. "/conf")))

  -- Read and write; the version makes sure that nobody has written in between.
  local data, stat = assert(session:get(ROOT .. "/conf"))
  print("read " .. data .. ", version " .. stat.version)
  stat = assert(session:set(ROOT .. "/conf", "level=2", stat.version))
  print("wrote version " .. stat.version)
  local _, message, code = session:set(ROOT .. "/conf", "level=3", 0)
  print(code, message)

  -- A sequential znode gets a number; an ephemeral one vanishes with the session.
  local path = assert(session:create(ROOT .. "/job-", "", { sequential = true, ephemeral = true }))
  print("created " .. path)

  -- All of it or nothing.
  assert(session:multi {
    { "check", ROOT .. "/conf", stat.version },
    { "create", ROOT .. "/log", "started" },
    { "delete", path },
  })
  local names = assert(session:children(ROOT))
  table.sort(names)
  print("children: " .. table.concat(names, " "))

  assert(session:delete_tree(ROOT))
  print("still there: " .. tostring(session:exists(ROOT)))
  print(assert(watcher:wait(60)))
  session:close()
end)
