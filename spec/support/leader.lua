-- A process that leads "/e" of its namespace as often as it can, and prints it: "leading TOKEN"; then, when its function is stopped,
-- "stopped" and whether the term was still valid.

local zk = require "zkrecipes"

local session = zk.session { hosts = arg[1], namespace = arg[2], timeout = tonumber(arg[3]), tick = 0.5 }

io.stdout:setvbuf("no")
session:election("/e", { value = "child" }):lead(function(term)
  print("leading " .. term.token)
  while term:sleep(0.01) do end
  print("stopped " .. tostring(term:valid()))
end)
