-- Runs a contestant in a scenario and returns figures: a table of name > number; or nil and the reason.
--
-- What can go wrong: a contestant fails, or hangs. Then the time limit ends it, and that row has no figure.

local socket = require "socket"
local proxies = require "spec.support.proxy"

local M = {}

local LIMIT = 600 -- seconds for one run; a quiet machine needs only a few
local READY, WINDOW = 2, 1 -- seconds: when the window of a contest begins, and how long it is

local runs = 0

local began = os.time()

-- A directory that no contestant has used.
local function fresh_path()
  runs = runs + 1
  return ("/bench-%d-%d"):format(began, runs)
end

local function command(contestant, hosts, path, scenario)
  return ("exec timeout -s KILL %d %s %s %s %s 2>&1"):format(LIMIT, contestant.command, hosts, path, scenario)
end

-- Why there are no figures: the error of a Lua program, or the last line.
local function reason(text) return ("\n" .. text):match("\nlua[%w.]*: ([^\n]*)") or text:match("([^\n]*)%s*$") end

local function parse(text)
  local line = text and text:match("({[^\n]*})")
  if not line then return nil, text and reason(text) or "no answer" end
  local figures = {}
  for name, value in line:gmatch('"(%w+)":(%-?[%d.]+)') do figures[name] = tonumber(value) end
  return figures
end

function M.run(contestant, hosts, scenario, path)
  local pipe <close> = io.popen(command(contestant, hosts, path or fresh_path(), scenario))
  return parse(pipe:read("a"))
end

local function per_operation(figures, ops, seconds)
  return { value = seconds / ops * 1e6, cpu = figures.cpu > 0 and figures.cpu / ops * 1e6 or nil }
end

local kinds = {}

function kinds.time(contestant, hosts, row, scenario)
  local path = row.kept and ("/bench-%d-%s-%s"):format(began, row.kept, contestant.id)
  local figures, why = M.run(contestant, hosts, scenario, path)
  if not figures then return nil, why end
  return per_operation(figures, figures.ops, figures.seconds)
end

function kinds.contend(contestant, hosts, row)
  local first, path, pipes = os.time() + (contestant.ready or READY), fresh_path(), {}
  for i = 1, row.processes do
    pipes[i] = io.popen(command(contestant, hosts, path, ("contend %d %d"):format(first, first + WINDOW)))
  end
  local sum, problem = { ops = 0, cpu = 0 }, nil
  for _, pipe in ipairs(pipes) do
    local figures, why = parse(pipe:read("a"))
    pipe:close()
    problem = problem or not figures and why
    for name in pairs(sum) do sum[name] = sum[name] + (figures and figures[name] or 0) end
  end
  if problem or sum.ops == 0 then return nil, problem or "no contestant got it" end
  return per_operation(sum, sum.ops, WINDOW)
end

-- Several consumers of one queue; those of the floor, which know the names beforehand, have a queue each.
local function consume(contestant, hosts, row, path, scenario, items)
  local pipes, rate, cpu, ops = {}, 0, 0, 0
  for i = 1, row.processes do
    local own = contestant.id == "floor"
    local at, there = own and ("%s-%d"):format(path, i) or path, own and items or 0
    pipes[i] = io.popen(command(contestant, hosts, at, scenario:format(there)))
  end
  local problem
  for _, pipe in ipairs(pipes) do
    local figures, why = parse(pipe:read("a"))
    pipe:close()
    problem = problem or not figures and why
    if figures then rate, cpu, ops = rate + figures.ops / figures.seconds, cpu + figures.cpu, ops + figures.ops end
  end
  if problem then return nil, problem end
  return { ops = ops, value = 1e6 / rate, cpu = cpu / ops * 1e6 }
end

