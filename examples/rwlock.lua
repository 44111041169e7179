-- A table that many read and few rebuild.
-- Run it, or run it twice at the same moment: lua5.4 examples/rwlock.lua [hosts]

local zk = require "zkrecipes"

zk.run(function()
  local session = zk.session { hosts = arg[1] or "127.0.0.1:2181", timeout = 20 }
  local rw = session:rwlock("/zkrecipes-example-rwlock", { data = "the example" })

  local function read(name)
    rw:reader():with(30, function(hold)
      print(name .. " reads, token " .. hold.token)
      zk.sleep(0.1)
    end)
  end
  zk.all { function() read("one") end, function() read("another") end } -- at the same time

  local hold = assert(rw:write(30))
  print("writing, alone")
  local late = zk.spawn(read, "a third")
  zk.sleep(0.1)
  assert(hold:downgrade()) -- what was written may be read; no other writer came between
  late:wait()
  print("read by two: " .. tostring(hold.shared))
  hold:release()

  session:delete("/zkrecipes-example-rwlock") -- its directory; refused while others wait there
  session:close()
end)
