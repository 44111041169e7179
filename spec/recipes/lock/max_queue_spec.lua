-- `max_queue`: an attempt that would wait behind more contenders than this ends with `full`. What it costs is in the tables of costs.
-- Tags: sanitize

local env = require "spec.support.env"
local run, fails = env.run, env.fails

describe("max_queue", function()
  local session, other
  before_each(function()
    local namespace = env.namespace()
    session, other = env.session { namespace = namespace, timeout = 100 }, env.session { namespace = namespace, timeout = 100 }
  end)
  after_each(function()
    session:close()
    other:close()
  end)

  -- make(session, options) → the function that acquires, as one that wants it alone
  local KINDS = {
    { "a lock", function(of, options) local lock = of:lock("/x", options) return function(t) return lock:acquire(t) end end },
    { "a reentrant lock", function(of, options)
      local lock = of:lock("/x", { reentrant = true, max_queue = options and options.max_queue })
      return function(t) return lock:acquire(t) end
    end },
    { "a writer", function(of, options) local rw = of:rwlock("/x", options) return function(t) return rw:write(t) end end },
    { "a semaphore", function(of, options)
      local slots = of:semaphore("/x", 1, options)
      return function(t) return slots:acquire(t) end
    end },
  }

  for _, kind in ipairs(KINDS) do
    it("refuses " .. kind[1] .. " behind more contenders, and leaves no znode", run(function()
      local make = kind[2]
      local short, two = make(session, { max_queue = 1 }), make(session, { max_queue = 2 })
      local hold = assert(make(other)(200))
      local waits = { env.start(function() return short(200) end) }
      env.queue_of(other, "/x", 2)
      local message = fails("full", short(200))
      assert.matches("2 contenders are ahead, and max_queue is 1", message, 1, true)
      waits[2] = env.start(function() return two(200) end)
      env.queue_of(other, "/x", 3)
      fails("full", two(200))
      env.queue_of(other, "/x", 3)
      hold:release()
      for i = 1, 2 do assert(waits[i]()):release() end
      env.queue_of(other, "/x", 0)
      assert(short(200)):release()
    end))
  end

  it("refuses no reader that need not wait", run(function()
    local readers = {}
    for i = 1, 3 do readers[i] = assert(other:rwlock("/x"):read(200)) end
    local rw = session:rwlock("/x", { max_queue = 1 })
    readers[4] = assert(rw:read(200))
    local writer = other:rwlock("/x", { max_queue = 3 })
    fails("full", env.start(writer.write, writer, 200)())
    for i = 1, 4 do readers[i]:release() end
  end))

  it("tells all coroutines of a cohort", run(function()
    local hold = assert(other:lock("/x"):acquire())
    local next_one = other:lock("/x")
    local waits = { env.start(function() return next_one:acquire() end) }
    env.queue_of(other, "/x", 2)
    local cohort = session:lock("/x", { cohort = true, max_queue = 1 })
    for i = 2, 3 do waits[i] = env.start(function() return cohort:acquire(200) end) end
    fails("full", waits[2]())
    fails("full", waits[3]())
    hold:release()
    waits[1]():release()
  end))

  it("is a count, and only for what has a queue", function()
    for _, bad in ipairs { 0, -1, 1.5, "2", true } do
      for _, method in ipairs { "lock", "rwlock" } do
        env.raises("option 'max_queue'", function() session[method](session, "/x", { max_queue = bad }) end)
      end
      env.raises("option 'max_queue'", function() session:semaphore("/x", 1, { max_queue = bad }) end)
    end
    env.raises("a lock without a queue %(fair = false%) has no max_queue",
      function() session:lock("/x", { fair = false, max_queue = 3 }) end)
  end)
end)
