-- Random numbers of a process and of its child differ. Needs no server.

local fork = require "spec_fork"
local random = require "zkrecipes.random"
local zk = require "zkrecipes"

describe("random numbers", function()
  it("are from 0 and below 1, and spread", function()
    local sum = 0
    for _ = 1, 1000 do
      local number = random.number()
      assert.is_true(number >= 0 and number < 1)
      sum = sum + number
    end
    assert.is_true(sum > 400 and sum < 600) -- ten deviations
  end)

  it("of a child of the process are others than those of the parent", function()
    zk.run(function() zk.sleep(0) end) -- so that the host has an engine
    random.number()
    local name = os.tmpname()
    local pid = fork.fork()
    if pid == 0 then
      zk.run(function() zk.sleep(0) end)
      local file = assert(io.open(name, "w"))
      file:write(("%.17g"):format(random.number()))
      file:close()
      fork.exit(0)
    end
    assert.equal(0, fork.wait(pid))
    local file = assert(io.open(name))
    local other = file:read("*a")
    file:close()
    os.remove(name)
    assert.is_not.equal(("%.17g"):format(random.number()), other)
  end)
end)
