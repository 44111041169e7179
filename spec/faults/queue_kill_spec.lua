-- Producers and consumers of a queue are killed (kill -9), at any moment and at each of their requests; no item is lost.
--
-- The output of the workers (spec/support/worker.lua) shows where each item has ended. It was acked; or its last line is the "acking" of a
-- killed worker, so it may be done; or it is in the queue, which this spec empties in the end.

local zk = require "zkrecipes"
local env = require "spec.support.env"
local arguments = require "zkrecipes.recipes.queue.arguments"

local KILLS = tonumber(os.getenv "SPEC_KILLS") or 15

-- ---- Workers and their output ------------------------------------------------------------------

-- Starts a worker. Returns its pid and its output file.
local function start(hosts, namespace, path, role, name)
  local file = os.tmpname()
  local pipe = assert(io.popen(("exec sh -c 'echo $$; exec %s spec/support/worker.lua %s %s %s %s %s > %s 2>&1'"):format(
    env.interpreter(), hosts, namespace, path, role, name, file)))
  return { role = role, pid = pipe:read("*n"), file = file, pipe = pipe }
end

local function said(worker)
  local file = assert(io.open(worker.file))
  local text = file:read("*a")
  file:close()
  return text
end

local WORDS = { putting = true, put = true, claimed = true, acked = true, acking = true, missed = true, giving = true,
  refused = true, done = true }

-- Each word: item > how often. open: items whose worker was killed.
local function new_log()
  local log = { kills = 0, open = {} }
  for word in pairs(WORDS) do log[word] = {} end
  return log
end

local function note(log, word, item) log[word][item] = (log[word][item] or 0) + 1 end

local function note_all(log, worker)
  local open = {}
  for line in said(worker):gmatch("[^\n]+") do
    local word, item = line:match("^(%a+) ?(%S*)")
    if not WORDS[word] then error(worker.role .. " said: " .. line) end
    note(log, word, item)
    if word == "acking" then open[item] = true end
    if word == "acked" or word == "missed" then open[item] = nil end
  end
  for item in pairs(open) do log.open[item] = true end
end

local function kill(worker, log)
  os.execute("kill -9 " .. worker.pid .. " 2>/dev/null")
  worker.pipe:close()
  log.kills = log.kills + 1
  note_all(log, worker)
  os.remove(worker.file)
end

-- ---- The judgement -----------------------------------------------------------------------------

-- Counts the items of `set` for which is(item, times) is true.
local function many(set, is)
  local number = 0
  for item, times in pairs(set) do
    if is(item, times) then number = number + 1 end
  end
  return number
end

local function any() return true end
local function again(_, times) return times > 1 end

-- Call it when the queue is empty.
local function judge(log)
  local lost = many(log.put, function(item) return not log.acked[item] and not log.open[item] end)
  local foreign = many(log.claimed, function(item) return not log.putting[item] end)
  print(("%d kills: %d put, %d acked, %d repeated, %d lost, %d of which nobody knows"):format(log.kills,
    many(log.put, any), many(log.acked, any), many(log.claimed, again), lost,
    many(log.open, function(item) return not log.acked[item] end)))
  assert.equal(0, lost)
  assert.equal(0, foreign)
  assert.equal(0, many(log.acked, again))
end

local function check_empty(session, queue)
  assert.equal(0, queue:size())
  for item in queue:items() do error("left: " .. item.data) end
  env.eventually("no claim is left", function() return #(session:children(queue.path .. "/claims") or {}) == 0 end)
end

-- ---- At each request ---------------------------------------------------------------------------

local function give(queue, log, item, id)
  note(log, "putting", item)
  assert(queue:put(item, { id = id }))
  note(log, "put", item)
end

-- Items with an id can be put again.
local function put_again(queue, log)
  for item in pairs(log.putting) do
    if item:find("i$") and not log.put[item] then give(queue, log, item, item) end
  end
end

local function empty(queue, log)
  while queue:size() > 0 do
    local item = assert(queue:claim(300))
    note(log, "claimed", item.data)
    assert(item:ack())
    note(log, "acked", item.data)
  end
end

-- Waits until the fault hits or the worker has ended. True: the fault has hit. Puts the item for which an idle consumer waits.
local function live(session, queue, log, worker, proxy)
  local fifth = worker.role ~= "consumer"
  local function see_fifth(now)
    if fifth or not (now or #(session:children(queue.path .. "/seat") or {}) > 0) then return end
    fifth = true
    give(queue, log, queue.path .. ":5")
  end
  env.eventually("it is done", function()
    see_fifth()
    return proxy:fired() > 0 or said(worker):find("done\n", 1, true)
  end)
  local struck = proxy:fired() > 0
  kill(worker, log)
  see_fifth(true)
  return struck
end

-- Runs a worker that is killed at its n-th request of this name. False: it has sent fewer. fault: "hold" (before the server gets the
-- request) or "hold_reply" (after the server has done it).
local function cut_short(session, namespace, log, role, fault, request, n)
  local proxy, path = env.proxy(), ("/%s-%s-%s-%d"):format(role, fault, (request:gsub("%*", "any")), n)
  local queue = session:queue(path, { attempts = 1000 })
  if role == "consumer" then
    for i = 1, 4 do give(queue, log, path .. ":" .. i, i == 2 and path or nil) end
  end
  proxy[fault](proxy, request, n)
  local struck = live(session, queue, log, start(proxy.hosts, namespace, path, role, path), proxy)
  put_again(queue, log)
  empty(queue, log)
  check_empty(session, queue)
  return struck
end

-- Before a server gets a request, whichever it is, and after it has done one of these.
local HOLD, MULTI, CREATE = { "hold", "*" }, { "hold_reply", "multi" }, { "hold_reply", "create2" }
local KINDS = { producer = { HOLD, MULTI, CREATE }, behind = { HOLD, MULTI, CREATE }, consumer = { HOLD, MULTI } }

describe("kill -9 of workers", function()
  it("loses no item", env.run(function()
    local namespace = env.namespace()
    local session = env.session { namespace = namespace }
    local queue = session:queue("/jobs", { attempts = 1000 })
    local log = new_log()
    give(queue, log, "first")
    local roles = { "put", "put", "claim", "claim", "claim" }
    local function start_one(role, name) return start(env.server().hosts, namespace, "/jobs", role, name) end
    local workers = {}
    for i = 1, #roles do workers[i] = start_one(roles[i], "w" .. i) end
    while log.kills < KILLS or many(log.put, any) <= 100 do
      zk.sleep(0.15 + log.kills % 7 * 0.03)
      local victim = log.kills * 3 % #roles + 1
      kill(workers[victim], log)
      workers[victim] = start_one(roles[victim], "k" .. log.kills)
    end
    for i = 1, #workers do
      if workers[i].role == "put" then kill(workers[i], log) end
    end
    env.eventually("the queue is empty", function() return queue:size() == 0 end)
    for i = 1, #workers do
      if workers[i].role == "claim" then kill(workers[i], log) end
    end
    judge(log)
    check_empty(session, queue)
    session:close()
  end))

  for role, kinds in pairs(KINDS) do
    it("at each request of a " .. role .. " loses no item", env.run(function()
      local namespace, log = env.namespace(), new_log()
      local session = env.session { namespace = namespace }
      local bucket = arguments.BUCKET
      arguments.BUCKET = 2
      for _, kind in ipairs(kinds) do
        local n = 0
        repeat n = n + 1 until not cut_short(session, namespace, log, role, kind[1], kind[2], n)
        assert.is_true(n > 5)
      end
      arguments.BUCKET = bucket
      judge(log)
      session:close()
    end))
  end
end)
