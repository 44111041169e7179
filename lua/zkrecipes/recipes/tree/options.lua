-- The options of a watched copy.

local check = require "zkrecipes.check"
local child = require "zkrecipes.path".child
local core = require "zkrecipes.core"

local M = {}

local DEPTH_MAX = 1000 -- no path has so many parts

-- `at`: the function's name, and the number of its argument.
local function bad(at, text) check.bad(at.argument, at.name, text) end

local function check_pattern(pattern, i, path, at)
  if type(pattern) ~= "string" then bad(at, ("option 'filter': path expected at %d, got %s"):format(i, type(pattern))) end
  local problem = core.path_problem(pattern)
  if problem then bad(at, ("option 'filter': path '%s' %s"):format(check.shown(pattern), problem)) end
  local above = child(path, "")
  if #pattern <= #above or pattern:sub(1, #above) ~= above then
    bad(at, ("option 'filter': path below '%s' expected, got '%s'"):format(check.shown(path), check.shown(pattern)))
  end
end

-- The patterns, each with a zero byte behind it; nil: all is wanted.
local function filter_of(path, patterns, at)
  if not patterns then return nil end
  check.list(patterns, at.argument, at.name, "list of patterns", "filter")
  if #patterns == 0 then bad(at, "option 'filter': at least one pattern expected") end
  for i = 1, #patterns do check_pattern(patterns[i], i, path, at) end
  return table.concat(patterns, "\0") .. "\0"
end

-- Checks the options that this argument of the function `name` gives for a path. `more`: option > type, of those that only `name` has.
-- Returns a copy with `patterns`: the filter as the core takes it.
function M.check(path, options, more, name, argument)
  local known = { depth = "number", filter = "table", file = "string" }
  for option, kind in pairs(more) do known[option] = kind end
  options = check.options(options, known, argument, name)
  local at = { name = name, argument = argument }
  local depth = options.depth
  if depth ~= nil and (depth % 1 ~= 0 or depth < 0 or depth > DEPTH_MAX) then
    bad(at, ("option 'depth': whole number from 0 (no children) to %d expected, got %s"):format(DEPTH_MAX, tostring(depth)))
  end
  check.file(options.file, argument, name)
  options.patterns = filter_of(path, options.filter, at)
  return options
end

core.own(debug.getinfo(1, "S").source)
return M
