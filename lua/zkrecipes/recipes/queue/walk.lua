-- The iterators of a queue. An object of the core takes each step (src/recipes/queue/walk.c and simple_walk.c).

local classes = require "zkrecipes.classes"
local core = require "zkrecipes.core"
local failure = require "zkrecipes.failure"

local M = {}

local MAKE = { queue = core.classes.queue.inner.walk, simple_queue = core.classes.simple_queue.inner.walk }
local NEXT = { queue = classes.waiting(core.classes.walk.inner.next),
  simple_queue = classes.waiting(core.classes.simple_walk.inner.next) }

-- Returns an iterator for `for`. If it cannot read, it raises at the line of the loop. kind: of queue.core. dead: the dead letters.
function M.each(queue, kind, name, dead)
  local walk
  return function()
    local item, message, code
    if not walk then walk, message, code = MAKE[kind](queue.core, dead) end
    if walk then item, message, code = NEXT[kind](walk) end
    if item == nil and code then error(failure.say("queue:" .. name, queue.path, message), 2) end
    return item
  end
end

core.own(debug.getinfo(1, "S").source)
return M
