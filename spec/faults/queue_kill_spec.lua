-- Producers and consumers of a queue are killed (kill -9) at any moment; no item is lost.

local zk = require "zkrecipes"
local env = require "spec.support.env"

local KILLS = tonumber(os.getenv "SPEC_KILLS") or 25

-- Starts spec/support/worker.lua; gives its pid and the file that it writes.
local function start(namespace, role, name)
  local file = os.tmpname()
  local pipe = assert(io.popen(string.format("exec sh -c 'echo $$; exec %s spec/support/worker.lua %s %s %s %s > %s 2>&1'",
    env.interpreter(), env.server().hosts, namespace, role, name, file)))
  return { role = role, pid = pipe:read("*n"), file = file, pipe = pipe }
end

local function kill(worker, log)
  os.execute("kill -9 " .. worker.pid)
  worker.pipe:close()
  for line in io.lines(worker.file) do
    local what, item = line:match("^(%a+) (%S+)$")
    if log[what] then
      log[what][item] = (log[what][item] or 0) + 1
    elseif what ~= "putting" then
      error(worker.role .. " said: " .. line)
    end
  end
  os.remove(worker.file)
end

local function count(set)
  local number = 0
  for _ in pairs(set) do number = number + 1 end
  return number
end

describe("kill -9 of workers", function()
  it("loses no item", env.run(function()
    local namespace = env.namespace()
    local session = env.session { namespace = namespace }
    local queue = session:queue("/jobs", { attempts = 1000 })
    assert(queue:put("first"))
    local log = { put = {}, claimed = {}, acked = {} }
    local roles = { "put", "put", "claim", "claim", "claim" }
    local workers = {}
    for i = 1, #roles do workers[i] = start(namespace, roles[i], "w" .. i) end
    for i = 1, KILLS do
      zk.sleep(0.15 + i % 7 * 0.03)
      local victim = (i * 3) % #roles + 1
      kill(workers[victim], log)
      workers[victim] = start(namespace, roles[victim], "k" .. i)
    end
    for i = 1, #workers do
      if workers[i].role == "put" then kill(workers[i], log) end
    end
    env.eventually("the queue is empty", function() return queue:size() == 0 end, 40)
    for i = 1, #workers do
      if workers[i].role == "claim" then kill(workers[i], log) end
    end
    local lost, repeated, twice = 0, 0, 0
    for item in pairs(log.put) do
      if not log.claimed[item] then lost = lost + 1 end
    end
    for item, times in pairs(log.claimed) do
      if times > 1 then repeated = repeated + 1 end
      if (log.acked[item] or 0) > 1 then twice = twice + 1 end
    end
    if os.getenv "SPEC_VERBOSE" then
      print(("%d kills: %d put, %d acked, %d claimed more than once, %d acked twice, %d lost"):format(KILLS,
        count(log.put), count(log.acked), repeated, twice, lost))
    end
    assert.is_true(count(log.put) > 100)
    assert.equal(0, lost)
    assert.equal(0, twice)
    env.eventually("no claim is left", function() return #session:children("/jobs/claims") == 0 end, 15)
    session:close()
  end))
end)
