-- Two banks, each in a process of its own in real life, transfer money together or not at all.
-- lua5.4 examples/two_phase.lua [hosts]

local zk = require "zkrecipes"

local PATH = "/zkrecipes-example-two-phase"

local function bank(name, money)
  local session = zk.session { hosts = arg[1] or "127.0.0.1:2181", timeout = 20 }
  local reserved = {}
  local participant = session:two_phase(PATH):serve(name, {
    prepare = function(id, data)
      local change = tonumber(data:match(name .. " ([+-]%d+)"))
      if money + change < 0 then return nil, "not enough money" end
      reserved[id] = change
      return true
    end,
    commit = function(id)                        -- may be called twice for one id
      money, reserved[id] = money + (reserved[id] or 0), nil
    end,
    abort = function(id) reserved[id] = nil end,
  })
  return { name = name, participant = participant, money = function() return money end }
end

zk.run(function()
  local session = zk.session { hosts = arg[1] or "127.0.0.1:2181", timeout = 20 }
  local transfers = session:two_phase(PATH)
  local north, south = bank("north", 100), bank("south", 0)

  local run = zk.now()                           -- an id is one transaction: another run of this program needs other ids
  for number, sum in ipairs { 60, 60, 40 } do
    print(sum, transfers:run(("%s-%d"):format(run, number), ("north -%d, south +%d"):format(sum, sum), { "north", "south" }, 60))
  end
  repeat zk.sleep(0.02) until #assert(transfers:pending()) == 0
  print("north has " .. north.money() .. ", south has " .. south.money())

  north.participant:stop()
  south.participant:stop()
  session:delete_tree(PATH)
  session:close()
end)
