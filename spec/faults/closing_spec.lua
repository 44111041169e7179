-- Every wait ends when its session is closed, whatever it waits for, with or without a connection.
-- Tags: sanitize

local env = require "spec.support.env"

describe("a session that is closed under a hundred waiters", function()
  it("ends them all, and leaves no memory behind", function() env.alone "closing" end)
end)
