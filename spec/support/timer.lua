-- A process with a timer on "/e" of its namespace: "every" 0.2 s with a record. It prints "due SECONDS" at each call, and each call
-- lasts for as many seconds as its first line of input says.

local zk = require "zkrecipes"

local session = zk.session { hosts = arg[1], namespace = arg[2], timeout = tonumber(arg[3]), tick = 0.5 }
local stay = io.read "*n"

io.stdout:setvbuf("no")
session:election("/e"):every(0.2, function(_, beat)
  print(("due %.3f"):format(beat.due))
  zk.sleep(stay)
end, { remember = true })
