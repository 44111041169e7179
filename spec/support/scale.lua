-- Counts what n processes cost the servers, in a simulated world, as rows of the tables in docs/scale.md. A process is a session here:
-- sessions of one process share nothing that is counted. `make bench-scale` prints the rows for any n, and
-- spec/recipes/all/scale_counts_spec.lua compares those of the page with what it counts.

local sim = require "zkrecipes.sim"

local M = {}

local SHARE = 100 -- contenders of a cohort, and of a path, where they are divided

local KINDS = { "create", "delete", "exists", "get", "set", "children", "sync", "multi" }

-- Without a collection no handle that is dropped costs a request, and no member leaves.
local function within(fn)
  collectgarbage("stop")
  local world = sim.new { seed = 1, jitter = 0, container_interval = 1e9 }
  local ok, result = pcall(world.run, world, function() return fn(world) end)
  collectgarbage("restart")
  if not ok then error(result, 0) end
  return result
end

-- gives: a function that returns the requests since its last call: by kind, and `all`.
local function counter(world)
  local before = {}
  return function()
    local counts = { all = 0 }
    for _, kind in ipairs(KINDS) do
      local now = world:requests(nil, kind)
      local more = now - (before[kind] or 0)
      before[kind] = now
      if more > 0 then counts[kind], counts.all = more, counts.all + more end
    end
    return counts
  end
end

-- Until all requests are answered, and no more follow.
local function settle(world)
  local before
  repeat
    before = world:requests()
    world:advance(1)
  until world:requests() == before
end

local function open(world, count)
  local sessions = {}
  for i = 1, count do sessions[i] = world.zk.session { timeout = 40 } end
  for i = 1, count do assert(sessions[i]:connected(60)) end
  return sessions
end

-- Bytes of the answer to a listing of all at this path: the header, the length and the bytes of each name, the stat.
local function answer_bytes(world, path)
  local bytes = 4 + 16 + 4 + 68
  for _, name in ipairs(world:children(path) or {}) do bytes = bytes + 4 + #name end
  return bytes
end

-- ---- Contests ----------------------------------------------------------------------------------

-- How n processes contend. `lock` gives the lock of a session, which is the number `i` of all; `share`: contenders of a session.
local WAYS = {
  fair = { title = "a lock", lock = function(session) return session:lock("/l") end },
  unfair = { title = "an unfair lock", lock = function(session) return session:lock("/l", { fair = false }) end, hand_offs = 3 },
  cohort = { title = "a lock, cohorts of 100", share = SHARE, hand_offs = 2 * 32, -- two turns of cohorts
    lock = function(session) return session:lock("/l", { cohort = true }) end },
  paths = { title = "locks at many paths, 100 at each",
    lock = function(session, i, n) return session:lock(("/l/%d"):format(i % (n / SHARE))) end },
  election = { title = "an election", lock = function(session)
    local election = session:election("/l")
    return { acquire = function() return election:campaign() end }
  end },
  semaphore = { title = "a semaphore of 5", data = "5", lock = function(session) return session:semaphore("/l") end, hand_offs = 3 },
  max_queue = { title = "a lock, `max_queue = 10`", lock = function(session) return session:lock("/l", { max_queue = 10 }) end },
}

-- Directories first, so that no join makes one.
local function make_directories(session, way, n)
  if way == "unfair" then return end
  assert(session:create("/l", WAYS[way].data or ""))
  for i = 0, way == "paths" and n / SHARE - 1 or -1 do assert(session:create("/l/" .. ("%d"):format(i), "")) end
end

