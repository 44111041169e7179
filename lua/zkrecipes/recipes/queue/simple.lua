-- The layout of ZooKeeper's own queue recipe (in Java and in C) and of Curator's SimpleDistributedQueue: /path/qn-<number>, with the data
-- as they are. It has no claims, priorities, ids or delays.
--
-- Put: create a znode. Take: list once, then read and delete items in order. A listing is used until it is used up or some seconds old.
--
-- What can go wrong: the directory has too many names for a listing (the number is checked first). Another client takes a listed item (the
-- next one is tried). The answer is lost. The sequence numbers end at 2147483647, and every further create gets node_exists.

local check = require "zkrecipes.check"
local core = require "zkrecipes.core"
local failure = require "zkrecipes.failure"
local limits = require "zkrecipes.limit"
local paths = require "zkrecipes.path"

local M = {}

local Simple = { __name = "zkrecipes.queue" }
Simple.__index = Simple

local FRESH = 2
M.LISTED = 50000 -- names at most: a listing takes some hundredths of a second; a Java client accepts few more

function M.new(session, path)
  return setmetatable({ session = session, host = core.host(session), path = path, batch = {}, at = 1, fresh_until = 0 }, Simple)
end

-- Returns the queue with requests that share a time limit (limit.lua).
local function within(queue, limit)
  if limit.session == queue.session then return queue end
  return setmetatable({ session = limit.session }, { __index = queue, __newindex = queue })
end

local function sequence(name) return tonumber(name:match("^qn%-(%-?%d+)$")) end

-- The names that a server makes are in order as strings (`alike`); names may also have been made by hand.
local function sort(names, alike)
  if alike then return table.sort(names) end
  local order = {}
  for i = 1, #names do order[names[i]] = sequence(names[i]) end
  table.sort(names, function(a, b) return order[a] < order[b] end)
end

-- True if the directory may be listed; false if it does not exist; or nil, message, code.
local function look(queue)
  local stat, message, code = queue.session:exists(queue.path)
  if stat == nil then return nil, message, code end
  if not stat then return false end
  if stat.num_children <= M.LISTED then return true end
  return nil, ("list: the directory has %d znodes; format 'simple' lists at most %d"):format(stat.num_children, M.LISTED), "full"
end

