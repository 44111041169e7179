-- A forked child is noticed, whatever the kernel says. Needs no server.

local hang = assert(package.searchpath("spec_hang", package.cpath))

local PROGRAM = [[
  local process, zk = require "spec_fork", require "zkrecipes"
  zk.run(function()
    local session = zk.session { hosts = "127.0.0.1:1" }
    local pid = process.fork()
    if pid == 0 then process.exit(select(3, session:get "/") == "forked" and 7 or 1) end
    io.write(process.wait(pid))
  end)
]]

-- What the program writes in this environment.
local function run(environment)
  local file = os.tmpname()
  local program = assert(io.open(file, "w"))
  program:write(PROGRAM)
  program:close()
  local pipe = assert(io.popen(("env %s %s %s"):format(environment, os.getenv "ZR_LUA", file)))
  local text = pipe:read "*a"
  pipe:close()
  os.remove(file)
  return text
end

describe("a child", function()
  it("is noticed", function() assert.equal("7", run "") end)

  it("is noticed where the kernel takes no advice on memory, but says that it did", function()
    assert.equal("7", run("HANG_NO_ADVICE=yes LD_PRELOAD=" .. hang))
  end)
end)
