-- Each method fails only with codes that its page names, and its message begins with its name and path, whatever happens to its requests.
-- Every method of the recipes that sends requests is tested in virtual time, under each fault of a single request. The codes are read from
-- docs/: from the paragraph that names a call of the method, and then "Codes: `a`, `b`".

local sim = require "zkrecipes.sim"

local FAULTS = { "lose_request", "lose_reply", "late_request", "cut", "expire", "pause", "new_session" }
local REQUESTS = 4 -- the fault hits each of this many requests in turn
local LIMIT = 120  -- virtual seconds within which each method must end, unless it waits for another client

-- ---- The pages ---------------------------------------------------------------------------------

local function paragraphs(page)
  local file = assert(io.open("docs/" .. page))
  local text = file:read "*a" .. "\n\n"
  file:close()
  return text:gmatch "(.-)\n\n+"
end

local function add_codes(codes, sentence)
  for code in sentence:gmatch "`([%l_]+)`" do codes[code] = true end
end

-- The codes that a paragraph names for all methods of its page.
local function add_common(codes, paragraph)
  add_codes(codes, paragraph:match "each may return (.*)" or paragraph:match "^All methods .*Codes: (.*)" or "")
end

-- The codes that a page names for a method, in the first paragraph with a call of it; nil if there is no such paragraph.
local function codes_of(page, method)
  local codes, call, found = {}, "`" .. method .. "(", false
  for paragraph in paragraphs(page) do
    add_common(codes, paragraph)
    local at = not found and paragraph:find(call, 1, true)
    if at and not paragraph:find "^```" then
      found = true
      add_codes(codes, paragraph:sub(at):match "[Cc]odes?[%w ]*:%s*(.*)" or "")
    end
  end
  return found and codes or nil
end

-- ---- The methods -------------------------------------------------------------------------------

