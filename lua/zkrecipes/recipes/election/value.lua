-- The data of a candidate's znode: its value, and marks that others get by the same read.
--
--   <rank>\n        before the value, in an election by rank
--   \0ready         after the value, once the leader has called ready(); without that call there is no mark
--   \0next-<number>  after that, while the leader resigns to a named successor: the number of the successor's seat;
--                    the core reads it too (src/recipes/election/successor.c)
--   \0value         directly after a value that itself ends with one of these three marks, so that its end is not read as a mark
--
-- All other values are stored as they are, so that other programs can read them.

local check = require "zkrecipes.check"
local core = require "zkrecipes.core"

local M = {}

local READY = "\0ready"
local NEXT, DIGITS = "\0next-", 10
local VALUE = "\0value"
local RANK_MAX = 2 ^ 53

-- ---- Marks -------------------------------------------------------------------------------------

local function ends_with(data, mark) return data ~= nil and data:sub(-#mark) == mark end

local function is_ready(data) return ends_with(data, READY) end

local function names_successor(data)
  return data ~= nil and data:sub(-#NEXT - DIGITS, -DIGITS - 1) == NEXT and data:find("^%d+$", -DIGITS) ~= nil
end

local function strip(data) return names_successor(data) and data:sub(1, -#NEXT - DIGITS - 1) or data end

-- A value as it is stored in the data.
local function escape(value)
  local like_a_mark = is_ready(value) or names_successor(value) or ends_with(value, VALUE)
  return like_a_mark and value .. VALUE or value
end

local function unescape(value) return ends_with(value, VALUE) and value:sub(1, -#VALUE - 1) or value end

-- Returns the rank and the rest; nothing if these are not the data of a candidate by rank.
function M.split(data)
  local at = data and data:find("\n", 1, true)
  local rank = at and tonumber(data:sub(1, at - 1))
  if rank then return rank, data:sub(at + 1) end
end

-- ---- Data --------------------------------------------------------------------------------------

-- say: { value, rank =, ready =, successor = its number }.
function M.encode(say)
  local rank = say.rank and ("%.0f\n"):format(say.rank) or ""
  return rank .. escape(say.value) .. (say.ready and READY or "") .. (say.successor and ("%s%010.0f"):format(NEXT, say.successor) or "")
end

-- Returns the node with `value` and `ready` (and `rank`) in place of its data.
function M.decode(node)
  local data = node.data
  local rank, value = M.split(node.by_rank and data)
  node.data, node.by_rank, node.rank = nil, nil, rank
  if rank then data = value end
  data = strip(data)
  node.ready = is_ready(data)
  node.value = unescape(node.ready and data:sub(1, -#READY - 1) or data)
  return node
end

-- The value in data that encode() made. by_rank: the data are from an election by rank; then returns the rank too.
function M.first(data, by_rank)
  local node = M.decode { data = data, by_rank = by_rank }
  return node.value or "", node.rank
end

-- ---- Arguments ---------------------------------------------------------------------------------

function M.check(value, argument, name)
  if type(value) ~= "string" then check.bad(argument, name, "string expected, got " .. type(value)) end
end

function M.check_rank(value, argument, name)
  if type(value) ~= "number" or value % 1 ~= 0 or value < -RANK_MAX or value > RANK_MAX then
    check.bad(argument, name, "rank: whole number of at most 2^53 expected, got " .. tostring(value))
  end
end

core.own(debug.getinfo(1, "S").source)
return M