local function list(queue)
  local there, problem, why = look(queue)
  if not there then return there == false and {} or nil, problem, why end
  local names, message, code = queue.session:children(queue.path)
  if code == "no_node" then return {} end
  if not names then return nil, message, code end
  local ours, alike = {}, true
  for i = 1, #names do
    if sequence(names[i]) then
      ours[#ours + 1] = names[i]
      alike = alike and #names[i] == #"qn-0000000000"
    end
  end
  sort(ours, alike)
  return ours
end

local function put(queue, data)
  local path, message, code = queue.session:create(paths.child(queue.path, "qn-"), data, { sequential = true, parents = true })
  if path then return true end
  if code ~= "node_exists" then return nil, message, code end
  return nil, "create: the directory has used up its sequence numbers; delete it when it is empty, and the next put creates it", "full"
end

function Simple:put(data, options)
  check.self(self, Simple, "put")
  if type(data) ~= "string" then check.bad(1, "put", "string expected, got " .. type(data)) end
  local timeout = check.options(options, { timeout = "number" }, 2, "put").timeout
  check.seconds(timeout, 2, "put", true)
  local limit = limits.new(self.session, timeout)
  return limit:told(put(within(self, limit), data))
end

function Simple:put_all(all, timeout)
  check.self(self, Simple, "put_all")
  check.list(all, 1, "put_all")
  check.seconds(timeout, 2, "put_all", true)
  local copy = {}
  for i = 1, #all do
    copy[i] = all[i]
    if type(copy[i]) ~= "string" then
      check.bad(1, "put_all", ("entry %d: string expected, got %s"):format(i, type(copy[i])))
    end
  end
  local limit = limits.new(self.session, timeout)
  for i = 1, #copy do
    local ok, message, code = put(within(self, limit), copy[i])
    if not ok then return limit:told(nil, message, code, i - 1) end
  end
  return #copy
end

-- Returns the next name that may still exist; false if there is none; or nil, message, code.
local function next_name(queue)
  local now = queue.host.adapter.now()
  if not queue.batch[queue.at] or now > queue.fresh_until then
    local names, message, code = list(queue)
    if not names then return nil, message, code end
    queue.batch, queue.at, queue.fresh_until = names, 1, now + FRESH
  end
  local name = queue.batch[queue.at]
  queue.at = queue.at + 1
  return name or false
end

-- Returns the data; false if the queue is empty; or nil, message, code.
local function take(queue)
  local name, message, code = next_name(queue)
  while name do
    local data, problem, why = queue.session:get(paths.child(queue.path, name))
    if not why then
      local done
      done, problem, why = queue.session:delete(paths.child(queue.path, name))
      if done then return data or "" end
    end
    if why ~= "no_node" then return nil, problem, why end
    name, message, code = next_name(queue)
  end
  return name, message, code
end

-- Takes, and waits for a change, in turn. Returns as take().
local function take_when_told(queue, watch, limit)
  while true do
    queue.fresh_until = 0
    local data, message, code = take(queue)
    if data ~= false then return data, message, code end
    local told
    told, message, code = watch:wait(limit.left())
    if code == "timeout" then return false end
    if not told then return nil, message, code end
  end
end

local function wait_and_take(queue, limit)
  local watch, message, code = queue.session:watch(queue.path)
  if not watch then return nil, message, code end
  local data
  data, message, code = take_when_told(queue, watch, limit)
  watch:close()
  return data, message, code
end

function Simple:take(timeout)
  check.self(self, Simple, "take")
  check.seconds(timeout, 1, "take", true)
  local limit = limits.new(self.session, timeout)
  local queue = within(self, limit)
  local data, message, code = take(queue)
  if data == false and timeout ~= 0 then data, message, code = wait_and_take(queue, limit) end
  if data then return data end
  if data == nil then return limit:told(nil, message, code) end
  return nil, "queue:take " .. self.path .. ": there is no item", "timeout"
end

function Simple:size()
  check.self(self, Simple, "size")
  local stat, message, code = self.session:exists(self.path)
  if stat == nil then return nil, message, code end
  return stat and stat.num_children or 0
end

-- Returns the first item that still exists among these names, from `from` on, and its index; nothing if there is none; or nil, message,
-- code.
local function read(queue, names, from)
  for at = from, #names do
    local path = paths.child(queue.path, names[at])
    local data, message, code = queue.session:get(path)
    if not code then return { data = data, path = path }, at end
    if code ~= "no_node" then return nil, message, code end
  end
end

function Simple:items()
  check.self(self, Simple, "items")
  local names, at = nil, 0
  return function()
    local item, message, code
    local queue = within(self, limits.request(self.session))
    if not names then names, message, code = list(queue) end
    if names then item, message, code = read(queue, names, at + 1) end
    if code then error(failure.say("queue:items", self.path, message), 2) end
    at = message or #names
    return item
  end
end

function Simple:peek()
  check.self(self, Simple, "peek")
  local queue = within(self, limits.request(self.session))
  local names, message, code = list(queue)
  if not names then return nil, message, code end
  local item
  item, message, code = read(queue, names, 1)
  if code then return nil, message, code end
  return item or false
end

local function missing(name)
  return function(self)
    check.self(self, Simple, name)
    core.misuse(("queue:%s: format 'simple' has no such method; there are put, put_all, take, peek, size, items"):format(name))
  end
end

for _, name in ipairs { "claim", "remove", "dead", "dead_size", "redrive" } do Simple[name] = missing(name) end

check.class("simple_queue", Simple, Simple)
failure.name(Simple, "queue")

core.own(debug.getinfo(1, "S").source)
return M
