-- A planned hand-over: the leader resigns to the candidate that it names, and those between stand again at the end.
-- Run it: lua5.4 examples/successor.lua [hosts]

local zk = require "zkrecipes"

local PATH = "/zkrecipes-example-successor"

local function names(candidates)
  local list = {}
  for i, candidate in ipairs(candidates) do list[i] = candidate.value end
  return table.concat(list, ", ")
end

-- Until so many stand, and this one leads.
local function await(election, count, leader)
  local candidates
  repeat
    zk.sleep(0.02)
    candidates = assert(election:candidates())
  until #candidates == count and candidates[1].value == leader
  return candidates
end

zk.run(function()
  local session = zk.session { hosts = arg[1] or "127.0.0.1:2181", timeout = 20 }
  local old, seen = session:election(PATH, { value = "old 1" }), false
  local term, others = assert(old:campaign()), {}
  for count, name in ipairs { "old 2", "old 3", "new" } do
    others[count] = zk.spawn(function()
      local mine = assert(session:election(PATH, { value = name }):campaign())
      print(name .. " leads")
      while not seen do mine:sleep(0.02) end
      mine:resign()
    end)
    await(old, count + 1, "old 1")
  end

  local candidates = await(old, 4, "old 1")
  print("in line: " .. names(candidates))
  assert(term:resign(candidates[4], 10))       -- or fails, and the term goes on
  print("and now: " .. names(await(old, 3, "new")))
  seen = true

  for i = 1, #others do others[i]:wait() end
  session:delete(PATH) -- its directory; refused while others stand there
end)
