-- zkr passes a signal on to a command that it has ordered to start, and whose start the minder has not reported yet.

local children = require "zkrecipes.cli.child" -- before luv: see ignored.lua
local clock = require "spec_fork".now
local uv = require "luv"

local SIGTERM = 15

local child = assert(children.start(uv, { "sleep", "600" }, {}))
local at = clock() + 300
coroutine.wrap(function()
  child:order(at, at)
  child:signal(SIGTERM)
  while not child.over do child:wait(1) end
end)()
uv.run()
assert(child.over == "ended" and child.status == 128 + SIGTERM, ("%s, %s"):format(child.over, child.status))
