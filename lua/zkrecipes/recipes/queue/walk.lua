-- The iterators of a queue. An object of the core takes each step (src/recipes/queue/walk.c).

local classes = require "zkrecipes.classes"
local core = require "zkrecipes.core"
local failure = require "zkrecipes.failure"

local M = {}

local make, next_item = core.classes.queue.inner.walk, classes.waiting(core.classes.walk.inner.next)

-- Returns an iterator for `for`. If it cannot read, it raises at the line of the loop. dead: the dead letters.
function M.each(queue, name, dead)
  local walk
  return function()
    local item, message, code
    if not walk then walk, message, code = make(queue.core, dead) end
    if walk then item, message, code = next_item(walk) end
    if item == nil and code then error(failure.say("queue:" .. name, queue.path, message), 2) end
    return item
  end
end

core.own(debug.getinfo(1, "S").source)
return M
