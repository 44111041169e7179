-- Simulated worlds are collected, whatever recipe was used in them, on every Lua. Needs no server.

local env = require "spec.support.env"

describe("a world", function()
  it("is collected with every recipe that was used in it", function() env.alone "histories" end)
end)
