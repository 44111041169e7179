-- Loads a file of this package when it is used first, so that a short program reads only what it uses.
--
-- What can go wrong:
-- The program has changed package.path, or its directory: files are looked for where they would have been found at first. So no file in the
-- present directory is ever mixed in.
-- The package was upgraded while the process ran: the new files may not fit what is loaded, so none is loaded any more.
-- A file cannot be read: that call fails, and the next one tries again. A program that gives up the right to read files (chroot), or that
-- must live through an upgrade, calls zk.preload() when it starts.

local check = require "zkrecipes.check"
local core = require "zkrecipes.core"

local package, require = package, require -- the program may replace them

local M = {}

-- package.path as it is now, with the real paths of the folders that are there. (A folder may have a character that means something else.)
local function snapshot()
  local list = {}
  for template in package.path:gmatch "[^;]+" do
    local folder, rest = template:match "^([^?]*)/([^?/]*%?.*)$"
    if not folder then folder, rest = ".", template end
    local real = core.real_path(folder ~= "" and folder or "/")
    if real and not real:find "[;?]" then list[#list + 1] = real .. "/" .. rest end
  end
  return table.concat(list, ";")
end

local searched = snapshot()

local REPLACED = "the package zkrecipes was upgraded or removed, or can no longer be read, since this process loaded it; "
  .. "restart the process"

local RETURNED = { table = true, ["function"] = true, boolean = true } -- by our files

-- Lua 5.1 takes a file that raised for loaded, and those that were loading it, with a value that none of ours returns.
local function forget_failed()
  for name, value in pairs(package.loaded) do
    if not RETURNED[type(value)] and name:find "^zkrecipes%." then package.loaded[name] = nil end
  end
end

-- load(name): what the file returns, or true; or nil and why it cannot be loaded.
function M.load(name)
  name = "zkrecipes." .. name
  if package.loaded[name] then return package.loaded[name] end
  if core.replaced() then return nil, REPLACED end
  local path = package.path
  package.path = searched
  local ok, found = pcall(require, name)
  package.path = path
  if ok then return found end
  forget_failed()
  return nil, "a part of the package zkrecipes cannot be loaded: " .. check.shown(check.text(found):gsub("%s+", " "))
end

core.own(debug.getinfo(1, "S").source)
return M
