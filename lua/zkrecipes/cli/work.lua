-- zkr queue work: one command for each item of a queue.
--
-- 1. Each of N coroutines claims an item and runs the command with the item's data as its standard input.
-- 2. Exit status 0 acks the item; any other nacks it, so that it comes again, and after its last attempt becomes a dead letter.
-- 3. At a signal that asks zkr to end, the coroutines that wait for an item give up; the others finish their item. A second such signal
--    goes to the commands, too; SIGQUIT at once. All other signals are for the commands.
--
-- What can go wrong: zkr is killed: the minders kill the commands, and the items return when the session ends, with `guardian` at once. The
-- session is lost: other workers may get the items, so the commands are killed. zkr is stopped, and so cannot notice the loss: the command
-- runs on. So an item may be worked on twice at the same time in that case.

local exit = require "zkrecipes.cli.exit"
local jobs = require "zkrecipes.cli.job"
local signals = require "zkrecipes.cli.signals"

local M = {}

local PAUSE = 1 -- second after a failure to claim

-- Kills all commands when the session, and with it every claim, is over.
local function guard(work, session)
  for state in session:states() do
    if state == "lost" then
      for job in pairs(work.running) do job:kill() end
    end
  end
end

local function variables_of(work, item)
  return { ZKR_PATH = work.path, ZKR_ITEM = item.id or "", ZKR_ATTEMPT = ("%d"):format(item.attempts) }
end

-- Returns the exit status of the command.
local function run(work, item)
  local job = jobs.start(work.context, work.relay, work.command, variables_of(work, item), item.data)
  work.running[job] = true
  local status = job:wait()
  work.running[job] = nil
  return status
end

-- Returns true if the item is done.
local function serve(work, item)
  local status = run(work, item)
  local done, message
  if status == exit.OK then done, message = item:ack() else done, message = item:nack(work.retry) end
  if not done then work.context:note(message) end
  if status ~= exit.OK then
    work.context:note(("%s: attempt %d of an item ended with status %d"):format(work.path, item.attempts, status))
  end
  return status == exit.OK
end

-- Claims the next item. nil: there will be none.
local function next_item(work)
  while not work.ending do
    local item, message, code = work.queue:claim(work.drain and 0 or nil)
    if item then return item end
    if work.drain and code == "timeout" then return nil end
    if not work.ending then
      work.context:note(message)
      work.context.zk.sleep(PAUSE)
    end
  end
end

-- One of the N: item after item.
local function serve_all(work, worker)
  repeat
    worker.waits = true
    local item = next_item(work)
    worker.waits = false
    if item and not serve(work, item) then work.failed = true end
  until not item
end

-- Those that run a command finish it; nothing new is claimed.
local function finish(work)
  work.ending = true
  for worker in pairs(work.workers) do
    if worker.waits then worker.task:cancel() end
  end
end

-- Returns true if nothing more is to be done about the signal.
local function heed(work, name, number, ends)
  if not ends then return false end
  if work.ending or name == "sigquit" then work.relay:pass(number) end
  if not work.ending then finish(work) end
  return true
end

-- A worker that fails (a command cannot be started, for example) ends the others, too.
local function start(work)
  local zk, worker = work.context.zk, {}
  work.workers[worker] = true
  worker.task = zk.spawn(function()
    local done, raised = pcall(serve_all, work, worker)
    if done or raised == zk.canceled then return end
    work.raised = work.raised or raised
    finish(work)
  end)
end

-- options: path, command, n (at once), retry (seconds until a failed item comes again), drain (end when the queue is empty).
-- Returns the exit status: 1 if `drain` and a command has failed.
function M.run(context, queue, options)
  local work = { context = context, queue = queue, running = {}, workers = {}, path = options.path, command = options.command,
    retry = options.retry, drain = options.drain }
  context.zk.spawn(guard, work, context:session())
  context:tell_outages()
  work.relay = signals.relay(context, function(...) return heed(work, ...) end)
  for _ = 1, options.n do start(work) end
  for worker in pairs(work.workers) do worker.task:wait() end
  if work.raised then error(work.raised, 0) end
  return work.drain and work.failed and exit.NO or exit.OK
end

return M
