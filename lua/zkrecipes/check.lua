-- Checks the arguments that users pass to the functions that are written in Lua. Like the checks in C they raise at the user's line.

local core = require "zkrecipes.core"

local M = {}

local SECONDS_MAX = 1e9

local function bad(argument, name, text)
  core.misuse(("bad argument #%d to '%s' (%s)"):format(argument, name, text))
end

-- The text of an error, which may be any value, also one whose __tostring raises or gives no string. tostring itself may raise.
function M.text(value)
  local ok, text = pcall(tostring, value)
  return ok and type(text) == "string" and text or ("a %s without a text"):format(type(value))
end

local SHOWN = 200 -- bytes of a user's text

-- A user's text as a message shows it: its beginning, without bytes that cannot be read.
function M.shown(value)
  local text = M.text(value)
  if #text > SHOWN then text = text:sub(1, SHOWN) .. "..." end
  return (text:gsub("%c", function(byte) return ("\\%03d"):format(byte:byte()) end))
end

local function callable(value)
  if type(value) == "function" then return true end
  local meta = debug.getmetatable(value)
  return type(meta) == "table" and type(meta.__call) == "function"
end

-- self(object, meta, method): raises unless it is an object with this metatable.
M.self = core.check_self

-- Returns the method, made to check its self.
function M.checked(meta, name, method)
  return function(self, ...)
    M.self(self, meta, name)
    return method(self, ...)
  end
end

-- Name > { methods =, meta = }: the classes that are written in Lua, as core.classes has those of the core. The reference
-- calls them as their metatables do.
M.classes = {}

-- Registers a class. Call it for every class that is written in Lua; its metatable may be the table of its methods.
function M.class(name, methods, meta) M.classes[name] = { methods = methods, meta = meta } end

-- Registers a class, and makes each of its methods check self.
function M.selves(class, methods, meta)
  M.class(class, methods, meta)
  for name, method in pairs(methods) do
    if type(method) == "function" then methods[name] = M.checked(meta, name, method) end
  end
end

function M.fn(value, argument, name)
  if not callable(value) then bad(argument, name, "function expected, got " .. type(value)) end
end

-- Raises unless it is a duration, or nil where that is allowed.
function M.seconds(value, argument, name, may_be_nil)
  if value == nil and may_be_nil then return end
  if type(value) ~= "number" then bad(argument, name, "seconds expected, got " .. type(value)) end
  if value ~= value then bad(argument, name, "seconds expected, got nan") end
  if value < 0 then bad(argument, name, "seconds must not be negative, got " .. value) end
  if value > SECONDS_MAX then
    bad(argument, name, ("seconds must be at most %.0f, got %.14g"):format(SECONDS_MAX, value))
  end
end

function M.path(value, argument, name)
  if type(value) ~= "string" then bad(argument, name, "path expected, got " .. type(value)) end
  local problem = core.path_problem(value)
  if problem then bad(argument, name, ("path '%s' %s"):format(M.shown(value), problem)) end
end

-- Raises unless it is a path below the root.
function M.below_root(value, argument, name)
  M.path(value, argument, name)
  if value == "/" then bad(argument, name, "path of a znode below the root expected, got the root") end
end

-- Raises unless the option 'file' is nil or an absolute path: it must not depend on the working directory, which the program may change.
function M.file(value, argument, name)
  if value == nil then return end
  if value:sub(1, 1) ~= "/" or value:find("\0", 1, true) or value:sub(-1) == "/" then
    bad(argument, name, ("option 'file': absolute path of a file expected, got '%s'"):format(M.shown(value)))
  end
end

-- Raises unless it is a whole number from 1 to `most`.
function M.count(value, most, argument, name)
  if type(value) ~= "number" then bad(argument, name, "number expected, got " .. type(value)) end
  if value % 1 ~= 0 or value < 1 or value > most then
    bad(argument, name, ("whole number from 1 to %d expected, got %s"):format(most, tostring(value)))
  end
end

local INHERITS = { "__index", "__pairs", "__len" }

local function of_option(option) return option and ("option '%s': "):format(option) or "" end

-- Raises if its metatable would change what is in the table: options and lists are read from the table itself, so what it
-- inherits would be left out in silence. `what`: "table of options", "list" ... option: its name, if it is the value of one.
function M.plain(value, argument, name, what, option)
  if type(value) ~= "table" then bad(argument, name, of_option(option) .. what .. " expected, got " .. type(value)) end
  local meta = debug.getmetatable(value)
  for i = 1, meta and #INHERITS or 0 do
    if rawget(meta, INHERITS[i]) ~= nil then
      bad(argument, name, ("%splain %s expected, got a table whose metatable has %s; copy what it inherits into it"):format(
        of_option(option), what, INHERITS[i]))
    end
  end
end

-- Raises unless it is a table with nothing in it but a list. what, option: as for plain.
function M.list(value, argument, name, what, option)
  what = what or "list"
  M.plain(value, argument, name, what, option)
  local count = 0
  for key in next, value do
    if type(key) ~= "number" then
      bad(argument, name, ("%s%s expected, got a table with '%s'"):format(of_option(option), what, M.shown(key)))
    end
    count = count + 1
  end
  for i = 1, count do
    if value[i] == nil then
      bad(argument, name, ("%s%s expected, got a table without entry %d; leave no hole"):format(of_option(option), what, i))
    end
  end
end

-- Raises unless it is a list of functions.
function M.fns(value, argument, name)
  M.list(value, argument, name, "list of functions")
  for i = 1, #value do
    if not callable(value[i]) then
      bad(argument, name, ("function expected at %d, got %s"):format(i, type(value[i])))
    end
  end
end

-- Raises, and names the options that there are: the keys of `known`.
function M.unknown(key, known, argument, name)
  local names = {}
  for each in pairs(known) do names[#names + 1] = each end
  table.sort(names)
  bad(argument, name, ("unknown option '%s'; there are: %s"):format(M.shown(key), table.concat(names, ", ")))
end

-- Raises unless it is a table of options of these types, or nil. Gives a plain copy: what is read of it later cannot fail.
function M.options(value, known, argument, name)
  if value == nil then return {} end
  M.plain(value, argument, name, "table of options")
  local options = {}
  for key, given in next, value do
    local wanted = known[key]
    if not wanted then M.unknown(key, known, argument, name) end
    if type(given) ~= wanted then
      bad(argument, name, ("option '%s': %s expected, got %s"):format(key, wanted, type(given)))
    end
    options[key] = given
  end
  return options
end

M.bad = bad

core.own(debug.getinfo(1, "S").source)
return M
