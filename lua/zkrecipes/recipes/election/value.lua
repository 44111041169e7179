-- What the data of a candidate's node say: its value, and what others are to know of it in the same read.
--
--   <rank>\n        before the value, in an election by rank
--   \0ready         behind it, once the leader has said that it is; those who never say so leave the data as they are
--   \0next-<number>  behind that, while it resigns to a named successor: the number of that one's seat
--   \0value         directly behind a value that ends with one of these three itself, and so would be taken for a mark
--
-- All other values stand there as they are, so that other programs can read them.

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

-- A value as it stands in the data.
local function escape(value)
  local like_a_mark = is_ready(value) or names_successor(value) or ends_with(value, VALUE)
  return like_a_mark and value .. VALUE or value
end

local function unescape(value) return ends_with(value, VALUE) and value:sub(1, -#VALUE - 1) or value end

-- Gives rank, and the rest; nothing: not the data of a candidate by rank.
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

-- What is told of a node, with `value` and `ready` (and `rank`) instead of its data.
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

-- The value that a candidate stands with: of the data that encode() made. by_rank: of an election by rank; then its rank, too.
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
