-- The status of this process: as a table (zk.status()), as JSON, and for Prometheus; page.lua makes a page of it.
--
-- It sends no request and stores nothing: it shows what activity.lua has stored. queue_lengths.lua asks for the places in queues.

local core = require "zkrecipes.core"
local activity = require "zkrecipes.status.activity"

local M = {}

-- ---- Collecting --------------------------------------------------------------------------------

local function in_order(a, b) return a.number < b.number end

local function sessions_of(host)
  local list = {}
  for number, session in pairs(host.opened) do
    list[#list + 1] = { number = number, state = session.state, id = session.id, server = session.server,
      timeout = session.timeout }
  end
  table.sort(list, in_order)
  return list
end

local function oldest_first(a, b) return a.age > b.age end

local function class_of(object)
  local meta = debug.getmetatable(object)
  return tostring(meta and meta.__name):gsub("^zkrecipes%.", "")
end

local function waiting_of(host, now)
  local list = {}
  activity.each_waiting(host, function(object, since)
    list[#list + 1] = { kind = class_of(object), path = object.path, age = now - since }
  end)
  table.sort(list, oldest_first)
  return list
end

local function waiters_by_path(waiting)
  local counts = {}
  for i = 1, #waiting do counts[waiting[i].path] = (counts[waiting[i].path] or 0) + 1 end
  return counts
end

local function shown(hold, now, waiters)
  local path = hold.path
  return { kind = class_of(hold), path = path, token = hold.token, age = now - hold.since,
    waiters = waiters[path:match("^(.+)/[^/]*$")] or waiters[path] or 0 }
end

local function holds_of(host, now, waiters)
  local list = {}
  for _, hold in pairs(host.activity.holds) do
    if hold:valid() then list[#list + 1] = shown(hold, now, waiters) end
  end
  table.sort(list, oldest_first)
  return list
end

-- The age is nil if it was never loaded.
local function tree_of(number, tree)
  local age = tree:age()
  return { number = number, path = tree.path, znodes = core.classes.tree.inner.size(tree), problem = tree.problem,
    age = age < math.huge and age or nil }
end

-- Without copies that are closed, or whose session is, or that belong to the parent of this process.
local function trees_of(host)
  local list, follows = {}, core.classes.tree.inner.follows
  for number, tree in pairs(host.activity.trees) do
    if follows(tree) then list[#list + 1] = tree_of(number, tree) end
  end
  table.sort(list, in_order)
  return list
end

-- Presences, partitioners, participants and subscriptions.
local function objects_of(host)
  local list = {}
  activity.each_object(host, function(number, object, state)
    list[#list + 1] = { number = number, kind = class_of(object), path = object.path, state = state }
  end)
  table.sort(list, in_order)
  return list
end

-- of(host): see zkrecipes.Status in meta/status.lua.
function M.of(host)
  activity.prune(host)
  local now, noted = host.adapter.now(), host.activity
  local waiting = waiting_of(host, now)
  local waits, failed, count = {}, {}, 0
  for i = 1, #noted.waits do
    count = count + noted.waits[i]
    waits[i] = { below = activity.BOUNDS[i], count = count }
  end
  for code, number in pairs(noted.failed) do failed[code] = number end
  return { host = host.name, sessions = sessions_of(host), waiting = waiting,
    holds = holds_of(host, now, waiters_by_path(waiting)), trees = trees_of(host), objects = objects_of(host),
    granted = noted.granted, released = noted.ended, lost = noted.lost, failed = failed, waits = waits,
    waited = noted.seconds, tasks = host.live }
end

-- ---- JSON --------------------------------------------------------------------------------------

local function quoted(text)
  return '"' .. text:gsub('[%c"\\\127]', function(c) return ("\\u%04x"):format(c:byte()) end) .. '"'
end

local json

local function json_list(list)
  local parts = {}
  for i = 1, #list do parts[i] = json(list[i]) end
  return "[" .. table.concat(parts, ",") .. "]"
end

local OBJECTS = { failed = true } -- they may be empty, and are no lists

local function json_object(object)
  local keys, parts = {}, {}
  for key in pairs(object) do keys[#keys + 1] = key end
  table.sort(keys)
  for i, key in ipairs(keys) do
    local value = object[key]
    parts[i] = quoted(key) .. ":" .. (OBJECTS[key] and next(value) == nil and "{}" or json(value))
  end
  return "{" .. table.concat(parts, ",") .. "}"
end

-- Counts keep all their digits, whatever the Lua.
local function digits(number) return (number % 1 == 0 and "%.0f" or "%.14g"):format(number) end

function json(value)
  if type(value) == "string" then return quoted(value) end
  if type(value) == "number" then return digits(value) end
  if type(value) ~= "table" then return tostring(value) end
  return (#value > 0 or next(value) == nil) and json_list(value) or json_object(value)
end

M.json = json

-- ---- Prometheus --------------------------------------------------------------------------------

local STATES = { "connecting", "connected", "suspended", "lost", "closed" }

local function metric(lines, name, kind, help)
  lines[#lines + 1] = ("# HELP zkrecipes_%s %s\n# TYPE zkrecipes_%s %s"):format(name, help, name, kind)
end

-- more: a further label; nil: none.
local function add(lines, name, status, value, more)
  local labels = {}
  if status.worker then labels[1] = ('worker="%s"'):format(status.worker) end
  labels[#labels + 1] = more
  local text = #labels > 0 and "{" .. table.concat(labels, ",") .. "}" or ""
  lines[#lines + 1] = ("zkrecipes_%s%s %s"):format(name, text, digits(value))
end

local function add_all(lines, list, name, value_of)
  for _, status in ipairs(list) do add(lines, name, status, value_of(status)) end
end

local function add_histogram(lines, list)
  metric(lines, "wait_seconds", "histogram", "Time until a hold was granted.")
  for _, status in ipairs(list) do
    for _, wait in ipairs(status.waits) do
      add(lines, "wait_seconds_bucket", status, wait.count, ('le="%s"'):format(wait.below or "+Inf"))
    end
    add(lines, "wait_seconds_sum", status, status.waited)
    add(lines, "wait_seconds_count", status, status.granted)
  end
end

local function in_state(status, state)
  local count = 0
  for _, session in ipairs(status.sessions) do
    if session.state == state then count = count + 1 end
  end
  return count
end

local function add_sessions(lines, list)
  metric(lines, "sessions", "gauge", "Sessions by state.")
  for _, status in ipairs(list) do
    for _, state in ipairs(STATES) do add(lines, "sessions", status, in_state(status, state), ('state="%s"'):format(state)) end
  end
end

local function add_failed(lines, list)
  metric(lines, "failed_total", "counter", "Attempts that ended without a hold, by code.")
  for _, status in ipairs(list) do
    for code, number in pairs(status.failed) do add(lines, "failed_total", status, number, ('code="%s"'):format(code)) end
  end
end

-- How many rows a list has, or had before it was cut. After a reload a worker of an earlier version may lack one.
function M.count(status, name) return status.counts and status.counts[name] or #(status[name] or {}) end

-- prometheus(list): the figures of these statuses; a label names the worker of each status that has a `worker`.
function M.prometheus(list)
  local lines = {}
  add_sessions(lines, list)
  metric(lines, "holds", "gauge", "Holds at present.")
  add_all(lines, list, "holds", function(status) return M.count(status, "holds") end)
  metric(lines, "waiting", "gauge", "Attempts that wait for a hold.")
  add_all(lines, list, "waiting", function(status) return M.count(status, "waiting") end)
  for _, name in ipairs { "granted", "released", "lost" } do
    metric(lines, name .. "_total", "counter", "Holds that were " .. name .. ".")
    add_all(lines, list, name .. "_total", function(status) return status[name] end)
  end
  add_failed(lines, list)
  add_histogram(lines, list)
  return table.concat(lines, "\n") .. "\n"
end

core.own(debug.getinfo(1, "S").source)
return M