-- page, method, call(subject), and other methods whose codes this method has too.
local CASES = {
  { "recipes/semaphore.md", "semaphore:available", function(of) return of.semaphore:available() end },
  { "recipes/semaphore.md", "semaphore:contenders", function(of) return of.semaphore:contenders() end },
  { "recipes/semaphore.md", "semaphore:resize", function(of) return of.semaphore:resize(4) end },
  { "recipes/worker_id.md", "worker_id:acquire", function(of) return of.worker_id:acquire(0) end, what = "try" },
  { "recipes/worker_id.md", "worker_id:acquire", function(of) return of.worker_id:acquire(5) end },
  { "recipes/worker_id.md", "snowflake:acquire", function(of) return of.snowflake:acquire(5) end },
  { "recipes/worker_id.md", "snowflake_ids:next", function(of) return of.snowflake_ids:next() end },
  { "recipes/lock.md", "lock:contenders", function(of) return of.lock:contenders() end },
  { "recipes/lock.md", "lock:contenders", function(of) return of.unfair:contenders() end, what = "unfair" },
  { "recipes/rwlock.md", "rwlock:contenders", function(of) return of.rwlock:contenders() end },
  { "recipes/lock.md", "lock:request", function(of) return of.lock:request() end },
  { "recipes/lock.md", "lock:acquire", function(of) return of.lock:acquire(0) end, what = "try" },
  { "recipes/election.md", "election:leader", function(of) return of.election:leader() end },
  { "recipes/election.md", "election:candidates", function(of) return of.election:candidates() end },
  { "recipes/election.md", "election:leader", function(of) return of.ranked:leader() end, what = "by rank" },
  { "recipes/election.md", "election:candidates", function(of) return of.ranked:candidates() end, what = "by rank" },
  { "recipes/queue.md", "queue:put", function(of) return of.queue:put("x") end },
  { "recipes/queue.md", "queue:put", function(of) return of.queue:put("x", { id = "x", delay = 5 }) end, what = "id, delay" },
  { "recipes/queue.md", "queue:put_all", function(of) return of.queue:put_all { "x", "y" } end },
  { "recipes/queue.md", "queue:claim", function(of) return of.queue:claim(0) end, what = "0" },
  { "recipes/queue.md", "queue:take", function(of) return of.queue:take(0) end, what = "0" },
  { "recipes/queue.md", "item:ack", function(of) return of.item:ack() end },
  { "recipes/queue.md", "queue:ack_all", function(of) return of.claimed.queue:ack_all(of.claimed.items) end },
  { "recipes/queue.md", "item:nack", function(of) return of.item:nack() end },
  { "recipes/queue.md", "item:nack", function(of) return of.item:nack(5) end, what = "delay" },
  { "recipes/queue.md", "queue:size", function(of) return of.queue:size() end },
  { "recipes/queue.md", "queue:peek", function(of) return of.queue:peek() end },
  { "recipes/queue.md", "queue:dead_size", function(of) return of.queue:dead_size() end },
  { "recipes/queue.md", "queue:redrive", function(of) return of.queue:redrive() end },
  { "recipes/queue.md", "queue:remove", function(of) return of.queue:remove("there") end },
  { "recipes/barrier.md", "barrier:close", function(of) return of.barrier:close() end },
  { "recipes/barrier.md", "barrier:open", function(of) return of.barrier:open() end },
  { "recipes/barrier.md", "barrier:wait", function(of) return of.barrier:wait(0) end, what = "0" },
  { "recipes/barrier.md", "latch:count_down", function(of) return of.latch:count_down() end },
  { "recipes/barrier.md", "latch:count", function(of) return of.latch:count() end },
  { "recipes/barrier.md", "latch:wait", function(of) return of.latch:wait(0) end, what = "0" },
  { "recipes/barrier.md", "cyclic_barrier:wait", function(of) return of.cyclic:wait(3) end },
  { "recipes/barrier.md", "double_barrier:enter", function(of) return of.double:enter(3) end },
  { "recipes/counter.md", "counter:add", function(of) return of.counter:add(1) end },
  { "recipes/counter.md", "counter:add", function(of) return of.new_counter:add(1) end, what = "the first" },
  { "recipes/counter.md", "counter:get", function(of) return of.counter:get() end },
  { "recipes/counter.md", "counter:set", function(of) return of.counter:set(5) end },
  { "recipes/counter.md", "counter:compare_and_set", function(of) return of.counter:compare_and_set(1, 2) end },
  { "recipes/counter.md", "counter:compare_and_set", function(of) return of.counter:compare_and_set(7, 2) end, what = "another" },
  { "recipes/counter.md", "ids:next", function(of) return of.ids:next() end },
  { "recipes/counter.md", "ids:next_name", function(of) return of.ids:next_name("x-") end },
  { "recipes/tree.md", "tree:ready", function(of) return of.tree:ready(20) end },
  { "recipes/tree.md", "tree:await", function(of) return of.tree:await(function() return true end, 20) end },
  { "recipes/tree.md", "changes:next", function(of) return of.changes:next(20) end },
  { "recipes/presence.md", "presence:ready", function(of) return of.new_presence:ready(20) end },
  { "recipes/presence.md", "presence:update", function(of) return of.presence:update("2", 20) end },
  { "recipes/presence.md", "presence:leave", function(of) return of.presence:leave(20) end },
  { "recipes/group.md", "group:ready", function(of) return of.group:ready(20) end },
  { "recipes/group.md", "group:await", function(of) return of.group:await(1, 20) end },
  { "recipes/partitioner.md", "partitioner:ready", function(of) return of.new_partitioner:ready(20) end },
  { "recipes/partitioner.md", "partitioner:set_parts", function(of) return of.partitioner:set_parts({ "b" }, 20) end },
  { "recipes/partitioner.md", "partitioner:close", function(of) return of.partitioner:close(20) end },
  { "recipes/config.md", "config:ready", function(of) return of.config:ready(20) end },
  { "recipes/config.md", "config:await", function(of) return of.config:await(function() return true end, 20) end },
  { "recipes/config.md", "config:set", function(of) return of.config:set("2") end },
  { "recipes/config.md", "config:set", function(of) return of.config:set("2", 0) end, what = "version" },
  { "recipes/config.md", "config:update", function(of) return of.config:update(function(value) return value .. "1" end) end },
  { "recipes/config.md", "config:update", function(of) return of.new_config:update(function(value) return value .. "1" end) end,
    what = "the first" },
  { "recipes/registry.md", "registry:ready", function(of) return of.registry:ready(20) end },
  { "recipes/registry.md", "registry:await", function(of) return of.registry:await("web", 1, 20) end },
  { "recipes/two_phase.md", "two_phase:run", function(of) return of.two_phase:run("t", "", { "a" }, 30) end },
  { "recipes/two_phase.md", "two_phase:outcome", function(of) return of.two_phase:outcome("t") end },
  { "recipes/two_phase.md", "two_phase:pending", function(of) return of.two_phase:pending() end },
  { "recipes/topic.md", "topic:publish", function(of) return of.topic:publish "x" end },
  { "recipes/topic.md", "topic:publish", function(of) return of.topic:publish("x", { id = "i" }) end, what = "with an id" },
  { "recipes/topic.md", "topic:subscribe", function(of) return of.topic:subscribe() end },
  { "recipes/topic.md", "topic:subscribe", function(of) return of.topic:subscribe { name = "n" } end, what = "with a name" },
  { "recipes/topic.md", "topic:forget", function(of) return of.topic:forget "n" end },
  { "recipes/topic.md", "subscription:next", function(of) return of.subscription:next(100) end },
  { "recipes/topic.md", "subscription:ack", function(of) return of.read_subscription:ack(1) end },
  { "session.md", "session:get", function(of) return of.session:get("/x") end },
  { "session.md", "session:exists", function(of) return of.session:exists("/x") end },
  { "session.md", "session:children", function(of) return of.session:children("/x") end },
  { "session.md", "session:create", function(of) return of.session:create("/y", "") end },
  { "session.md", "session:set", function(of) return of.session:set("/x", "2") end },
  { "session.md", "session:delete", function(of) return of.session:delete("/x") end },
  { "session.md", "session:delete_tree", function(of) return of.session:delete_tree("/x") end },
  { "session.md", "session:sync", function(of) return of.session:sync("/x") end },
  { "session.md", "session:get_acl", function(of) return of.session:get_acl("/x") end },
  { "session.md", "session:set_acl", function(of) return of.session:set_acl("/x", "open") end },
  { "session.md", "session:await_gone", function(of) return of.session:await_gone("/gone", 0) end, what = "0" },
  { "recipes/lock.md", "hold:set", function(of) return of.hold:set("/x", "2") end },
  { "recipes/rwlock.md", "hold:downgrade", function(of) return of.writer:downgrade() end },
  { "recipes/election.md", "term:proclaim", function(of) return of.term:proclaim("b") end },
  { "recipes/election.md", "term:ready", function(of) return of.term:ready() end },
}

