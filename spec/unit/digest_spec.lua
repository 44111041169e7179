-- zk.digest gives the hash that the servers compute; here that of sha1sum.
-- Tags: sanitize

local mime = require "mime"
local process = require "spec.support.process"
local zk = require "zkrecipes"

-- The hashes of what the commands write, a hash for each; in base64.
local function hashes(commands)
  local list = {}
  for hash in process.output(commands):gmatch("(%x+)  %-") do
    list[#list + 1] = mime.b64((hash:gsub("%x%x", function(byte) return string.char(tonumber(byte, 16)) end)))
  end
  return list
end

describe("zk.digest", function()
  it("is ZooKeeper's own example", function()
    assert.equal("super:UdxDQl4f9v5oITwcAsO9bmWgHSI=", zk.digest("super", "super123"))
  end)

  it("is right for passwords of every length, around the ends of blocks too", function()
    local found = hashes "for i in $(seq 0 140); do printf 'a:%*s' $i '' | sha1sum; done"
    assert.equal(141, #found)
    for length = 0, 140 do assert.equal("a:" .. found[length + 1], zk.digest("a", (" "):rep(length))) end
  end)

  it("takes any bytes but NUL", function()
    local expected = hashes [[printf '\303\251:a:\377\n' | sha1sum]]
    assert.equal("\195\169:" .. expected[1], zk.digest("\195\169", "a:\255\n"))
  end)
end)
