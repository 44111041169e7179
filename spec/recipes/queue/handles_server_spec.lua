-- A new handle of a queue for each request, on a real server: nothing of it stays.
-- Tags: sanitize

local collect = require "spec.support.collect"
local env = require "spec.support.env"
local handles = require "spec.support.handles"

local in_use, serve = handles.in_use, handles.serve

describe("a handle of a queue for each request", function()
  it("leaves nothing on a real server", env.run(function()
    local session = env.session()
    for _ = 1, 10 do serve(session, "/jobs") end
    collect(4)
    env.eventually("no consumer is left", function() return #session:children("/jobs/consumers") == 0 end)
    local first = in_use(session)
    for _ = 1, 100 do
      serve(session, "/jobs")
      assert.is_true(#session:children("/jobs/consumers") <= 2)
    end
    collect(4)
    env.eventually("no consumer is left", function() return #session:children("/jobs/consumers") == 0 end)
    env.eventually("nothing more is in use: " .. first, function() return in_use(session) == first end)
    session:close()
  end))
end)