-- The objects on which the methods are called, by name, made before the fault. Another session holds the locks, leads, and has put the
-- items. A second result is kept: a hold that is collected is released.
local SUBJECTS = {
  session = function(session, other)
    assert(other:create("/x", "1"))
    return session
  end,
  semaphore = function(session, other)
    return session:semaphore("/semaphore"), assert(other:semaphore("/semaphore", 3):acquire())
  end,
  worker_id = function(session, other)
    return session:worker_id("/workers", 1), assert(other:worker_id("/workers", 1):acquire())
  end,
  snowflake = function(session, other)
    local ids = assert(other:snowflake("/snowflake"):acquire())
    assert(ids:next())
    return session:snowflake("/snowflake"), ids
  end,
  snowflake_ids = function(session) return assert(session:snowflake("/snowflake"):acquire()) end,
  lock = function(session, other)
    return session:lock("/lock"), assert(other:lock("/lock"):acquire())
  end,
  unfair = function(session, other)
    return session:lock("/unfair", { fair = false }), assert(other:lock("/unfair", { fair = false }):acquire())
  end,
  rwlock = function(session, other)
    return session:rwlock("/rwlock"), assert(other:rwlock("/rwlock"):read())
  end,
  election = function(session, other)
    return session:election("/election"), assert(other:election("/election"):campaign())
  end,
  ranked = function(session, other)
    return session:election("/ranked", { rank = 2 }), assert(other:election("/ranked", { rank = 1 }):campaign())
  end,
  queue = function(session, other)
    assert(other:queue("/jobs"):put("1", { id = "there" }))
    return session:queue("/jobs")
  end,
  item = function(session, other)
    assert(other:queue("/jobs"):put("1", { id = "there" }))
    return assert(session:queue("/jobs"):claim(5))
  end,
  claimed = function(session, other)
    assert(other:queue("/jobs"):put_all { "1", "2" })
    local queue = session:queue("/jobs")
    return { queue = queue, items = { assert(queue:claim(5)), assert(queue:claim(5)) } }
  end,
  barrier = function(session) return session:barrier("/barrier") end,
  counter = function(session)
    local counter = session:counter("/counter")
    assert(counter:add(1))
    return counter
  end,
  new_counter = function(session) return session:counter("/new") end,
  ids = function(session) return session:ids("/ids") end,
  latch = function(session) return session:latch("/latch", 3) end,
  cyclic = function(session) return session:cyclic_barrier("/cyclic", 2) end,
  double = function(session) return session:double_barrier("/double", 2) end,
  presence = function(session)
    local presence = session:presence("/present", "1")
    assert(presence:ready(20))
    return presence
  end,
  new_presence = function(session) return session:presence("/present", "1") end,
  group = function(session, other)
    assert(other:create("/group/x", "", { parents = true }))
    return session:group "/group"
  end,
  new_partitioner = function(session) return session:partitioner("/parts", { "a", "b" }) end,
  partitioner = function(session)
    local partitioner = session:partitioner("/parts", { "a", "b" })
    assert(partitioner:ready(20))
    return partitioner
  end,
  tree = function(session, other)
    assert(other:create("/x", "1"))
    return session:tree "/x"
  end,
  config = function(session, other)
    assert(other:create("/x", "1"))
    local config = session:config "/x"
    assert(config:ready(20))
    return config
  end,
  registry = function(session, other)
    assert(other:create("/services/web/a", '{"id":"a","address":"a"}', { parents = true }))
    return session:registry "/services"
  end,
  two_phase = function(session, other)
    local function yes() return true end
    assert(other:two_phase("/two"):serve("a", { prepare = yes, commit = yes, abort = yes }))
    return session:two_phase "/two"
  end,
  topic = function(session, other)
    assert(other:topic("/topic"):publish "1")
    return session:topic "/topic"
  end,
  subscription = function(session, other)
    assert(other:topic("/topic"):publish "1")
    return assert(session:topic("/topic"):subscribe { from = "start" })
  end,
  read_subscription = function(session, other)
    assert(other:topic("/topic"):publish "1")
    local subscription = assert(session:topic("/topic"):subscribe { from = "start", name = "n" })
    assert(subscription:next(20))
    return subscription
  end,
  new_config = function(session) return session:config("/new", { default = "0" }) end,
  changes = function(session, other)
    assert(other:create("/x", "1"))
    return (session:tree("/x"):changes())
  end,
  hold = function(session, other)
    assert(other:create("/x", "1"))
    return assert(session:lock("/mine"):acquire())
  end,
  writer = function(session) return assert(session:rwlock("/write"):write()) end,
  term = function(session) return assert(session:election("/lead"):campaign()) end,
}

