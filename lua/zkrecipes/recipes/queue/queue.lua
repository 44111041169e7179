-- The queue: session:queue(path, options). src/recipes/queue puts items (put.h) and gives them (claims.h); names.h says what is where on
-- the servers. Here: arguments, items as users see them (item.lua), and iterators (walk.lua).

local check = require "zkrecipes.check"
local classes = require "zkrecipes.classes"
local core = require "zkrecipes.core"
local arguments = require "zkrecipes.recipes.queue.arguments"
local failure = require "zkrecipes.failure"
local items = require "zkrecipes.recipes.queue.item"
local simple = require "zkrecipes.recipes.queue.simple"
local walks = require "zkrecipes.recipes.queue.walk"
local activity = require "zkrecipes.status.activity"

local new_engine, engine = core.classes.session.inner.queue, core.classes.queue.inner
local claim, take = classes.waiting(engine.claim, activity.await), classes.waiting(engine.take, activity.await)
local try_claim, try_take = classes.waiting(engine.claim), classes.waiting(engine.take)
local put, put_all = classes.waiting(engine.put), classes.waiting(engine.put_all)
local remove, redrive = classes.waiting(engine.remove), classes.waiting(engine.redrive)

local Session = {}

local Queue = { __name = "zkrecipes.queue" }
Queue.__index = Queue

local OPTIONS = { capacity = "number", attempts = "number", prefetch = "number", format = "string" }
local ATTEMPTS = 5
local PREFETCH = 100 -- the most

-- ---- Making ------------------------------------------------------------------------------------

-- A process is one consumer of a queue, even if it asks for several handles: its znodes on the servers, what it knows of the queue, and its
-- waiting callers belong to the session, the path and the options. So the same handle is returned while anything refers to it.
--
-- Lua 5.1 and LuaJIT remove a userdata from a weak table before its finalizer runs, but a table only in the next cycle, if a finalizer can
-- still reach it. So a handle is alive only if what it has in the core is still in the second table.
local function handles(session)
  local queues = core.kept(session, "queues")
  if not queues then
    queues = { all = setmetatable({}, { __mode = "v" }), cores = setmetatable({}, { __mode = "v" }) }
    core.keep(session, "queues", queues)
  end
  return queues.all, queues.cores
end

local function make(session, path, options)
  if options.format then return simple.new(session, path) end
  local prefetch = options.prefetch or 0
  local queue, message, code = new_engine(session, path, arguments.BUCKET, options.attempts or ATTEMPTS, prefetch, options.capacity)
  if not queue then return nil, message, code end
  return setmetatable({ path = path, session = session, host = core.host(session), core = queue, prefetch = prefetch > 0 }, Queue)
end

function Session:queue(path, options)
  options = check.options(options, OPTIONS, 2, "queue")
  local format, capacity, attempts, prefetch = options.format, options.capacity, options.attempts, options.prefetch
  arguments.integer(capacity, "capacity", 1, 2 ^ 31 - 1)
  arguments.integer(attempts, "attempts", 1, 2 ^ 31 - 1)
  arguments.integer(prefetch, "prefetch", 0, PREFETCH)
  if format ~= nil and format ~= "simple" then
    check.bad(2, "queue", "option 'format': only 'simple' is known, got '" .. format .. "'")
  end
  if format and (capacity or attempts or prefetch) then
    check.bad(2, "queue", "format 'simple' supports no other option")
  end
  check.below_root(path, 1, "queue")
  local key = ("%s %d %d %d %s"):format(format or "", capacity or 0, attempts or ATTEMPTS, prefetch or 0, path)
  local queues, cores = handles(self)
  local queue, message, code = cores[key] and queues[key], nil, nil
  if not queue then queue, message, code = make(self, path, options) end
  queues[key], cores[key] = queue, queue and queue.core
  return queue, message, code
end

-- ---- Put, ack several --------------------------------------------------------------------------

function Queue:put(data, options)
  arguments.data(data, "put")
  return put(self.core, data, options)
end

function Queue:put_all(list, timeout)
  check.list(list, 1, "put_all")
  check.seconds(timeout, 2, "put_all", true)
  if #list == 0 then return 0, 0 end
  local count, known, code, done = put_all(self.core, list, timeout)
  if not count then return nil, known, code, done or 0 end
  return count, known
end

Queue.ack_all = items.ack_all

-- ---- Claim, take -------------------------------------------------------------------------------

-- The item of these results, see src/recipes/queue/claimed.c; or nil, message, code.
local function item_of(queue, claimed, data, ...)
  if not claimed and select("#", ...) < 4 then return nil, data, ... end -- data: a message
  return items.given(queue.host, items.new(queue, claimed, data, ...))
end

-- The results of a claim. This coroutine may run long after the core has claimed the item, because the process was paused meanwhile: if
-- the item's session may be over, the core gives no item ("lost"), and the wait goes on.
local function claimed(queue, timeout, began, found, data, code, ...)
  if found or code ~= "lost" then return item_of(queue, found, data, code, ...) end
  return queue:claim(timeout and math.max(began + timeout - queue.host.adapter.now(), 0))
end

function Queue:claim(timeout)
  local began = timeout and self.host.adapter.now()
  return claimed(self, timeout, began, (timeout == 0 and try_claim or claim)(self.core, timeout))
end

function Queue:take(timeout)
  if self.prefetch then core.misuse "bad call of 'take' (items are claimed in advance; ask for the queue without 'prefetch')" end
  local item, message, code = item_of(self, (timeout == 0 and try_take or take)(self.core, timeout))
  if not item then return nil, message, code end
  return item.data, item
end

-- ---- Looking, dead letters, ids ----------------------------------------------------------------

for _, name in ipairs { "size", "peek", "dead_size" } do
  local method = classes.waiting(engine[name])
  Queue[name] = function(self, timeout) return method(self.core, timeout) end
end

function Queue:items() return walks.each(self, "queue", "items") end
function Queue:dead() return walks.each(self, "queue", "dead", 1) end

-- Puts dead letters back as new items, `limit` at most (nil: all).
function Queue:redrive(limit)
  if limit ~= nil and limit ~= 0 then check.count(limit, 2 ^ 31 - 1, 1, "redrive") end
  return redrive(self.core, limit)
end

function Queue:remove(id)
  arguments.id(id, "remove")
  return remove(self.core, id)
end

check.selves("queue", Queue, Queue)
failure.name(Queue, "queue")

classes.extend(core.classes.session, Session)

core.own(debug.getinfo(1, "S").source)
return Queue