-- The time of an item when several processes consume a queue, and its requests, which a proxy counts in another run with fewer items.
function kinds.consumers(contestant, hosts, row)
  local function run(at, count, items)
    local path = fresh_path()
    if contestant.id ~= "floor" then
      local filled, why = M.run(contestant, hosts, ("claim 1 %d 1"):format(items), path)
      if not filled then return nil, why end
    end
    return consume(contestant, at, row, path, ("claim %d %%d %d"):format(count, row.coroutines), items)
  end
  local figures, why = run(hosts, row.each, row.items)
  if not figures then return nil, why end
  local proxy, seen, ops = proxies.start(hosts), {}, {}
  for i, count in ipairs { row.each // 10, row.each // 2 } do
    proxy:reset()
    local counted = run(proxy.hosts, count, row.items)
    seen[i], ops[i] = proxy:sent(), counted and counted.ops
  end
  proxy:stop()
  if ops[1] and ops[2] then figures.requests = (seen[2].requests - seen[1].requests) / (ops[2] - ops[1]) end
  figures.ops = nil
  return figures
end

-- The longest stall of the host, milliseconds of the processor.
function kinds.stall(contestant, hosts, row, scenario)
  local path = ("/bench-%d-%s-%s"):format(began, row.kept, contestant.id)
  local figures, why = M.run(contestant, hosts, scenario, path)
  if not figures then return nil, why end
  return { value = figures.stall }
end

function kinds.memory(contestant, hosts, _, scenario)
  local figures, why = M.run(contestant, hosts, scenario)
  if not figures then return nil, why end
  return { value = figures.rss / 1024, c = figures.c, lua = figures.lua }
end

-- Waits until it has said that it has the lock.
function kinds.start(contestant, hosts, _, scenario)
  local from = socket.gettime()
  local pipe <close> = io.popen(command(contestant, hosts, fresh_path(), scenario))
  local line = pipe:read("l")
  local took = socket.gettime() - from
  pipe:read("a")
  if not parse(line) then return nil, line end
  return { value = took * 1000 }
end

-- A candidate of an election; its process id comes first.
local function candidate(contestant, hosts, path, scenario)
  local pipe = io.popen(("echo $$; exec %s %s %s %s 2>&1"):format(contestant.command, hosts, path, scenario))
  return { pipe = pipe, pid = assert(pipe:read("l")) }
end

local function kill(one)
  os.execute("kill -9 " .. one.pid)
end

-- The next line must begin with this word; returns the number after it.
local function expect(one, word)
  local line = one.pipe:read("l")
  if line and line:match("^" .. word) then return tonumber(line:match("%d+")) or 0 end
  return nil, line or "ended"
end

-- How long after the leader's death, and after so many ms, the second candidate leads.
local function succession(leader, second, after)
  local stands, why = expect(second, "stands")
  if not stands then return nil, why end
  socket.sleep(0.5 + math.random()) -- so that the last heartbeat has a random age
  local from = socket.gettime()
  kill(leader)
  local leads
  leads, why = expect(second, "leads")
  if not leads then return nil, why end
  return { value = (socket.gettime() - from) * 1000 - after }
end

function kinds.failover(contestant, hosts, _, scenario)
  local path = fresh_path()
  local leader, figures = candidate(contestant, hosts, path, scenario), nil
  local timeout, why = expect(leader, "leads")
  if timeout then
    local second = candidate(contestant, hosts, path, scenario)
    figures, why = succession(leader, second, scenario == "candidate" and timeout or 0)
    kill(second)
    second.pipe:close()
  end
  kill(leader)
  leader.pipe:close()
  return figures, why
end

-- The difference between many and few operations, divided by the difference of their numbers. The contestant says how many it did, or
-- `each` does.
function kinds.counts(contestant, hosts, row)
  local form, few, many, each = row.run[1], row.run[2], row.run[3], row.run[4]
  local proxy, seen, ops = proxies.start(hosts), {}, {}
  for i, count in ipairs { few, many } do
    proxy:reset()
    local figures, why = M.run(contestant, proxy.hosts, form:format(count))
    if not figures then
      proxy:stop()
      return nil, why
    end
    seen[i], ops[i] = proxy:sent(), figures.ops
  end
  proxy:stop()
  local figures, more = {}, each and (many - few) * each or ops[2] - ops[1]
  for _, name in ipairs { "requests", "bytes_up", "bytes_down" } do
    figures[name] = (seen[2][name] - seen[1][name]) / more
  end
  figures.value = figures.requests
  return figures
end

-- The figures of a contestant in a row of the plan; nil if it does not take part.
function M.measure(row, contestant, hosts)
  local scenario = row.of_contestant and row.of_contestant[contestant.id]
  if scenario == false or contestant.rows and not contestant.rows[row.id] then return nil end
  return kinds[row.kind or "time"](contestant, hosts, row, scenario or row.run)
end

return M
