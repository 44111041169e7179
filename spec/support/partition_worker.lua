-- A member of a partitioner that prints every step on standard output, so that a spec that kills it sees how far it has come:
--
--     partition_worker.lua HOSTS NAMESPACE ID PARTS
--
-- Lines: "made"; "begin PART TOKEN"; "wrote PART TOKEN ZXID", of a guarded write; "ready". It runs until it is killed.

local zk = require "zkrecipes"

local hosts, namespace, id, count = arg[1], arg[2], arg[3], tonumber(arg[4])
io.stdout:setvbuf("no")

local function say(...) print(table.concat({ ... }, " ")) end

local function serve(part, hold)
  say("begin", part, hold.token)
  while true do
    local stat, _, code = hold:set("/out/" .. part, hold.token)
    if stat then say("wrote", part, hold.token, stat.mzxid) elseif code == "lost" then return end
    zk.sleep(0.05)
  end
end

zk.run(function()
  local session = zk.session { hosts = hosts, namespace = namespace, timeout = 6, tick = 0.5 }
  local parts = {}
  for i = 1, count do parts[i] = "part" .. i end
  local partitioner = assert(session:partitioner("/app", parts, { id = id, settle = 0.1 }))
  say("made")
  zk.spawn(function()
    assert(partitioner:ready())
    say("ready")
  end)
  partitioner:run(serve)
end)