local function subject_of(case)
  local name
  pcall(case[3], setmetatable({}, { __index = function(_, key) name = key end }))
  return name, assert(SUBJECTS[name], name)
end

-- Returns the code and the message with which call(subject) ends, or nil; and how long it ran.
local function outcome(case, fault, nth)
  local world = sim.new { seed = 1 }
  return world:run(function()
    local name, make = subject_of(case)
    local session = world.zk.session { timeout = 10 }
    local subject, kept = make(session, world:process().session())
    local of = { [name] = subject, kept = kept }
    assert(session:connected(10))
    world:plan(world.zk, fault, { nth = nth, seconds = fault == "pause" and 30 or 0.5, down = 1 })
    local task, from = world.zk.spawn(case[3], of), world:now()
    local first, message, code = task:wait(1000)
    of.kept = nil
    return first == nil and code or nil, message, world:now() - from
  end)
end

local function check(case)
  local codes = assert(codes_of(case[1], case[2]), case[2] .. " is not in docs/" .. case[1])
  local met = {}
  for _, fault in ipairs(FAULTS) do
    for nth = 1, REQUESTS do
      local code, message, took = outcome(case, fault, nth)
      local where = ("%s, %s of request %d: "):format(case[2], fault, nth)
      assert(took < LIMIT, where .. took .. " s")
      if code then
        met[code] = true
        assert(message:find("^" .. case[2] .. " /%S+: %w"), where .. message)
        assert(codes[code], where .. "'" .. code .. "' is not among its codes in docs/" .. case[1])
      end
    end
  end
  return met
end

-- ---- Foreign znodes in the way -----------------------------------------------------------------

local LARGE = ("x"):rep(1000001)

