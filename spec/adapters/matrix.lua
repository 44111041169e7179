-- Which adapter is proven on which Lua: those for which Debian packages the host, or specs have a double of it. These specs
-- run, and a missing host is an error. docs/adapters.md has the same table (see matrix_spec.lua).

local M = {}

M.interpreters = { "5.4", "luajit", "5.3", "5.1" }

M.matrix = {
  luv = { ["5.4"] = true, luajit = true, ["5.3"] = true, ["5.1"] = true },
  cqueues = { ["5.4"] = true, luajit = true, ["5.3"] = true, ["5.1"] = true },
  copas = { luajit = true, ["5.1"] = true },
  copas4 = { ["5.4"] = true, luajit = true, ["5.3"] = true, ["5.1"] = true },
  poll = { ["5.4"] = true, luajit = true, ["5.3"] = true, ["5.1"] = true },
}

M.here = rawget(_G, "jit") and "luajit" or _VERSION:match("%d%.%d")

---True if the adapter's spec runs on this Lua.
function M.runs(name) return M.matrix[name][M.here] end

return M
