-- A queue of the simple format: arguments, and the iterator. src/recipes/queue/simple.c and the files beside it do the rest.

local arguments = require "zkrecipes.recipes.queue.arguments"
local check = require "zkrecipes.check"
local classes = require "zkrecipes.classes"
local core = require "zkrecipes.core"
local failure = require "zkrecipes.failure"
local walks = require "zkrecipes.recipes.queue.walk"

local M = {}

local Simple = { __name = "zkrecipes.queue" }
Simple.__index = Simple

local new_engine, engine = core.classes.session.inner.simple_queue, core.classes.simple_queue.inner
local put, put_all = classes.waiting(engine.put), classes.waiting(engine.put_all)

function M.new(session, path)
  local queue, message, code = new_engine(session, path, arguments.LISTED)
  if not queue then return nil, message, code end
  return setmetatable({ path = path, core = queue }, Simple)
end

function Simple:put(data, options)
  arguments.data(data, "put")
  return put(self.core, data, options)
end

function Simple:put_all(list, timeout)
  check.list(list, 1, "put_all")
  for i = 1, #list do arguments.data(list[i], "put_all", ("entry %d: "):format(i)) end
  local count, message, code, done = put_all(self.core, list, timeout)
  if not count then return nil, message, code, done or 0 end
  return count
end

function Simple:items() return walks.each(self, "simple_queue", "items") end

for _, name in ipairs { "take", "size", "peek" } do
  local method = classes.waiting(engine[name])
  Simple[name] = function(self, timeout) return method(self.core, timeout) end
end

for _, name in ipairs { "claim", "ack_all", "remove", "dead", "dead_size", "redrive" } do
  Simple[name] = function()
    core.misuse(("queue:%s: format 'simple' has no such method; there are put, put_all, take, peek, size, items"):format(name))
  end
end

check.selves("simple_queue", Simple, Simple)
failure.name(Simple, "queue")

core.own(debug.getinfo(1, "S").source)
return M
