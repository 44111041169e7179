-- How the proxy reads the protocol and applies faults, without a socket. The proxy is a Lua 5.4 program.

-- luacheck: std lua54+busted

if not string.pack then return end

package.path = "dev/?.lua;" .. package.path
local faults = require "proxy.faults"
local frames = require "proxy.frames"

local function frame(...)
  return string.pack(">s4", table.concat({ ... }))
end

local function request(xid, op, path)
  return frame(string.pack(">i4i4", xid, op), path and string.pack(">s4", path) or "")
end

describe("the proxy's frames", function()
  it("are found by their length, however the bytes are cut", function()
    local data = request(1, 15, "/a") .. request(2, 2, "/b")
    local first = #request(1, 15, "/a")
    for size = 0, first - 1 do assert.is_nil((frames.last(data:sub(1, size), 1))) end
    assert.equal(first, frames.last(data, 1))
    assert.equal(#data, frames.last(data, first + 1))
    assert.is_nil((frames.last(data, #data + 1)))
  end)

  it("differ from four-letter words", function()
    local last, raw = frames.last("srvr", 1)
    assert.is_nil(last)
    assert.is_true(raw)
  end)

  it("have names and paths", function()
    local function named(data) return { frames.request(data, 1, #data) } end
    assert.same({ 7, "create2", "/a" }, named(request(7, 15, "/a")))
    assert.same({ 8, "sync", "/a" }, named(request(8, 9, "/a")))
    assert.same({ 9, "heartbeat", "/" }, named(request(9, 9, "/")))
    assert.same({ -2, "ping", "" }, named(request(-2, 11)))
    assert.same({ 3, "closeSession", "" }, named(request(3, -11)))
    assert.same({ 4, "op999", "" }, named(request(4, 999)))
  end)

  it("survive nonsense", function()
    assert.equal("broken", select(2, frames.request(frame("abc"), 1, 7)))
    assert.equal("", select(3, frames.request(frame(string.pack(">i4i4i4", 1, 15, 99)), 1, 16)))
    assert.equal(0, frames.reply(frame(""), 1, 4))
    assert.equal("", frames.session(frame("x"), 1, 5))
  end)
end)

describe("the proxy's faults", function()
  it("hit the n-th request of their name, once", function()
    local list = faults.new()
    list:arm("hold", "delete", 2)
    local struck = {}
    for _, name in ipairs{ "delete", "create", "delete", "delete" } do
      struck[#struck + 1] = list:strike(name) or "-"
    end
    assert.same({ "-", "-", "hold", "-" }, struck)
  end)

  it("with * count all requests except those that a timer sends", function()
    local list = faults.new()
    list:arm("drop_request", "*", 2)
    for _, name in ipairs{ "connect", "ping", "heartbeat", "create2" } do assert.is_nil(list:strike(name)) end
    assert.equal("drop_request", list:strike("sync"))
  end)
end)
