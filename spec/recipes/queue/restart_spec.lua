-- A real server starts again after the end of a session that had as many claims as it may have: the end is one transaction in the server's
-- log, which names all of them, and a server cannot read one that is too large.

local env = require "spec.support.env"
local testing = require "zkrecipes.testing"
local zk = require "zkrecipes"

local PATH = "/" .. ("x"):rep(2000) .. "-"
local COUNT = 600 -- claims of each queue; the bytes of both are more than a server can read

describe("a server", function()
  local server
  setup(function() server = assert(testing.start()) end)
  teardown(function() server:stop() end)

  it("starts again after the end of a session with all the claims that it may have", env.run(function()
    local session = zk.session { hosts = server.hosts, timeout = 100, request_timeout = 100 }
    local items, refused = {}, 0
    for number = 1, 2 do
      local queue, list = session:queue(PATH .. number), {}
      for i = 1, COUNT do list[i] = "x" end
      assert(queue:put_all(list, 100))
      for _ = 1, COUNT do
        local item, _, code = queue:claim(100)
        items[#items + 1] = item
        if not item then assert.equal("full", code) end
        refused = refused + (item and 0 or 1)
      end
    end
    assert.equal(2 * COUNT, #items + refused)
    assert.is_true(refused > 0)
    local usage = session:usage()
    assert.is_true(usage.ephemeral_bytes <= usage.ephemeral_bytes_limit)
    assert.is_true(session:close(60))
    local look = zk.session { hosts = server.hosts, timeout = 100, request_timeout = 100 }
    env.eventually("the server has ended it", function() return #assert(look:children(PATH .. "1/claims")) == 0 end)
    look:close()
    assert(server:restart())
    local other = zk.session { hosts = server.hosts, timeout = 100, request_timeout = 100 }
    assert.same({}, other:children(PATH .. "1/claims"))
    assert.equal(COUNT, other:queue(PATH .. "1"):size())
    other:close()
  end))
end)
