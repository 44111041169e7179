-- A process that uses a queue and prints every step on standard output. A spec that kills it sees how far it has come:
--
--     worker.lua HOSTS NAMESPACE PATH ROLE NAME
--
-- Roles: put and claim run until they are killed. producer, behind and consumer run for a short time, always do the same, have a guardian,
-- and end with "done". The consumer finds four items, and waits for a fifth.

local zk = require "zkrecipes"
local arguments = require "zkrecipes.recipes.queue.arguments"

local hosts, namespace, path, role, name = arg[1], arg[2], arg[3], arg[4], arg[5]
local short = role == "producer" or role == "behind" or role == "consumer"
if short then arguments.BUCKET = 2 end
local session = zk.session { hosts = hosts, namespace = namespace, timeout = 10, tick = 0.5, guardian = short }
local queue = session:queue(path, { attempts = 1000 })
io.stdout:setvbuf("no")

local function say(...) print(table.concat({ ... }, " ")) end

local function put(number, id, other)
  local data = name .. ":" .. number .. (id and "i" or "")
  say("putting", data)
  local ok, _, code = (other or queue):put(data, { id = id and data or nil })
  if ok then say("put", data) else say("refused", data, code) end
end

local function claim(timeout)
  local item, message, code = queue:claim(timeout)
  if item then
    say("claimed", item.data)
  elseif code ~= "timeout" and code ~= "connection_loss" and code ~= "lost" then
    error(message, 0)
  end
  return item
end

local function ack(item)
  say("acking", item.data)
  local ok, _, code = item:ack()
  if ok then say("acked", item.data) else say(code == "lost" and "missed" or "refused", item.data, code) end
end

local function serve()
  while true do
    local item = claim(5)
    if item then
      if item.data:find("[05]0i?$") then zk.sleep(0.1) end -- so that some are killed between claim and ack
      ack(item)
    end
  end
end

local lives = {}

function lives.put()
  for i = 1, 1000000 do put(i, i % 2 == 0) end
end

function lives.claim()
  for _ = 1, 4 do zk.spawn(serve) end
end

-- Fills a bucket and begins the next.
function lives.producer()
  for i = 1, 5 do put(i, i % 2 == 0) end
  say("done")
end

-- Puts into a bucket that another session has filled meanwhile.
function lives.behind()
  local other = zk.session { hosts = hosts, namespace = namespace, timeout = 10, guardian = true }
  local theirs = other:queue(path)
  put(1)
  for i = 2, 3 do put(i, false, theirs) end
  for i = 4, 5 do put(i) end
  say("done")
end

function lives.consumer()
  ack(claim())
  local second, third = claim(), claim()
  say("giving", second.data)
  assert(second:nack())
  ack(claim())
  ack(third)
  ack(claim())
  ack(claim()) -- it is put now
  assert(queue:take(0) == nil)
  say("done")
end

zk.run(lives[role])
