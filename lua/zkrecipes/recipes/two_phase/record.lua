-- What is where on the servers, and the records of transactions.
--
--   transactions/<id>                     the record; version 0: open, 1: decided, 2: tidied (it has only the outcome)
--   transactions/<id>/yes.<tag>.<name>    the vote of a participant
--   transactions/<id>/done.<tag>.<name>   its mark: it has committed or aborted
--   participants/<name>/<id>.<tag>        in its inbox: it has not done so yet
--   clock                                 written to learn the servers' time
--
-- <id> and <name> are escaped (escape.lua). A tag has no dot and belongs to one run of one transaction.
--
-- A place is where a transaction is: { folder =, id =, name =, path = }. A record is { state = "open" | "committed" | "aborted", tag =,
-- milliseconds = (for votes), names = (escaped), data =, why = }; one that is tidied has `sum` instead of names and data.

local check = require "zkrecipes.check"
local core = require "zkrecipes.core"
local escape = require "zkrecipes.escape"

local M = {}

local MAGIC = "zkrecipes two-phase 1"
local STATES = { open = true, committed = true, aborted = true }
local LONGEST = 1e12 -- milliseconds: the longest time for votes that a run may have

-- ---- Places ------------------------------------------------------------------------------------

local function place(folder, id, name)
  return { folder = folder, id = id, name = name, path = ("%s/transactions/%s"):format(folder, name) }
end

function M.unescape(name)
  if name == "=" then return "" end
  return (name:gsub("=(%x%x)", function(hex) return string.char(tonumber(hex, 16)) end))
end

function M.unescaped(names)
  local list = {}
  for i = 1, #names do list[i] = M.unescape(names[i]) end
  return list
end

-- The place; or nil, message, code.
function M.place(folder, id)
  local name, message, code = escape(id)
  if not name then return nil, message, code end
  return place(folder, id, name)
end

function M.place_of_name(folder, name) return place(folder, M.unescape(name), name) end

-- The place and the tag; nil: no process of ours has made this entry.
function M.place_of_entry(folder, entry)
  local name, tag = entry:match "^(.+)%.([^.]+)$"
  if name then return M.place_of_name(folder, name), tag end
end

function M.inbox(at, name) return ("%s/participants/%s"):format(at.folder, name) end
function M.entry(at, tag, name) return ("%s/%s.%s"):format(M.inbox(at, name), at.name, tag) end

-- kind: "yes" or "done".
function M.mark(at, tag, kind, name) return ("%s/%s.%s.%s"):format(at.path, kind, tag, name) end

-- ---- Records -----------------------------------------------------------------------------------

local function line(key, value) return value and ("%s %s\n"):format(key, value) or "" end

function M.encode(record)
  return table.concat { MAGIC, "\n", line("state", record.state), line("milliseconds", record.milliseconds), line("tag", record.tag),
    line("names", record.names and table.concat(record.names, " ")), line("sum", record.sum),
    line("why", record.why and check.shown(record.why)), "\n", record.data or "" }
end

-- True if paths can be made of them. names: nil: they are not in the record any more.
local function are_safe(tag, names)
  if not (tag or ""):find "^[%w-]+$" then return false end
  for _, name in ipairs(names or {}) do
    if name:find("/", 1, true) or core.path_problem("/" .. name) then return false end
  end
  return true
end

-- nil: it is none of ours.
function M.decode(text)
  local head, data = (text or ""):match "^(.-\n)\n(.*)$"
  if not head or head:sub(1, #MAGIC + 1) ~= MAGIC .. "\n" then return nil end
  local record = { data = data }
  for key, value in head:gmatch "(%l+) ([^\n]*)\n" do record[key] = value end
  record.milliseconds, record.zkrecipes = tonumber(record.milliseconds or ""), nil
  if record.names then
    local list = {}
    for name in record.names:gmatch "%S+" do list[#list + 1] = name end
    record.names = list
  end
  local milliseconds = record.milliseconds
  if not milliseconds or not (milliseconds >= 0 and milliseconds <= LONGEST) then return nil end
  if not STATES[record.state] or not are_safe(record.tag, record.names) then return nil end
  if record.names and record.names[1] or record.sum and record.state ~= "open" then return record end
end

-- The record with a decision.
function M.decided(record, state, why)
  return { state = state, tag = record.tag, milliseconds = record.milliseconds, names = record.names, data = record.data, why = why }
end

-- ---- The same? ---------------------------------------------------------------------------------

local PIECE = 4096

-- A number of 31 bits for the participants and the data. It protects no secret.
local function sum_of(record)
  local text, sum = table.concat(record.names, " ") .. "\n" .. record.data, 7
  for from = 1, #text, PIECE do
    for at = from, math.min(from + PIECE - 1, #text) do sum = (sum * 31 + text:byte(at)) % 2147483647 end
  end
  return ("%d:%.0f"):format(#text, sum)
end

-- The record that stays when the transaction is tidied.
function M.tidied(record)
  return { state = record.state, tag = record.tag, milliseconds = record.milliseconds, sum = sum_of(record), why = record.why }
end

-- True if the found record is of a transaction with the participants and the data of the other one.
function M.same(found, record)
  if found.sum then return found.sum == sum_of(record) end
  return found.data == record.data and table.concat(found.names, " ") == table.concat(record.names, " ")
end

core.own(debug.getinfo(1, "S").source)
return M
