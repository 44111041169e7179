-- A coordinator or a participant of "/tp" in its namespace, which specs kill. Its first line of input says which:
--
--   run ID NAME...      runs the transaction ID with these participants; prints "began", then the outcome
--   serve NAME FILE     serves, and adds a line "prepare ID", "commit ID" or "abort ID" to the file at each call; prints "began"

local zk = require "zkrecipes"

local session = zk.session { hosts = arg[1], namespace = arg[2], timeout = tonumber(arg[3]), tick = 0.5 }
local two = session:two_phase("/tp", { keep = 60 })

local words = {}
for word in io.read("*l"):gmatch "%S+" do words[#words + 1] = word end

local function note(line)
  local file = assert(io.open(words[3], "a"))
  file:write(line, "\n")
  file:close()
  return true
end

io.stdout:setvbuf("no")
print("began")
if words[1] == "run" then
  local id = words[2]
  print(two:run(id, "data", { (table.unpack or unpack)(words, 3) }, 300)) -- luacheck: ignore 113 143
else
  local participant = assert(two:serve(words[2], {
    prepare = function(id) return note("prepare " .. id) end,
    commit = function(id) return note("commit " .. id) end,
    abort = function(id) return note("abort " .. id) end,
  }))
  participant:wait()
end
