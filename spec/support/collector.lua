-- Garbage whose finalizers run while other code is at work, because the collector is at its most eager.

local M = {}

local NEW = _VERSION == "Lua 5.4"
local mode -- before hurry: the stand-alone interpreter 5.4 collects by generations

---fn is called when this garbage is collected.
function M.garbage(fn)
  if not newproxy then setmetatable({}, { __gc = fn }) return end -- luacheck: ignore 113
  getmetatable(newproxy(true)).__gc = fn -- luacheck: ignore 113
end

---From now on, the collector works as much as it can; on Lua 5.4, each allocation runs a whole cycle.
function M.hurry()
  if NEW then
    mode = collectgarbage("incremental", 1, 1000, 20)
  else
    collectgarbage("setpause", 1)
    collectgarbage("setstepmul", 1000)
  end
  collectgarbage()
end

---The collector works as before M.hurry.
function M.calm()
  if NEW then
    collectgarbage("incremental", 200, 100, 13)
    collectgarbage(mode)
  else
    collectgarbage("setpause", 200)
    collectgarbage("setstepmul", 200)
  end
  collectgarbage()
end

return M
