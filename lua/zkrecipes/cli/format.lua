-- How zkr shows sizes, times, data and names to people.

local clean = require "zkrecipes.cli.clean"
local width = require "zkrecipes.cli.width"

local M = {}

-- 1234 > "1.2 kB"
function M.size(bytes)
  if bytes < 1000 then return bytes .. " B" end
  local value, unit = bytes / 1000, "kB"
  if value >= 1000 then value, unit = value / 1000, "MB" end
  return ("%.1f %s"):format(value, unit)
end

local UNITS = { { 86400, "d" }, { 3600, "h" }, { 60, "min" }, { 1, "s" } }

-- Seconds as the two largest units: "3 d 4 h", "12 s".
function M.age(seconds)
  seconds = math.max(0, math.floor(seconds))
  for i, unit in ipairs(UNITS) do
    local whole, rest = seconds // unit[1], seconds % unit[1]
    local next_unit = UNITS[i + 1]
    if whole > 0 and next_unit and rest >= next_unit[1] then
      return ("%d %s %d %s"):format(whole, unit[2], rest // next_unit[1], next_unit[2])
    elseif whole > 0 then
      return ("%d %s"):format(whole, unit[2])
    end
  end
  return "0 s"
end

-- Seconds since 1970 > "2026-11-27 17:40:03 +0100"
function M.time(seconds)
  return os.date("%Y-%m-%d %H:%M:%S %z", math.floor(seconds))
end

-- The same, and how long ago that was.
function M.time_and_age(seconds)
  return ("%s (%s ago)"):format(M.time(seconds), M.age(os.time() - seconds))
end

-- Data on one line of at most so many columns: text, or how many bytes it is. columns nil: all of it.
function M.line(data, columns)
  if not data then return "" end
  local text = utf8.len(data) and clean(data) or ("%d bytes"):format(#data)
  return columns and width.cut(text, columns, "...") or text
end

local function cleaned(rows)
  local all = {}
  for i, row in ipairs(rows) do
    all[i] = {}
    for j, cell in ipairs(row) do all[i][j] = type(cell) == "string" and clean(cell) or cell end
  end
  return all
end

-- Lines of a table: columns as wide as their widest cell. Numbers are set to the right. The cells are cleaned.
function M.columns(rows)
  rows = cleaned(rows)
  local widths = {}
  for _, row in ipairs(rows) do
    for i, cell in ipairs(row) do widths[i] = math.max(widths[i] or 0, width.of(tostring(cell))) end
  end
  local lines = {}
  for _, row in ipairs(rows) do
    local cells = {}
    for i, cell in ipairs(row) do
      local text = tostring(cell)
      local pad = (" "):rep(widths[i] - width.of(text))
      cells[i] = type(cell) == "number" and pad .. text or i < #row and text .. pad or text
    end
    lines[#lines + 1] = table.concat(cells, "  "):gsub("%s+$", "") .. "\n"
  end
  return table.concat(lines)
end

return M
