-- Finds everything that can be called: the classes of the core with what the Lua layer has added to them, the classes that are written in
-- Lua, the fields that the reference names, loops, iterators, and the module itself.
--
-- A target: label, name (as errors call it), kind (of its self; nil: none), call, signature, and `waits`, if it may wait.

local check = require "zkrecipes.check"
local core = require "zkrecipes.core"
local signatures = require "fuzz.api.signatures"
local zk = require "zkrecipes"

assert(zk.preload()) -- so that the classes have all methods

-- iterators: the methods that return one.
local M = { list = {}, metas = {}, pure = {}, iterators = { "states", "observe", "items", "dead" } }

local NOTHING = { arguments = {} }

local function add(target)
  target.signature = target.signature or NOTHING
  M.list[#M.list + 1] = target
  if target.kind and not target.waits and not target.property then M.pure[#M.pure + 1] = target end
end

local function sorted(map)
  local names = {}
  for name in pairs(map) do names[#names + 1] = name end
  table.sort(names)
  return names
end

local function add_property(kind, name)
  add { label = kind .. "." .. name, name = "property", kind = kind, property = true,
    call = function(self) return self[name] end }
end

local function add_class(kind, class)
  M.metas[class.meta] = kind
  local methods, fields = signatures.of(class.meta.__name)
  for _, name in ipairs(sorted(class.methods)) do
    local method, signature = class.methods[name], methods[name] or NOTHING
    if type(method) == "function" and not name:find("^__") then -- the methods of some are their metatable
      add { label = kind .. ":" .. name, name = name, kind = kind, call = method, waits = signature.waits, signature = signature }
    end
  end
  for _, name in ipairs(sorted(fields)) do add_property(kind, name) end
  add_property(kind, "no_such_field")
  add { label = kind .. ":tostring", name = "property", kind = kind, property = true, call = function(self) return tostring(self) end }
  if class.meta.__close then
    add { label = kind .. ":<close>", name = "cancel", kind = kind, property = true, call = class.meta.__close }
  end
end

local function add_module()
  for _, name in ipairs(sorted(zk)) do
    if type(zk[name]) == "function" then
      add { label = "zk." .. name, name = name, call = zk[name], waits = true, signature = signatures.module[name] or
        { arguments = { "fn", "..." } } }
    end
  end
end

for _, kind in ipairs(sorted(core.classes)) do add_class(kind, core.classes[kind]) end
for _, kind in ipairs(sorted(check.classes)) do add_class(kind, check.classes[kind]) end
add_module()
for _, name in ipairs { "fd", "events", "pollfd", "timeout", "dispatch" } do
  add { label = "loop." .. name, name = name == "timeout" and "timeout" or name, kind = "loop", field = name, waits = true,
    call = function(loop) return loop[name]() end }
end
for _, name in ipairs(M.iterators) do
  add { label = name .. "()", name = name, kind = name, waits = true, property = true, call = function(next)
    local a, b, c = next() -- no tail call, so that errors can name this line
    return a, b, c
  end }
end

return M
