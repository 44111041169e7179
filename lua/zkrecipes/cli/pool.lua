-- Calls fn(item) for every item of a list, for many items at once, each in a coroutine. Returns the results in the list's order.

local WIDTH = 32

return function(zk, list, fn)
  local results, taken = {}, 0
  local function work()
    while taken < #list do
      taken = taken + 1
      local index = taken
      results[index] = fn(list[index])
    end
  end
  local workers = {}
  for i = 1, math.min(WIDTH, #list) do workers[i] = work end
  if #workers > 0 then zk.all(workers) end
  return results
end
