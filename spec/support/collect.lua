---Collects what nothing refers to, by so many full cycles (1). LuaJIT's compiled code keeps the first objects that it has met (a closure,
---and so what it refers to), so that code is thrown away first.
return function(cycles)
  if jit then jit.flush() end
  for _ = 1, cycles or 1 do collectgarbage() end
end
