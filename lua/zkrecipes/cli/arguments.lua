-- Arguments and options that several commands have.

local M = {}

-- Reads a path; the module checks the rest of ZooKeeper's rules.
function M.to_path(text)
  if text:sub(1, 1) == "/" then return text end
  return nil, ("a path begins with '/', got '%s'"):format(text)
end

-- Reads a number that is not negative; a whole one if `whole`.
local function to_number(text, whole)
  local number = tonumber(text)
  if number and number >= 0 and number < math.huge and (not whole or math.type(number) == "integer") then return number end
  return nil, ("a %s expected, got '%s'"):format(whole and "whole number, 0 or more," or "number of seconds", text)
end

function M.to_count(text) return to_number(text, true) end

function M.to_seconds(text) return to_number(text) end

-- The argument PATH.
function M.path(parser, description)
  return parser:argument("path", description):convert(M.to_path)
end

function M.json(parser, description)
  return parser:flag("--json", description or "Print JSON.")
end

-- The options --try and --wait S; limit(given) is the time limit that they mean.
function M.patience(parser)
  parser:mutex(parser:flag("--try", "Do not wait: exit with 124."),
    parser:option("--wait", "Wait so long at most, in seconds; then exit with 124."):convert(M.to_seconds):argname "S")
end

function M.limit(given)
  return given.try and 0 or given.wait
end

return M
