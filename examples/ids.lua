-- Two processes number their orders from one sequence, with one request for a hundred numbers each; and name their files.
-- lua5.4 examples/ids.lua [hosts]

local zk = require "zkrecipes"

local PATH = "/zkrecipes-example-ids"

zk.run(function()
  local session = zk.session { hosts = arg[1] or "127.0.0.1:2181", timeout = 20 }
  local other = zk.session { hosts = arg[1] or "127.0.0.1:2181", timeout = 20 }
  local mine, theirs = session:ids(PATH, { block = 100 }), other:ids(PATH, { block = 100 })

  print("mine: " .. assert(mine:next()) .. ", " .. assert(mine:next()))
  print("theirs: " .. assert(theirs:next()) .. ", " .. assert(theirs:next()))
  print("mine: " .. assert(mine:next()))
  local one, two = assert(mine:next_name "report-"), assert(theirs:next_name "report-")
  print("names: " .. #one .. " letters, " .. (one < two and "one after the other" or "the same"))

  assert(session:delete_tree(PATH))
  session:close()
  other:close()
end)
