-- Puts items into a queue: checks what the user passes, and cuts a list into requests. src/recipes/queue does the rest.

local check = require "zkrecipes.check"
local classes = require "zkrecipes.classes"
local core = require "zkrecipes.core"
local arguments = require "zkrecipes.recipes.queue.arguments"
local limits = require "zkrecipes.limit"

local M = {}

local PUT = { priority = "number", delay = "number", id = "string", timeout = "number" }
local ENTRY = { priority = "number", delay = "number", id = "string", data = "string" }
local CHUNK, CHUNK_BYTES = 100, 500000

local inner = core.classes.queue.inner
local put, put_list = classes.waiting(inner.put), classes.waiting(inner.put_all)

local function check_entry(given, method, argument)
  arguments.integer(given.priority, "priority", method, argument, 0, arguments.PRIORITIES)
  check.seconds(given.delay, argument, method, true)
  if given.id ~= nil then arguments.id(given.id, "option 'id': ", method, argument) end
end

function M.put(queue, data, options)
  arguments.data(data, "put", 1)
  local given = check.options(options, PUT, 2, "put")
  check_entry(given, "put", 2)
  check.seconds(given.timeout, 2, "put", true)
  return put(queue.core, data, given.priority, given.id, given.delay, given.timeout)
end

local function check_all(list)
  check.list(list, 1, "put_all")
  local entries = {}
  for i = 1, #list do
    local given = list[i]
    if type(given) == "string" then
      entries[i] = { data = given }
    elseif type(given) == "table" then
      given = check.options(given, ENTRY, 1, "put_all")
      arguments.data(given.data, "put_all", 1)
      check_entry(given, "put_all", 1)
      entries[i] = given
    else
      check.bad(1, "put_all", ("entry %d: string or table expected, got %s"):format(i, type(given)))
    end
  end
  return entries
end

-- Returns how many entries, from `from` on, fit into one multi: they have the same lane, no delay and no id.
local function chunk(queue, entries, from)
  local priority, bytes, at = entries[from].priority or 0, 0, from
  local overhead = 2 * #queue.path + 200 -- for the parts of the item and of the lane's counter
  while entries[at] and at - from < CHUNK do
    local each = entries[at]
    bytes = bytes + #each.data + overhead
    if each.id or each.delay or (each.priority or 0) ~= priority or bytes > CHUNK_BYTES then break end
    at = at + 1
  end
  return math.max(at - from, 1)
end

-- Puts some entries. Returns how many, at least one, and how many of them were known; or nil, message, code.
local function put_chunk(queue, entries, from, count, timeout)
  local entry = entries[from]
  if not (entry.id or entry.delay) then
    local list = {}
    for i = 1, count do list[i] = entries[from + i - 1].data end
    local done, message, code = put_list(queue.core, list, entry.priority, timeout)
    return done, done and 0 or message, code
  end
  local done, message, code = put(queue.core, entry.data, entry.priority, entry.id, entry.delay, timeout)
  if not done then return nil, (message:gsub("^queue:put ", "queue:put_all ", 1)), code end
  return 1, message == "known" and 1 or 0
end

function M.put_all(queue, list, timeout)
  check.seconds(timeout, 2, "put_all", true)
  local entries = check_all(list)
  local at, known, session = 1, 0, queue.session
  local limit = limits.new(session, timeout)
  while at <= #entries do
    if at > 1 and limit.left() == 0 and timeout > 0 then
      local _, message, code = limits.passed(session, "queue:put_all " .. queue.path)
      return nil, message, code, at - 1
    end
    local rest = timeout == 0 and 0 or limit:rest()
    local count, found, code = put_chunk(queue, entries, at, chunk(queue, entries, at), rest)
    if not count then return nil, found, code, at - 1 end
    at, known = at + count, known + found
  end
  return #entries, known
end

core.own(debug.getinfo(1, "S").source)
return M
