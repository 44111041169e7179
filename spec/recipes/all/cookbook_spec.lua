-- The programs of the cookbook do what docs/cookbook.md promises, on a real server and a real nginx; the page shows them as they are.

local env = require "spec.support.env"
local nginx = require "spec.support.nginx"
local process = require "spec.support.process"
local zk = require "zkrecipes"

local LIMIT = 300 -- seconds
local FOLDER = "examples/cookbook/"

local function read(path)
  local file = assert(io.open(path))
  local text = file:read("*a")
  file:close()
  return text
end

local function quoted(words)
  for i, word in ipairs(words) do words[i] = "'" .. word:gsub("'", "'\\''") .. "'" end
  return table.concat(words, " ")
end

describe("docs/cookbook.md", function()
  it("shows every program of examples/cookbook as it is, and only those", function()
    local page, count = read("docs/cookbook.md"), 0
    for block in page:gmatch("```%l+\n(.-)```") do
      local name = block:find("^%-%- ") and block:match("\n%-%- lua5%.4 ([%w_]+%.lua)") or block:find("^# ") and "key_lock.conf"
      if name then
        assert.equal(read(FOLDER .. name), block)
        count = count + 1
      end
    end
    assert.equal(count, #process.output("ls " .. FOLDER):gsub("[^\n]+", "x"):gsub("\n", ""))
  end)
end)

describe("the cookbook's", function()
  if process.interpreter == "lua5.1" then return end -- iterators cannot wait there
  local dir, namespace, session, started

  before_each(function()
    dir, started = process.output("mktemp -d"), {}
    namespace = env.namespace()
    session = zk.session { hosts = env.server().hosts .. namespace }
    local plain = zk.session { hosts = env.server().hosts }
    assert(plain:create(namespace))
    plain:close()
  end)

  after_each(function()
    for _, pid in ipairs(started) do process.output("kill -9 " .. pid .. " 2>&1") end
    session:close()
    process.output("rm -rf " .. dir)
  end)

  -- Starts a program with the chroot of this test; its output goes to a file. Returns the pid and a function that reads the output.
  local function start(name, ...)
    local log = dir .. "/" .. #started .. ".log"
    local words = quoted { FOLDER .. name, env.server().hosts .. namespace, ... }
    local pid = process.output(("%s %s >%s 2>&1 </dev/null & echo $!"):format(env.interpreter(), words, log))
    started[#started + 1] = pid
    return pid, function() return read(log) end
  end

  local function await(output, pattern)
    assert(process.eventually(function() return output():find(pattern) end, LIMIT), "no '" .. pattern .. "' in: " .. output())
  end

  it("timer fires on one machine, and on the next one when that dies", function()
    local first, of_first = start("cron.lua", "0.2")
    await(of_first, "beat [%d.]+, the last run done")
    local _, of_second = start("cron.lua", "0.2")
    await(of_first, "done.*done.*done.*done")
    assert.is_nil(of_second():find "beat")
    process.output("kill -9 " .. first)
    await(of_second, "beat [%d.]+, the last run")
    assert.is_truthy(assert(session:get("/cookbook/cron-done")))
  end)

  it("timer takes a cron expression, too", function()
    -- The last run was long ago, so one is due at once.
    assert(session:create("/cookbook/cron-timer", "due 1000000020.000\nended 1000000021.000\noutcome done\n", { parents = true }))
    local _, output = start("cron.lua", "0 0 1 1 *")
    await(output, "beat [%d.]+, the last run done")
    assert(process.eventually(function() return session:get("/cookbook/cron-timer"):find "outcome done\n$" end))
    assert.matches("^%d+%.%d$", (session:get("/cookbook/cron-done")))
  end)

  it("workers do every job, also if one of them is killed", function()
    local queue, expected = session:queue("/cookbook/jobs"), {}
    for i = 1, 60 do expected[i] = "job " .. i end
    local first = start("workers.lua", "2")
    assert(queue:put_all(expected))
    process.output("kill -9 " .. first)
    start("workers.lua")
    assert(process.eventually(function() return queue:size() == 0 end))
    local output = process.output("cat " .. dir .. "/*.log")
    for _, job in ipairs(expected) do assert(output:find("did " .. job .. ", attempt", 1, true), job .. " is missing") end
  end)

  it("restarts never happen at the same time", function()
    local command = ("mkdir %s/restarting && sleep 0.2 && rmdir %s/restarting && echo restarted"):format(dir, dir)
    local outputs = {}
    for i = 1, 3 do
      local _, output = start("rolling_restart.lua", command, "true")
      outputs[i] = output
    end
    for _, output in ipairs(outputs) do await(output, "^restarted\n$") end
  end)

  it("restarts stop at a machine that does not come back", function()
    local sick, of_sick = start("rolling_restart.lua", "echo restarted", "test -e " .. dir .. "/healthy")
    await(of_sick, "restarted")
    local _, of_next = start("rolling_restart.lua", "echo restarted", "true")
    local permits = session:semaphore("/cookbook/restart", 1)
    assert(process.eventually(function() return #permits:contenders() == 2 end))
    assert.equal("", of_next())
    process.output("touch " .. dir .. "/healthy")
    await(of_next, "restarted")
    assert(process.eventually(function() return not process.runs(sick) end))
  end)

  it("flags change in all processes, and stay without a server", function()
    local file = dir .. "/flags"
    local _, output = start("feature_flags.lua", file, "ann", "bob")
    await(output, "search for ann: off\nsearch for bob: off\n")
    assert(session:create("/cookbook/flags", '{"search":{"percent":0,"users":["ann"]}}', { parents = true }))
    await(output, "search for ann: on\nsearch for bob: off\n$")
    assert(session:set("/cookbook/flags", '{"search":{"percent":100}}'))
    await(output, "search for ann: on\nsearch for bob: on\n$")
    assert(process.eventually(function() return process.exists(file) end))
    local log = dir .. "/away.log"
    started[#started + 1] = process.output(("%s %s >%s 2>&1 </dev/null & echo $!"):format(env.interpreter(),
      quoted { FOLDER .. "feature_flags.lua", "127.0.0.1:1" .. namespace, file, "bob" }, log))
    await(function() return read(log) end, "search for bob: on\n")
  end)

  it("service is chosen while it runs, and not after that", function()
    local registry = assert(session:registry("/services"))
    local pid, output = start("service.lua", "web", "10.0.0.7", "8080")
    await(output, "registered")
    assert(registry:await("web", 1, 60))
    assert.same({ "10.0.0.7", 8080 }, { registry:pick("web").address, registry:pick("web").port })
    process.output("kill " .. pid)
    local deadline = zk.now() + LIMIT
    repeat zk.sleep(0.01) until #registry:instances("web") == 0 or zk.now() > deadline
    assert.same({}, registry:instances("web"))
  end)

  it("lock for each key lets one request at a time through, on two workers", function()
    local text = read(FOLDER .. "key_lock.conf")
    local http, server = text:match("# In http:[^\n]*\n(.-)\n# In server:[^\n]*\n(.*)")
    http = http:gsub('os.getenv%("ZK_HOSTS"%)', '"' .. env.server().hosts .. namespace .. '"'):gsub("timeout = 10", "timeout = 100")
    local n = nginx.start { workers = 2, http = http, server = server:gsub("acquire%(5%)", "acquire(200)") }
    local output = process.output(("for i in $(seq 20); do curl -s 'http://127.0.0.1:%d/order?id=a%%20b' & done; wait"):format(n.port))
    local seen = {}
    for number in output:gmatch("request (%d+) for this order") do seen[tonumber(number)] = true end
    n:stop()
    assert.equal(20, #seen, output)
  end)
end)
