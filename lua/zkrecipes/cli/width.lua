-- How many columns of a terminal a text takes: East Asian characters and most emoji take two, combining ones none. A text that is not UTF-8
-- counts as bytes.

local M = {}

-- First and last code points; in order.
local NONE = { { 0x300, 0x36f }, { 0x483, 0x489 }, { 0x591, 0x5bd }, { 0x610, 0x61a }, { 0x64b, 0x65f }, { 0x200b, 0x200f },
  { 0x20d0, 0x20f0 }, { 0xfe00, 0xfe0f }, { 0xfe20, 0xfe2f } }
local TWO = { { 0x1100, 0x115f }, { 0x2e80, 0x303e }, { 0x3041, 0xa4cf }, { 0xac00, 0xd7a3 }, { 0xf900, 0xfaff }, { 0xfe30, 0xfe6f },
  { 0xff00, 0xff60 }, { 0xffe0, 0xffe6 }, { 0x1f300, 0x1f64f }, { 0x1f680, 0x1f6ff }, { 0x1f900, 0x1f9ff }, { 0x20000, 0x3fffd } }

local function is_in(ranges, point)
  for _, range in ipairs(ranges) do
    if point <= range[2] then return point >= range[1] end
  end
  return false
end

local function width_of(point)
  if point < NONE[1][1] then return 1 end
  return is_in(TWO, point) and 2 or is_in(NONE, point) and 0 or 1
end

function M.of(text)
  if not utf8.len(text) then return #text end
  local width = 0
  for _, point in utf8.codes(text) do width = width + width_of(point) end
  return width
end

-- The text if it takes at most so many columns; else as much of its beginning as fits, and `mark` (default "~").
function M.cut(text, columns, mark)
  mark = mark or "~"
  if M.of(text) <= columns then return text end
  local left = columns - #mark
  if not utf8.len(text) then return text:sub(1, math.max(left, 0)) .. mark end
  for at, point in utf8.codes(text) do
    left = left - width_of(point)
    if left < 0 then return text:sub(1, at - 1) .. mark end
  end
end

return M
