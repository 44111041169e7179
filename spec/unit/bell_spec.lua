-- The bell of an engine: its descriptor as a stream socket, for hosts that can wait only for sockets. Needs no server.

require "spec_fork"
local core = require "zkrecipes.core"
local env = require "spec.support.env"
local process = require "spec.support.process"
local select_sockets = require("socket").select
local unix = require "socket.unix"

local function connect(address)
  local socket = unix()
  assert(socket:connect((address:gsub("^unix:", ""))))
  socket:settimeout(200)
  return socket
end

describe("the bell", function()
  it("rings for connected processes, and leaves no name behind", function()
    local engine = core.engine {}
    local address = assert(engine:listen())
    local name = process.output("readlink /proc/$PPID/fd/" .. address:match "%d+$")
    assert.matches("/zkrecipes%-%w+/bell %(deleted%)$", name)
    assert.is_false(process.exists(name:match "^(.*)/bell"))
    local socket = connect(address)
    assert.is_true(engine:accept())
    assert.equal("!", socket:receive(1)) -- it may have rung before
    engine:ring()
    assert.equal("!", socket:receive(1))
    engine:hangup()
    assert.equal("closed", select(2, socket:receive(1)))
    engine:ring()
    socket:close()
  end)

  it("is released if no process connects, if another bell is created, and if its reader is gone", function()
    local engine = core.engine {}
    local ok, problem = engine:accept()
    assert.is_nil(ok)
    assert.matches("the host has not connected", problem)
    assert(engine:listen())
    assert.is_nil(engine:accept())
    engine:listen()
    local first = connect(engine:listen())
    assert(engine:accept())
    local second = connect(engine:listen())
    assert(engine:accept())
    assert.equal("!", first:receive(1))
    assert.equal("closed", select(2, first:receive(1)))
    second:close()
    for _ = 1, 3 do engine:ring() end
    assert.equal(0, engine:dispatch(10))
  end)

  -- In a separate process, because here sessions of other specs open and close descriptors.
  it("leaks no descriptor", function()
    local counts = process.output(("env %s spec/support/bells.lua"):format(env.interpreter()))
    assert.matches("^%d+ %d+$", counts)
    assert.equal(counts:match("^%d+"), counts:match("%d+$"))
  end)
end)

describe("an engine's descriptor", function()
  local function readable(engine)
    local fd = engine:fd()
    return #select_sockets({ { getfd = function() return fd end, dirty = function() return false end } }, nil, 0) == 1
  end

  it("is readable from a ring to the next dispatch", function()
    local engine = core.engine {}
    assert.is_false(readable(engine))
    for _ = 1, 2 do
      engine:ring()
      engine:ring()
      assert.is_true(readable(engine))
      engine:dispatch(10)
      assert.is_false(readable(engine))
    end
  end)
end)
