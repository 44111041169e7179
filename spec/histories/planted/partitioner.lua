-- Bugs of partitions. See plant.lua.

local FOLDER = "lua/zkrecipes/recipes/partitioner/"

local function bug(file, name, old, new, also)
  return { name = "partitioner: " .. name, file = FOLDER .. file, harness = "worlds", run = "--recipe partitioner --seeds 600", old = old,
    new = new, also = also }
end

return {
  bug("keeper.lua", "a part is owned without its lock", "local hold, message, code = keeper.lock:acquire()",
    'local hold, message, code = keeper.work.session:lock("/own/" .. keeper.work.id .. keeper.number):acquire()',
    { old = "keeper.task = tasks.behind(", new = "keeper.number = work.came\n  keeper.task = tasks.behind(" }),
  bug("keeper.lua", "the lock is released before the function has ended", "  while keeper.service do keeper.wakeup:pause() end\n", ""),
  bug("keeper.lua", "a part that moves is not released", "  own.hold:release()\n", ""),
  bug("keeper.lua", "the function is not stopped when the part moves", "  stop_service(keeper)\n  while", "  while"),
  bug("keeper.lua", "the function goes on after the loss", "over = function() return not hold:valid() end", "over = nil",
    { old = "local told = hold:on_lost(function() keeper.wakeup:wake() end)", new = "local told = true" }),
  bug("keeper.lua", "a keeper that is given up goes on waiting", "  self.lock:cancel()\n", ""),
  bug("keeper.lua", "an end is told with no reason", 'own.why = not own.hold:valid() and "lost" or keeper.why or "moved"', "own.why = nil"),
  bug("changes.lua", "a part that ended and came again is told as new", "  if known then\n    reader.known[part] = nil",
    "  if known and not now then\n    reader.known[part] = nil"),
  bug("changes.lua", "the end of the partitioner hides the end of the parts", "work.over and not next(work.keepers)", "work.over"),
  bug("work.lua", "a znode with our id counts as ours", "here = nonce == work.nonce", "here = true"),
  bug("work.lua", "what belongs to others is kept", "  work:give_up(mine)\n", ""),
  bug("work.lua", "another set of a member is not told when ours changes", "  tell_sets(self, select(2, look(self)))\n", ""),
  bug("work.lua", "the changes while it settles are forgotten", "      settle(work, reader)\n",
    "      divide(work)\n      settle(work, reader)\n      change = nil\n"),
  bug("work.lua", "closed, and the keepers go on", '  for i = 1, #all do self.keepers[all[i]]:give_up "closed" end\n', ""),
  bug("run.lua", "run returns before its functions have ended", "if not run.ended or run.live > 0 then return end",
    "if not run.ended then return end"),
}
