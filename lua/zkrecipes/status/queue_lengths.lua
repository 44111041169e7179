-- For the status: the lengths of the queues in which this process waits, and which places are ours.
--
-- 1. List the directory of each path, all at the same time; the names show which znodes are ours. Skip a path whose session is not
--    connected.
-- 2. A length without an answer within LIMIT is unknown, because users look at the status during an outage.
-- 3. Calls at the same time, or soon after, share one query.
--
-- What can go wrong: the query finds no free timer of nginx and begins late. Meanwhile all lengths are unknown, and no other query begins.
--
-- The query runs in its own tasks, because the caller may be killed meanwhile.

local child = require "zkrecipes.path".child
local core = require "zkrecipes.core"
local waiters = require "zkrecipes.host.waiters"
local activity = require "zkrecipes.status.activity"
local hosts = require "zkrecipes.host.host"
local tasks = require "zkrecipes.host.tasks"
local wait = require "zkrecipes.host.wait"

local M = {}

local MOST = 20 -- most paths to query: those with the longest waits
local LIMIT = 1 -- second

-- The number of a contender's znode; nil: it is not a contender's.
local function sequence(name)
  local head, number = name:match("^(.*)(%d%d%d%d%d%d%d%d%d%d)$")
  for i = 1, head and #core.stems or 0 do
    local stem = core.stems[i]
    if head:sub(-#stem) == stem then return tonumber(number) end
  end
end

-- ---- What to ask -------------------------------------------------------------------------------

local function older(a, b)
  if a.since ~= b.since then return a.since < b.since end
  return a.path < b.path
end

-- The queues, each with an object whose session can ask for it.
local function queues_of(host)
  local list, at = {}, {}
  activity.each_waiting(host, function(object, since)
    if not (object.contenders or object.candidates) then return end
    local path = object.path
    local queue = at[path] or { path = path, object = object, since = since }
    queue.since = math.min(queue.since, since)
    if not at[path] then at[path], list[#list + 1] = queue, queue end
  end)
  table.sort(list, older)
  for i = #list, MOST + 1, -1 do list[i] = nil end
  return list
end

-- Ids of our sessions, and paths of what we hold.
local function ours_of(host)
  local ids, held = {}, {}
  for _, session in pairs(host.opened) do
    if core.host(session) == host then ids[session.id or ""] = true end -- simulated processes know of each other's
  end
  for _, hold in pairs(host.activity.holds) do held[hold.path] = true end
  return ids, held
end

-- ---- A look ------------------------------------------------------------------------------------

local function ask(queue)
  local names, stat, code = queue.object.session:children(queue.path)
  if not names then
    queue.length = code == "no_node" and 0 or nil
    return
  end
  local found = {}
  for i = 1, #names do
    local number = sequence(names[i])
    if number then found[#found + 1] = { name = names[i], number = number } end
  end
  table.sort(found, function(a, b) return a.number < b.number end)
  queue.found, queue.length = found, #found
  if stat.ephemeral_owner then queue.length = 1 end -- an unfair lock has no directory: the znode is the holder's
end

local function shown(queue, ids, held)
  local places = {}
  for place, one in ipairs(queue.found or {}) do
    local id = one.name:match("^(%x+)%-")
    if ids[id] and not held[child(queue.path, one.name)] then places[#places + 1] = place end
  end
  return { path = queue.path, length = queue.length, places = places, unknown = not queue.length or nil }
end

local function rows_of(look)
  local ids, held = ours_of(look.host)
  local rows = {}
  for i = 1, #look.asked do rows[i] = shown(look.asked[i], ids, held) end
  table.sort(rows, function(a, b) return a.path < b.path end)
  return rows
end

local function finish(look)
  look.queues, look.done = rows_of(look), true
  look.waiters:wake()
end

local function run(look)
  local askers, left, record = {}, 0, wait.record()
  look.asks, look.began, look.asked = true, look.host.adapter.now(), queues_of(look.host)
  local function on_end()
    left = left - 1
    if left == 0 then wait.wake(look.host, record) end
  end
  for i = 1, #look.asked do
    local queue = look.asked[i]
    if queue.object.session.state == "connected" then
      left = left + 1
      askers[#askers + 1] = tasks.behind(look.host, { quiet = true, on_end = on_end }, ask, queue)
    end
  end
  if left > 0 then wait.pause(look.host, record, LIMIT) end
  for i = 1, #askers do askers[i]:cancel() end
end

local function begin(host, now)
  local look = { host = host, began = now, asked = queues_of(host), asks = false, waiters = waiters.new(host), done = false }
  tasks.behind(host, { quiet = true, on_end = function() finish(look) end }, run, look)
  return look
end

hosts.extend(function(host) host.look = false end) -- the last look

-- True if the answer of this look is new enough. One that has not begun to ask is: its task waits for a free timer of nginx.
local function serves(look, age, now)
  if not look then return false end
  return not (look.asks or look.done) or age ~= nil and now - look.began <= math.max(age, look.done and 0 or LIMIT)
end

-- of(host [, age]): a list for zkrecipes.Status, see meta/status.lua; it may be this many seconds old. Waits, for little more than LIMIT
-- at most.
function M.of(host, age)
  local now, look = host.adapter.now(), host.look
  if not serves(look, age, now) then
    look = begin(host, now)
    host.look = look
  end
  if not look.done then
    local record = look.waiters:enter()
    if not wait.pause(host, record, 1.5 * LIMIT) then record:give_up() end
  end
  return look.queues or rows_of(look)
end

core.own(debug.getinfo(1, "S").source)
return M
