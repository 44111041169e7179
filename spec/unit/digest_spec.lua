-- zk.digest gives the hash that the servers compute; here OpenSSL's.
-- Tags: sanitize

local process = require "spec.support.process"
local zk = require "zkrecipes"

describe("zk.digest", function()
  it("is ZooKeeper's own example", function()
    assert.equal("super:UdxDQl4f9v5oITwcAsO9bmWgHSI=", zk.digest("super", "super123"))
  end)

  it("is right for passwords of every length, around the ends of blocks too", function()
    local found, command = {}, "for i in $(seq 0 140); do printf 'a:%*s' $i '' | openssl dgst -sha1 -binary | base64; done"
    for hash in process.output(command):gmatch("%S+") do found[#found + 1] = "a:" .. hash end
    assert.equal(141, #found)
    for length = 0, 140 do assert.equal(found[length + 1], zk.digest("a", (" "):rep(length))) end
  end)

  it("takes any bytes but NUL", function()
    local expected = process.output([[printf '\303\251:a:\377\n' | openssl dgst -sha1 -binary | base64]]):match("%S+")
    assert.equal("\195\169:" .. expected, zk.digest("\195\169", "a:\255\n"))
  end)
end)
