-- Throughput and stalls of the queue on a real server:
--
--     lua5.4 bench/queue.lua ITEMS [CONSUMERS [SAMPLE]]        on $ZK_HOSTS, or on a server of its own
--
-- Fills a queue with ITEMS. Then it measures a sample of puts; of claim + ack by CONSUMERS processes with 32 coroutines each, and by one
-- coroutine alone; and the longest stall of a host, seen by a coroutine that wants to run each millisecond.

local testing = require "zkrecipes.testing"
local zk = require "zkrecipes"

local COROUTINES = 32

local hosts, server = os.getenv "ZK_HOSTS", nil

-- Calls fn(i) for 1..count from so many coroutines; seconds, and the longest stall in milliseconds.
local function crowd(count, coroutines, fn)
  local next_one, ended, stall = 0, false, 0
  local began = zk.now()
  local ticker = zk.spawn(function()
    local last = zk.now()
    while not ended do
      zk.sleep(0.001)
      stall, last = math.max(stall, zk.now() - last), zk.now()
    end
  end)
  local tasks = {}
  for c = 1, coroutines do
    tasks[c] = function()
      while next_one < count do
        next_one = next_one + 1
        fn(next_one)
      end
    end
  end
  zk.all(tasks)
  local took = zk.now() - began
  ended = true
  ticker:wait()
  return took, stall * 1000
end

local function claim_and_ack(queue)
  return function()
    local item = assert(queue:claim(60))
    assert(item:ack())
  end
end

-- One consumer's process: prints when it begins and ends, and its stall.
local function consume(count, coroutines)
  zk.run(function()
    local queue = zk.session { hosts = hosts }:queue("/jobs")
    queue:size()
    local began = zk.now()
    local _, stall = crowd(count, coroutines, claim_and_ack(queue))
    print(began, zk.now(), stall)
  end)
end

local function consumers(number, count, coroutines)
  local pipes = {}
  for i = 1, number do
    pipes[i] = io.popen(("ZK_HOSTS=%s %s bench/queue.lua consume %d %d"):format(hosts, arg[-1], math.floor(count / number), coroutines))
  end
  local from, to, most = math.huge, 0, 0
  for i = 1, number do
    local began, ended, stall = pipes[i]:read("*n", "*n", "*n")
    from, to, most = math.min(from, began), math.max(to, ended), math.max(most, stall)
    pipes[i]:close()
  end
  print(("claim + ack, %d consumers of %d coroutines: %d in %.2f s, %.0f a second; longest stall %.1f ms"):format(number,
    coroutines, count, to - from, count / (to - from), most))
end

local function fill(queue, count)
  local list = {}
  for i = 1, 100 do list[i] = ("x"):rep(100) end
  local took, stall = crowd(math.floor(count / 100), 4, function() assert(queue:put_all(list)) end)
  print(("put_all of %d: %.1f s, %.0f a second; longest stall %.1f ms"):format(count, took, count / took, stall))
end

local function main(items, number, sample)
  zk.run(function()
    local queue = zk.session { hosts = hosts }:queue("/jobs")
    fill(queue, math.max(items - sample, 0))
    local took, stall = crowd(math.min(sample, items), COROUTINES, function() assert(queue:put(("x"):rep(100))) end)
    print(("put, %d coroutines: %.0f a second; longest stall %.1f ms"):format(COROUTINES, math.min(sample, items) / took, stall))
    print("size " .. queue:size())
  end)
  local share = math.floor(math.min(sample, items) / 4)
  consumers(1, share, COROUTINES)
  for _, each in ipairs { 1, number } do consumers(each, share, COROUTINES) end
  consumers(1, math.floor(share / 4), 1)
end

if arg[1] == "consume" then
  consume(tonumber(arg[2]), tonumber(arg[3]))
else
  if not hosts then
    server = assert(testing.start { jvm = { "-Xmx6g" } })
    hosts = server.hosts
  end
  main(tonumber(arg[1]) or 1000, tonumber(arg[2]) or 4, tonumber(arg[3]) or 10000)
  if server then server:stop() end
end