-- page, method, the code, call(session). /eph is ephemeral; /full has data and a child.
local FOREIGN = {
  { "recipes/barrier.md", "barrier:open", "not_empty", function(session) return session:barrier("/full"):open() end },
  { "recipes/barrier.md", "barrier:close", "no_children_for_ephemerals", function(session) return session:barrier("/eph/x"):close() end },
  { "recipes/barrier.md", "latch:count_down", "no_children_for_ephemerals", function(session)
    return session:latch("/eph/x", 2):count_down()
  end },
  { "recipes/barrier.md", "latch:count_down", "conflict", function(session) return session:latch("/full", 2):count_down() end },
  { "recipes/barrier.md", "latch:count", "conflict", function(session) return session:latch("/full", 2):count() end },
  { "recipes/barrier.md", "cyclic_barrier:wait", "no_children_for_ephemerals", function(session)
    return session:cyclic_barrier("/eph/x", 2):wait(5)
  end },
  { "recipes/barrier.md", "cyclic_barrier:wait", "no_children_for_ephemerals", function(session)
    return session:cyclic_barrier("/eph", 2):wait(5)
  end },
  { "recipes/barrier.md", "double_barrier:enter", "no_children_for_ephemerals", function(session)
    return session:double_barrier("/eph/x", 2):enter(5)
  end },
  { "recipes/barrier.md", "double_barrier:enter", "timeout", function(session) return session:double_barrier("/full", 2):enter(5) end },
  { "recipes/semaphore.md", "semaphore:available", "conflict", function(session) return session:semaphore("/full"):available() end },
  { "recipes/semaphore.md", "semaphore:available", "no_node", function(session) return session:semaphore("/none"):available() end },
  { "recipes/semaphore.md", "semaphore:acquire", "conflict", function(session) return session:semaphore("/full", 2):acquire(5) end },
  { "recipes/semaphore.md", "semaphore:resize", "no_children_for_ephemerals", function(session)
    return session:semaphore("/eph/x", 2):resize(3)
  end },
  { "recipes/worker_id.md", "worker_id:acquire", "no_children_for_ephemerals", function(session)
    return session:worker_id("/eph", 2):acquire(5)
  end },
  { "recipes/worker_id.md", "worker_id:acquire", "too_large", function(session)
    return session:worker_id("/x", 2, { data = LARGE }):acquire(5)
  end },
  { "recipes/worker_id.md", "snowflake:acquire", "conflict", function(session)
    assert(session:create("/w/used-0", "junk", { parents = true }))
    return session:snowflake("/w"):acquire(5)
  end },
  { "recipes/lock.md", "lock:acquire", "no_children_for_ephemerals", function(session) return session:lock("/eph/x"):acquire(5) end },
  { "recipes/lock.md", "lock:acquire", "conflict", function(session) return session:lock("/full", { fair = false }):acquire(5) end },
  { "recipes/lock.md", "lock:acquire", "too_large", function(session) return session:lock("/x", { data = LARGE }):acquire(5) end },
  { "recipes/queue.md", "queue:put", "conflict", function(session)
    assert(session:create("/q/lanes/00000", "junk", { parents = true }))
    return session:queue("/q"):put("x")
  end },
  { "recipes/queue.md", "queue:put", "no_children_for_ephemerals", function(session) return session:queue("/eph/x"):put("x") end },
  { "recipes/queue.md", "queue:put", "too_large", function(session) return session:queue("/q"):put(LARGE) end },
  { "recipes/queue.md", "queue:put_all", "too_large", function(session) return session:queue("/q"):put_all { LARGE } end },
  { "recipes/queue.md", "queue:put", "full", function(session)
    local queue = session:queue("/q", { capacity = 1 })
    assert(queue:put("x"))
    return queue:put("y", { timeout = 1 })
  end },
  { "recipes/queue.md", "queue:remove", "conflict", function(session)
    local queue = session:queue("/q")
    assert(queue:put("x", { id = "x" }))
    local item = assert(queue:claim(5))
    return select(1, queue:remove("x")), nil, select(3, queue:remove("x")), item
  end },
  { "recipes/election.md", "term:proclaim", "too_large", function(session)
    return assert(session:election("/e"):campaign(5)):proclaim(LARGE)
  end },
}

describe("if a foreign znode is in the way, the page names the code of", function()
  for _, case in ipairs(FOREIGN) do
    it(case[2] .. ": " .. case[3], function()
      local codes = assert(codes_of(case[1], case[2]))
      local world = sim.new { seed = 1 }
      world:run(function()
        local session = world.zk.session { timeout = 10 }
        assert(session:create("/eph", "", { ephemeral = true }))
        assert(session:create("/full", "junk") and session:create("/full/child", ""))
        local first, message, code = case[4](session)
        assert.is_nil(first)
        assert.equal(case[3], code)
        if message then assert.matches("^" .. case[2] .. " /", message) end
      end)
      assert(codes[case[3]], "'" .. case[3] .. "' is not among the codes of " .. case[2] .. " in docs/" .. case[1])
    end)
  end
end)

describe("under each fault of a request, the page names the codes of", function()
  for _, case in ipairs(CASES) do
    it(case[2] .. (case.what and ", " .. case.what or ""), function() check(case) end)
  end

  it("a write whose answer is lost", function() -- shows that the harness sees codes at all
    assert.is_true(check({ "session.md", "session:set", function(of) return of.session:set("/x", "2") end }).connection_loss)
  end)
end)
