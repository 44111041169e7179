-- Three workers divide twelve shards; one of them goes, and only its shards move.
-- lua5.4 examples/partitioner.lua [hosts]

local zk = require "zkrecipes"

local PATH = "/zkrecipes-example-partitioner"
local SHARDS = {}
for i = 1, 12 do SHARDS[i] = ("shard-%02d"):format(i) end

zk.run(function()
  local session = zk.session { hosts = arg[1] or "127.0.0.1:2181", timeout = 20 }
  local owners, workers = {}, {}

  for _, id in ipairs { "red", "green", "blue" } do
    local worker = assert(session:partitioner(PATH, SHARDS, { id = id, settle = 0.2 }))
    workers[#workers + 1] = worker
    zk.spawn(function()
      worker:run(function(shard, hold)
        owners[shard] = id
        while hold:valid() do zk.sleep(1) end -- work; zk.sleep raises when the shard moves
      end)
    end)
  end
  for _, worker in ipairs(workers) do assert(worker:ready(30)) end

  -- Waits until these workers have all shards.
  local function divided(count)
    local list, sum
    repeat
      zk.sleep(0.05)
      list, sum = {}, 0
      for i = 1, count do
        local mine = workers[i]:mine()
        list[i], sum = ("%s %d"):format(workers[i].id, #mine), sum + #mine
      end
    until sum == #SHARDS
    return table.concat(list, ", ")
  end

  print(divided(3))
  local before = {}
  for shard, id in pairs(owners) do before[shard] = id end
  assert(workers[3]:close(30))
  print(divided(2))

  local moved, others = 0, 0
  for _, shard in ipairs(SHARDS) do
    if before[shard] == "blue" then moved = moved + 1 elseif owners[shard] ~= before[shard] then others = others + 1 end
  end
  print(("%d shards of blue moved, and %d others"):format(moved, others))
  assert(workers[1]:close(30) and workers[2]:close(30))
  session:delete_tree(PATH)
  session:close()
end)
