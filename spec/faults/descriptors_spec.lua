-- A process without free file descriptors gets a clear message.

local env = require "spec.support.env"
local process = require "spec.support.process"

local PROGRAM = [[
local zk = require "zkrecipes"
zk.run(function()
  local files, session = {}, nil
  if MODE == "later" then
    session = zk.session { hosts = "127.0.0.1:1", timeout = 2 }
    session:connected(0.2)
    session:close(100) -- it would give its descriptor back later
  end
  repeat
    local file = io.open("/dev/null")
    files[#files + 1] = file -- if one were collected, its descriptor would be free
  until not file
  session = zk.session { hosts = "HOST", timeout = 2, log = function(_, text) print("log: " .. text) end }
  local ok, message, code
  for _ = 1, 300 do
    ok, message, code = session:connected(1)
    if ok or message:find("not connected", 1, true) then break end
  end
  print(code .. ": " .. message)
end)
]]

describe("without a free file descriptor", function()
  for _, case in ipairs {
    { "the first session", "first", "127.0.0.1:1", "no free file descriptor" },
    { "a name", "later", "localhost:1", "no free file descriptor" },
    { "a connection", "later", "127.0.0.1:1", "Too many open files" },
  } do
    it(case[1] .. " fails with this reason, not with exhausted memory", function()
      local name = os.tmpname()
      local file = assert(io.open(name, "w"))
      file:write((PROGRAM:gsub("MODE", '"' .. case[2] .. '"'):gsub("HOST", case[3])))
      file:close()
      local text = process.output(("ulimit -n 40; %s %s 2>&1"):format(env.interpreter(), name))
      os.remove(name)
      assert.matches("connection_loss: session:connected .*not connected: .*" .. case[4], text)
      assert.matches("log: .*" .. case[4], text)
      assert.is_nil(text:find("memory"), text)
      assert.is_true(select(2, text:gsub("log: ", "")) <= 4, text)
    end)
  end
end)