-- Contenders that all wait or hold: `held` has the holds that were granted, in order.
local function contend(world, way, n)
  local one = WAYS[way]
  local share = one.share or 1
  local sessions, locks, crowd = open(world, math.ceil(n / share)), {}, { held = {}, tasks = {} }
  for i = 1, #sessions do locks[i] = one.lock(sessions[i], i, math.floor(n)) end
  make_directories(sessions[1], way, n)
  settle(world)
  crowd.requests, crowd.sessions = counter(world), #sessions
  crowd.requests()
  for i = 1, n do
    crowd.tasks[i] = world.zk.spawn(function()
      local hold = locks[math.ceil(i / share)]:acquire()
      crowd.held[#crowd.held + 1] = hold
    end)
  end
  repeat settle(world) until #crowd.held > 0 -- so many coroutines do not begin at once
  return crowd
end

-- All that hold leave, so often; each time as many others hold when all is quiet.
local function hand_over(world, crowd, times)
  for _ = 1, times do
    local leaving = crowd.held
    crowd.held = {}
    for _, hold in ipairs(leaving) do
      local leave = hold.release or hold.resign
      leave(hold)
    end
    settle(world)
    assert(#leaving > 0 and #crowd.held == #leaving, "nobody follows")
  end
end

-- The number without needless digits, with commas between thousands. Interpreters format a half in different ways, so it is rounded first.
local function short(number)
  number = math.floor(number * 100 + 0.5) / 100
  local text = (number >= 100 and "%.0f" or "%.2f"):format(number):gsub("%.?0+$", number >= 100 and "%0" or "")
  local whole, rest = text:match("^(%d+)(.*)$")
  return whole:reverse():gsub("(%d%d%d)", "%1,"):reverse():gsub("^,", "") .. rest
end

local function row(title, ...)
  local cells = { title }
  for i = 1, select("#", ...) do cells[i + 1] = short((select(i, ...))) end
  return "| " .. table.concat(cells, " | ") .. " |"
end

---What n processes cost that contend in this way: sessions, watches on the servers, requests of a join and of a hand-off (its release and
---all that follows in all processes), bytes of the answer to a listing of all contenders.
---@return string row
function M.contest(way, n)
  return within(function(world)
    local crowd = contend(world, way, n)
    local joins, watches, bytes = crowd.requests().all, world:watches(), answer_bytes(world, way == "paths" and "/l/0" or "/l")
    local hand_offs = WAYS[way].hand_offs or 8
    hand_over(world, crowd, way == "cohort" and 32 or 1) -- those that never waited
    crowd.requests()
    local handed = #crowd.held * hand_offs
    hand_over(world, crowd, hand_offs)
    local result = row(WAYS[way].title, n, crowd.sessions, watches, joins / n, crowd.requests().all / handed, bytes)
    for _, task in ipairs(crowd.tasks) do task:cancel() end
    return result
  end)
end

-- ---- Copies ------------------------------------------------------------------------------------

-- What one more member of a group costs when n members look at each other.
local function member(world, n)
  local sessions, groups = open(world, n), {}
  assert(sessions[1]:create("/g", ""))
  for i = 1, n do
    groups[i] = sessions[i]:group("/g")
    groups[i]:join("", { id = ("member-%06d"):format(i) })
  end
  settle(world)
  assert(#groups[n]:members() == n)
  local requests, watches = counter(world), world:watches()
  requests()
  groups[1]:join("", { id = ("member-%06d"):format(n + 1) })
  settle(world)
  assert(#groups[n]:members() == n + 1)
  return row("a group whose members all look, one more joins", n, watches, requests().all, n * answer_bytes(world, "/g"))
end

-- What a change of a value costs that n processes read.
local function change(world, n)
  local sessions, configs = open(world, n), {}
  assert(sessions[1]:create("/c", "1"))
  for i = 1, n do configs[i] = sessions[i]:config("/c") end
  settle(world)
  local requests, watches = counter(world), world:watches()
  requests()
  assert(configs[1]:set("2"))
  settle(world)
  assert(configs[n]:get() == "2")
  return row("a configuration that all read, one change", n, watches, requests().all, 0)
end

---What one change costs that n processes see: watches on the servers, requests of all, bytes of the answers to listings.
---@return string row
function M.change(what, n)
  return within(function(world) return (what == "member" and member or change)(world, n) end)
end

M.CONTESTS = { "fair", "election", "semaphore", "unfair", "cohort", "paths", "max_queue" }
M.CHANGES = { "member", "change" }

return M
