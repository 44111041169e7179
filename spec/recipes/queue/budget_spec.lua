-- The queue's requests, counted at a proxy, and its simple format.

local zk = require "zkrecipes"
local env = require "spec.support.env"
local run, fails = env.run, env.fails

describe("the queue's requests", function()
  local proxy, session, queue, namespace
  local apart = {}
  for name in ("requests replies events connections bytes_up bytes_down ping heartbeat connect"):gmatch("%S+") do
    apart[name] = true
  end
  before_each(function()
    proxy = env.proxy()
    namespace = env.namespace()
    session = env.session { hosts = proxy.hosts, timeout = 100, request_timeout = 100, namespace = namespace }
    queue = session:queue("/jobs")
  end)
  after_each(function() session:close() end)

  local function spent()
    assert(session:exists("/"))
    local requests = {}
    for name, count in pairs(proxy:sent()) do
      if not apart[name] and count > 0 then requests[name] = count end
    end
    requests.exists = requests.exists > 1 and requests.exists - 1 or nil
    proxy:reset()
    return requests
  end

  -- Waits until none of these sessions has a request in flight: until no other request is sent while each of them syncs.
  local function settle(sessions)
    local function sent()
      local counts = proxy:sent()
      return counts.requests - counts.sync
    end
    env.eventually("nothing is in flight", function()
      local before = sent()
      for i = 1, #sessions do assert(sessions[i]:sync("/")) end
      return sent() == before
    end)
  end

  -- The most lists since this time: reading the queue takes 8 at most, and is valid for 2 seconds.
  local function lists_since(from) return 8 * (1 + math.floor((zk.now() - from) / 2)) end

  it("put: 1; claim: 1 read, 1 write; ack: 1; a listing for 200", run(function()
    assert(queue:put("0"))
    queue:claim(200):ack()
    spent()
    for i = 1, 200 do queue:put(tostring(i)) end
    assert.same({ create2 = 200 }, spent())
    assert(queue:claim(200)):ack()
    local first = spent()
    assert.equal(2, first.multi)
    assert.is_true((first.getChildren2 or 0) <= 4, first.getChildren2)
    local from = zk.now()
    for _ = 1, 150 do queue:claim(200):ack() end
    local rest = spent()
    assert.equal(300, rest.multi)
    assert.equal(150, rest.getData)
    assert.is_true((rest.getChildren2 or 0) <= lists_since(from), rest.getChildren2)
    from = zk.now()
    for _ = 1, 49 do queue:take(200) end
    rest = spent()
    assert.equal(49, rest.multi)
    assert.equal(49, rest.getData)
    assert.is_true((rest.getChildren2 or 0) <= lists_since(from), rest.getChildren2)
  end))

  it("size: a listing and a read a lane; put_all: one write for a hundred", run(function()
    queue:put("0")
    spent()
    local list = {}
    for i = 1, 100 do list[i] = tostring(i) end
    queue:put_all(list)
    assert.same({ multi = 1 }, spent())
    queue:size()
    local asked = spent()
    assert.same({ exists = 3, getChildren2 = 2 }, asked)
  end))

  it("a put wakes one of the idle processes", run(function()
    queue:put("0")
    queue:take(200)
    local idle, waits = {}, {}
    for i = 1, 5 do
      idle[i] = env.session { hosts = proxy.hosts, namespace = namespace }
      local mine = idle[i]:queue("/jobs")
      waits[i] = env.start(function() return mine:claim(300) end)
    end
    env.eventually("all wait", function() return #(session:children("/jobs/seat") or {}) == 5 end)
    settle(idle)
    proxy:reset()
    queue:put("1")
    env.eventually("one has it", function()
      return #(session:children("/jobs/claims") or {}) == 1
    end)
    settle(idle)
    local counts = proxy:sent()
    assert.same({ 2, 1 }, { counts.create2, counts.multi }) -- the put, a place among the consumers; one claim
    for i = 1, 5 do idle[i]:close() end
    for i = 1, 5 do waits[i]() end
  end))
end)

describe("the simple format", function()
  it("is that of ZooKeeper's own recipe", run(function()
    local session = env.session()
    local queue = session:queue("/q", { format = "simple" })
    fails("timeout", queue:take(0))
    queue:put("1")
    queue:put_all { "2", "3" }
    assert.equal(3, queue:size())
    local names = session:children("/q")
    table.sort(names)
    assert.same({ "qn-0000000000", "qn-0000000001", "qn-0000000002" }, names)
    assert.equal("1", queue:peek().data)
    assert.equal("1", queue:take(0))
    -- as other clients of this format write it
    assert(session:create("/q/qn-", "4", { sequential = true }))
    assert(session:create("/q/foreign", ""))
    assert.equal("2", queue:take(0))
    assert.equal("3", queue:take(200))
    assert.equal("4", queue:take(200))
    local wait = env.start(function() return queue:take(200) end)
    zk.sleep(0.05)
    session:create("/q/qn-", "5", { sequential = true })
    assert.equal("5", wait())
    env.late(queue:take(0.05))
    assert.has_error(function() queue:claim() end)
    session:close()
  end))
end)
