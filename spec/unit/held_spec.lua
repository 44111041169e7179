-- What a request holds in nginx, and what the tasks of a request hold (openresty/held.lua). In nginx:
-- spec/adapters/openresty_release_spec.lua, spec/adapters/openresty_release_tasks_spec.lua.
-- Tags: sanitize, one thread

local collect = require "spec.support.collect"
local held = require "zkrecipes.openresty.held"

local released -- names, in order

local function new_hold(name)
  local hold = { valid = function() return false end }
  function hold.release(self)
    released[#released + 1] = name
    held.remove(self)
  end
  return hold
end

describe("what is held for a request in nginx", function()
  before_each(function() released = {} end)

  -- The request's log phase.
  local function log(request, sub)
    request.over = request.over or not sub
    held.release(request, sub)
  end

  it("is released by its log phase, unless it was released before", function()
    local request, first, second = held.of_request(), new_hold "first", new_hold "second"
    held.add(request, first)
    held.add(request, second)
    first:release()
    log(request)
    log(request)
    assert.same({ "first", "second" }, released)
  end)

  it("is kept by a task that runs, and released at the task's end if the request has ended", function()
    local request, hold = held.of_request(), new_hold "hold"
    local task = held.of_task(request)
    held.add(task, hold)
    log(request)
    assert.same({}, released)
    held.end_task(task)
    assert.same({ "hold" }, released)
  end)

  it("goes from the task to the request, however it is given back", function()
    local request, given = held.of_request(), {}
    local task, hold, item = held.of_task(request), new_hold "hold", {}
    held.add(task, hold)
    held.add(task, item, function(one) given[#given + 1] = one end)
    held.end_task(task)
    assert.same({}, released)
    log(request)
    assert.same({ "hold" }, released)
    assert.is_true(#given == 1 and given[1] == item)
  end)

  it("goes to the nearest task above that runs", function()
    local request = held.of_request()
    local top = held.of_task(request)
    local middle = held.of_task(top)
    local task, hold, other = held.of_task(middle), new_hold "hold", new_hold "other"
    held.add(task, hold)
    held.add(task, other)
    log(request)
    held.end_task(middle)
    held.end_task(task)
    other:release()
    assert.same({ "other" }, released)
    held.end_task(top)
    assert.same({ "other", "hold" }, released)
  end)

  it("is released by the log phase of the subrequest whose task got it, or of the request", function()
    local request = held.of_request()
    for sub, name in ipairs { "one", "two" } do
      local task = held.of_task(held.of_task(request, sub))
      held.add(task, new_hold(name))
      held.end_task(task)
      held.end_task(task.starter)
    end
    held.add(request, new_hold "own")
    log(request, 2)
    assert.same({ "two" }, released)
    log(request)
    table.sort(released)
    assert.same({ "one", "own", "two" }, released)
  end)

  it("is not stored when the request and all its tasks are over: only the collector releases it", function()
    local request, hold = held.of_request(), new_hold "hold"
    local task = held.of_task(request)
    log(request)
    held.end_task(task)
    held.add(task, hold)
    held.end_task(held.of_task(task))
    assert.same({}, released)
  end)

  it("is not kept by a task that has dropped it", function()
    local task = held.of_task(held.of_request())
    held.add(task, new_hold "dropped")
    collect()
    assert.is_nil(next(task.holds))
  end)

  it("is kept by the request until its log phase, but not what a killed task has held", function()
    local request = held.of_request()
    local task, killed = held.of_task(request), held.of_task(request)
    held.add(request, new_hold "own")
    held.add(task, new_hold "returned")
    held.end_task(task)
    local held_still = new_hold "held still"
    held.add(killed, new_hold "dropped")
    held.add(killed, held_still)
    held.end_task(killed, true)
    collect()
    log(request)
    table.sort(released)
    assert.same({ "held still", "own", "returned" }, released)
    assert.is_nil(next(request.kept))
    held_still:release()
  end)

  it("costs nothing for tasks that have ended and have started one another", function()
    local task = held.of_task(held.of_request())
    for _ = 1, 100 do
      local new = held.of_task(task)
      held.end_task(task)
      task = new
    end
    local length = 0
    while task do task, length = task.starter, length + 1 end
    assert.is_true(length <= 3, length .. " are kept")
  end)
end)
