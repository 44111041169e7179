-- Every method that has a time limit, for the specs that prove that limits are kept.

local process = require "spec.support.process"

local M = {}

-- Methods that need no session or no servers: they wait for functions of the user, or exist in nginx alone.
M.others = { ["Task:wait"] = true, ["Participant:wait"] = true, ["Participant:stop"] = true, ["SharedTree:ready"] = true }

local function read(path)
  local file = assert(io.open(path))
  local text = file:read("*a")
  file:close()
  return text
end

-- Classes of options with a timeout, in all the text.
local function limited_options(text)
  local found = {}
  for name, fields in text:gmatch("%-%-%-@class (zkrecipes%.%w+)\n(.-)\n\n") do
    if fields:find("%-%-%-@field timeout%?") then found[name] = true end
  end
  found["zkrecipes.SessionOptions"] = nil
  return found
end

-- "Class:method" of every method with a limit.
function M.annotated()
  local all, found = {}, {}
  for path in process.output("find lua/zkrecipes/meta -name '*.lua'"):gmatch("[^\n]+") do
    if not path:find("meta/sim") and not path:find("meta/testing") then all[#all + 1] = read(path) end
  end
  local text = table.concat(all, "\n\n")
  local options = limited_options(text)
  for about, method, parameters in ("\n\n" .. text):gmatch("\n\n([^\n].-)\nfunction ([%w_:]+)(%b()) end") do
    about = about:match(".*\n\n(.*)$") or about
    local of_options = about:match("%-%-%-@param options%?? (zkrecipes%.%w+)")
    if method:find(":") and (parameters:find("timeout") or options[of_options]) then found[method] = true end
  end
  return found
end

-- "Class:method", and a word if there are several ways > { call = function(session, limit, prepared), which only its limit ends }, and what
-- the call needs:
--   prepare  function(session): what must exist before, of the same session
--   block    function(other, world): what another client must do before
--   closes   it succeeds within its limit
--   at_once  it succeeds at once unless it knows of the outage
--   code     the code of a limit that passes while servers answer (nil: it does not wait then)
--   always   the code, whatever the servers do
--   at_zero  the code if the limit is 0 and the session seems to be connected
--   silent   the code if the servers have answered before, and do not answer any more
local cases = {}
M.cases = cases

local function case(name, call, more)
  local one = more or {}
  one.call = call
  cases[name] = one
end

local function held(path) return function(other) return assert(other:lock(path):acquire()) end end

-- Plain requests.
local plain = {
  ["Session:create"] = function(session, limit) return session:create("/x", "", { timeout = limit }) end,
  ["Session:get"] = function(session, limit) return session:get("/x", { timeout = limit }) end,
  ["Session:set"] = function(session, limit) return session:set("/x", "", nil, { timeout = limit }) end,
  ["Session:exists"] = function(session, limit) return session:exists("/x", { timeout = limit }) end,
  ["Session:delete"] = function(session, limit) return session:delete("/x", nil, { timeout = limit }) end,
  ["Session:delete_tree"] = function(session, limit) return session:delete_tree("/x", { timeout = limit }) end,
  ["Session:children"] = function(session, limit) return session:children("/x", { timeout = limit }) end,
  ["Session:get_acl"] = function(session, limit) return session:get_acl("/x", { timeout = limit }) end,
  ["Session:set_acl"] = function(session, limit) return session:set_acl("/x", "open", nil, { timeout = limit }) end,
  ["Session:sync"] = function(session, limit) return session:sync("/x", { timeout = limit }) end,
  ["Session:add_auth"] = function(session, limit) return session:add_auth("digest", "a:b", { timeout = limit }) end,
  ["Session:reconfig"] = function(session, limit) return session:reconfig { leaving = "9", timeout = limit } end,
  ["Session:multi"] = function(session, limit) return session:multi({ { "check", "/x" } }, { timeout = limit }) end,
  ["Barrier:close"] = function(session, limit) return session:barrier("/x"):close(limit) end,
  ["Barrier:open"] = function(session, limit) return session:barrier("/x"):open(limit) end,
  ["Latch:count_down"] = function(session, limit) return session:latch("/l", 3):count_down(limit) end,
  ["Latch:count"] = function(session, limit) return session:latch("/l", 3):count(limit) end,
  ["Counter:add"] = function(session, limit) return session:counter("/n"):add(1, { timeout = limit }) end,
  ["Counter:get"] = function(session, limit) return session:counter("/n"):get({ timeout = limit }) end,
  ["Counter:set"] = function(session, limit) return session:counter("/n"):set(1, { timeout = limit }) end,
  ["Counter:compare_and_set"] = function(session, limit) return session:counter("/n"):compare_and_set(0, 1, { timeout = limit }) end,
  ["Config:set"] = function(session, limit) return session:config("/n"):set("1", nil, { timeout = limit }) end,
  ["Config:update"] = function(session, limit) return session:config("/n"):update(function() return "1" end, { timeout = limit }) end,
  ["Topic:publish"] = function(session, limit) return session:topic("/t"):publish("x", { timeout = limit }) end,
  ["Topic:publish with an id"] = function(session, limit) return session:topic("/t"):publish("x", { id = "i", timeout = limit }) end,
  ["Topic:subscribe"] = function(session, limit) return session:topic("/t"):subscribe { timeout = limit } end,
  ["Topic:subscribe with a name"] = function(session, limit) return session:topic("/t"):subscribe { name = "n", timeout = limit } end,
  ["Topic:forget"] = function(session, limit) return session:topic("/t"):forget("n", limit) end,
  ["TwoPhase:run"] = function(session, limit) return session:two_phase("/t"):run("1", "", { "a" }, limit) end,
  ["TwoPhase:outcome"] = function(session, limit) return session:two_phase("/t"):outcome("1", limit) end,
  ["TwoPhase:pending"] = function(session, limit) return session:two_phase("/t"):pending(limit) end,
  ["Ids:next"] = function(session, limit) return session:ids("/i"):next({ timeout = limit }) end,
  ["Ids:next_name"] = function(session, limit) return session:ids("/i"):next_name("x-", { timeout = limit }) end,
  ["Lock:contenders"] = function(session, limit) return session:lock("/q"):contenders(limit) end,
  ["Lock:request"] = function(session, limit) return session:lock("/q"):request(limit) end,
  ["Rwlock:contenders"] = function(session, limit) return session:rwlock("/q"):contenders(limit) end,
  ["Side:contenders"] = function(session, limit) return session:rwlock("/q"):reader():contenders(limit) end,
  ["Semaphore:contenders"] = function(session, limit) return session:semaphore("/q", 1):contenders(limit) end,
  ["Semaphore:available"] = function(session, limit) return session:semaphore("/q", 1):available(limit) end,
  ["Semaphore:resize"] = function(session, limit) return session:semaphore("/q", 1):resize(2, limit) end,
  ["Election:leader"] = function(session, limit) return session:election("/q"):leader(limit) end,
  ["Election:leader by rank"] = function(session, limit) return session:election("/q", { rank = 1 }):leader(limit) end,
  ["Election:candidates"] = function(session, limit) return session:election("/q"):candidates(limit) end,
  ["Election:candidates by rank"] = function(session, limit)
    return session:election("/q", { rank = 1 }):candidates(limit)
  end,
  ["Queue:put"] = function(session, limit) return session:queue("/jobs"):put("x", { timeout = limit }) end,
  ["Queue:put with an id, later"] = function(session, limit)
    return session:queue("/jobs"):put("x", { id = "1", delay = 5, timeout = limit })
  end,
  ["Queue:put where there is room"] = function(session, limit)
    return session:queue("/jobs", { capacity = 5 }):put("x", { timeout = limit })
  end,
  ["Queue:put of a simple one"] = function(session, limit)
    return session:queue("/s", { format = "simple" }):put("x", { timeout = limit })
  end,
  ["Queue:put_all"] = function(session, limit) return session:queue("/jobs"):put_all({ "x", "y" }, limit) end,
  ["Queue:put_all of a simple one"] = function(session, limit)
    return session:queue("/s", { format = "simple" }):put_all({ "x", "y" }, limit)
  end,
  ["Queue:size"] = function(session, limit) return session:queue("/jobs"):size(limit) end,
  ["Queue:size of a simple one"] = function(session, limit) return session:queue("/s", { format = "simple" }):size(limit) end,
}
for name, call in pairs(plain) do case(name, call) end

-- Calls that wait for another client.
local function waits(name, call, more)
  more = more or {}
  more.code = more.code or "timeout"
  case(name, call, more)
end

waits("Session:connected", function(session, limit) return session:connected(limit) end, { at_once = true })
waits("Session:close", function(session, limit) return session:close(limit) end, { closes = true })
waits("Session:await_gone", function(session, limit) return session:await_gone("/e", limit) end,
  { block = function(other) return assert(other:create("/e", "", { ephemeral = true })) end })
waits("Watch:wait", function(_, limit, watch) return watch:wait(limit) end,
  { prepare = function(session) return assert(session:watch("/w")) end, silent = "timeout" })
waits("Watch:wait of a new one", function(session, limit) return session:watch("/w"):wait(limit) end,
  { at_zero = "timeout" }) -- it only asks whether a change was reported to it
local function loaded_group(session)
  local group = session:group "/g"
  assert(group:ready(5))
  return group
end
case("Group:ready", function(session, limit) return session:group("/g"):ready(limit) end, { at_zero = "timeout" })
waits("Group:await", function(_, limit, group) return group:await(1, limit) end, { prepare = loaded_group, silent = "timeout" })
waits("GroupChanges:next", function(_, limit, changes) return changes:next(limit) end,
  { prepare = function(session) return (loaded_group(session):changes()) end, silent = "timeout" })
case("Registry:ready", function(session, limit) return session:registry("/s"):ready(limit) end, { at_zero = "timeout" })
local function loaded_registry(session)
  local registry = session:registry "/s"
  assert(registry:ready(5))
  return registry
end
waits("Registry:await", function(_, limit, registry) return registry:await("web", 1, limit) end,
  { prepare = loaded_registry, silent = "timeout" })
waits("RegistryChanges:next", function(_, limit, changes) return changes:next(limit) end,
  { prepare = function(session) return (loaded_registry(session):changes()) end, silent = "timeout" })
local function registry_stranger(other) return assert(other:create("/s/web/m", "", { parents = true })) end
local function new_registration(session) return session:registry("/s"):register("web", { id = "m", address = "a" }) end
waits("Registration:ready", function(session, limit) return new_registration(session):ready(limit) end,
  { block = registry_stranger, at_zero = "timeout" })
waits("Registration:update", function(session, limit) return new_registration(session):update({ port = 1 }, limit) end,
  { block = registry_stranger })
case("Registration:leave", function(_, limit, registration) return registration:leave(limit) end, { prepare = function(session)
  local registration = new_registration(session)
  assert(registration:ready(5))
  return registration
end })
local function group_stranger(other) return assert(other:create("/g/m", "", { parents = true })) end
local function new_member(session) return session:group("/g"):join("", { id = "m" }) end
waits("Member:ready", function(session, limit) return new_member(session):ready(limit) end, { block = group_stranger, at_zero = "timeout" })
waits("Member:update", function(session, limit) return new_member(session):update("2", limit) end, { block = group_stranger })
case("Member:leave", function(_, limit, member) return member:leave(limit) end, { prepare = function(session)
  local member = new_member(session)
  assert(member:ready(5))
  return member
end })
local function divided(session)
  local partitioner = session:partitioner("/parts", { "a" }, { settle = 0 })
  assert(partitioner:ready(5))
  return partitioner
end
case("Partitioner:ready", function(session, limit) return session:partitioner("/parts", { "a" }):ready(limit) end, { at_zero = "timeout" })
case("Partitioner:set_parts", function(_, limit, partitioner) return partitioner:set_parts({ "b" }, limit) end, { prepare = divided })
case("Partitioner:close", function(_, limit, partitioner) return partitioner:close(limit) end, { prepare = divided })
waits("PartitionerChanges:next", function(_, limit, changes) return changes:next(limit) end, { silent = "timeout",
  prepare = function(session) return (session:partitioner("/parts", {}):changes()) end })
local function subscribed(session)
  local subscription = assert(session:topic("/t"):subscribe { name = "n" })
  assert(session:topic("/t"):publish "x")
  assert(subscription:next(5))
  return subscription
end
waits("Subscription:next", function(_, limit, subscription) return subscription:next(limit) end,
  { prepare = subscribed, silent = "timeout" })
case("Subscription:ack", function(_, limit, subscription) return subscription:ack(1, limit) end, { prepare = subscribed })
local function stranger(other) return assert(other:create("/p", "")) end
waits("Presence:ready", function(session, limit) return session:presence("/p"):ready(limit) end, { block = stranger, at_zero = "timeout" })
waits("Presence:update", function(session, limit) return session:presence("/p"):update("2", limit) end, { block = stranger })
case("Presence:leave", function(_, limit, presence) return presence:leave(limit) end, { prepare = function(session)
  local presence = session:presence("/p")
  assert(presence:ready(5))
  return presence
end })
case("Tree:ready", function(session, limit) return session:tree("/w"):ready(limit) end, { at_zero = "timeout" })
local function loaded(session)
  local tree = session:tree "/w"
  assert(tree:ready(5))
  return tree
end
case("Config:ready", function(session, limit) return session:config("/w"):ready(limit) end, { at_zero = "timeout" })
local function loaded_config(session)
  local config = session:config "/w"
  assert(config:ready(5))
  return config
end
waits("Config:await", function(_, limit, config) return config:await(function() return false end, limit) end,
  { prepare = loaded_config, silent = "timeout" })
waits("ConfigChanges:next", function(_, limit, changes) return changes:next(limit) end, { silent = "timeout", prepare = function(session)
  local changes = loaded_config(session):changes()
  assert(changes:next(5) == false)
  return changes
end })
waits("Tree:await", function(_, limit, tree) return tree:await(function() return false end, limit) end,
  { prepare = loaded, silent = "timeout" })
waits("Changes:next", function(_, limit, changes) return changes:next(limit) end,
  { prepare = function(session) return (loaded(session):changes()) end, silent = "timeout" })
waits("Lock:acquire", function(session, limit) return session:lock("/q"):acquire(limit) end, { block = held "/q" })
waits("Lock:acquire of an unfair one", function(session, limit)
  return session:lock("/u", { fair = false }):acquire(limit)
end, { block = function(other) return assert(other:lock("/u", { fair = false }):acquire()) end })
waits("Lock:acquire of a cohort", function(session, limit) return session:lock("/q", { cohort = true }):acquire(limit) end,
  { block = held "/q" })
waits("Lock:acquire of a reentrant one", function(session, limit)
  return session:lock("/q", { reentrant = true }):acquire(limit)
end, { block = held "/q" })
waits("Lock:with", function(session, limit) return session:lock("/q"):with(limit, error) end, { block = held "/q" })
waits("Rwlock:read", function(session, limit) return session:rwlock("/q"):read(limit) end, { block = held "/q" })
waits("Rwlock:write", function(session, limit) return session:rwlock("/q"):write(limit) end, { block = held "/q" })
waits("Side:acquire", function(session, limit) return session:rwlock("/q"):reader():acquire(limit) end, { block = held "/q" })
waits("Side:with", function(session, limit) return session:rwlock("/q"):writer():with(limit, error) end, { block = held "/q" })
local function permit(other) return assert(other:semaphore("/p", 1):acquire()) end
waits("Semaphore:acquire", function(session, limit) return session:semaphore("/p", 1):acquire(limit) end, { block = permit })
waits("Semaphore:with", function(session, limit) return session:semaphore("/p", 1):with(limit, error) end, { block = permit })
local function number(other) return assert(other:worker_id("/n", 1):acquire()) end
waits("WorkerId:acquire", function(session, limit) return session:worker_id("/n", 1):acquire(limit) end, { block = number })
waits("WorkerId:with", function(session, limit) return session:worker_id("/n", 1):with(limit, error) end, { block = number })
case("Snowflake:acquire", function(session, limit) return session:snowflake("/n"):acquire(limit) end)
local function both(session) return session:multilock { session:lock("/a"), session:lock("/q") } end
waits("Multilock:acquire", function(session, limit) return both(session):acquire(limit) end, { block = held "/q" })
waits("Multilock:with", function(session, limit) return both(session):with(limit, error) end, { block = held "/q" })
local function leads(options) return function(other) return assert(other:election("/v", options):campaign()) end end
waits("Election:campaign", function(session, limit) return session:election("/v"):campaign(limit) end, { block = leads() })
waits("Election:campaign of an unfair one", function(session, limit)
  return session:election("/v", { fair = false }):campaign(limit)
end, { block = leads { fair = false } })
waits("Election:campaign by rank", function(session, limit) return session:election("/v", { rank = 1 }):campaign(limit) end,
  { block = leads { rank = 2 } })
waits("Election:campaign by rank without a quorum", function(session, limit)
  return session:election("/v", { rank = 1, quorum = 2 }):campaign(limit)
end)
waits("Barrier:wait", function(session, limit) return session:barrier("/b"):wait(limit) end,
  { block = function(other) return assert(other:barrier("/b"):close()) end })
waits("Latch:wait", function(session, limit) return session:latch("/l", 3):wait(limit) end)
waits("CyclicBarrier:wait", function(session, limit) return session:cyclic_barrier("/c", 2):wait(limit) end)
waits("DoubleBarrier:enter", function(session, limit) return session:double_barrier("/d", 2):enter(limit) end)
waits("DoubleBarrier:leave", function(_, limit, barrier) return barrier:leave(limit) end, {
  block = function(other, world)
    local barrier = other:double_barrier("/d", 2)
    world.zk.spawn(function() barrier:enter() end)
    return barrier
  end,
  prepare = function(session)
    local barrier = session:double_barrier("/d", 2)
    assert(barrier:enter())
    return barrier
  end,
})
waits("Queue:put to a full one", function(session, limit)
  return session:queue("/jobs", { capacity = 1 }):put("x", { timeout = limit })
end, { block = function(other) return assert(other:queue("/jobs"):put("x")) end, code = "full" })
waits("Queue:put_all to a full one", function(session, limit)
  return session:queue("/jobs", { capacity = 1 }):put_all({ "x" }, limit)
end, { block = function(other) return assert(other:queue("/jobs"):put("x")) end, code = "full" })
waits("Queue:claim", function(session, limit) return session:queue("/jobs"):claim(limit) end)
waits("Queue:take", function(session, limit) return session:queue("/jobs"):take(limit) end)
waits("Queue:take of a simple one", function(session, limit)
  return session:queue("/s", { format = "simple" }):take(limit)
end)

-- Methods of holds and terms. The waits end only when their limit passes.
local function hold(session) return assert(session:lock("/h"):acquire()) end
local function term(session) return assert(session:election("/t"):campaign()) end
local function several(session) return assert(session:multilock { session:lock("/h"), session:lock("/i") }:acquire()) end
waits("Hold:lost", function(_, limit, one) return one:lost(limit) end, { prepare = hold, always = "timeout" })
waits("Hold:lost of a cohort's", function(_, limit, one) return one:lost(limit) end, { always = "timeout",
  prepare = function(session) return assert(session:lock("/h", { cohort = true }):acquire()) end })
waits("Term:lost", function(_, limit, one) return one:lost(limit) end, { prepare = term, always = "timeout" })
waits("Multihold:lost", function(_, limit, one) return one:lost(limit) end, { prepare = several, always = "timeout" })
for class, prepare in pairs { Hold = hold, Term = term, Multihold = several } do
  case(class .. ":create", function(_, limit, one) return one:create("/n", "", { timeout = limit }) end, { prepare = prepare })
  case(class .. ":set", function(_, limit, one) return one:set("/x", "", nil, { timeout = limit }) end, { prepare = prepare })
  case(class .. ":delete", function(_, limit, one) return one:delete("/x", nil, { timeout = limit }) end, { prepare = prepare })
  case(class .. ":multi", function(_, limit, one) return one:multi({ { "check", "/x" } }, { timeout = limit }) end,
    { prepare = prepare })
end

-- A holder that may still use later times does not wait.
local function ids(session) return assert(session:snowflake("/f"):acquire()) end
waits("SnowflakeIds:lost", function(_, limit, one) return one:lost(limit) end, { prepare = ids, always = "timeout" })
case("SnowflakeIds:next", function(_, limit, one)
  local id, message, code
  repeat id, message, code = one:next(limit) until not id
  return nil, message, code
end, { prepare = ids })

-- Resigning to a successor: a candidate ahead of it does not step aside.
local function stand(options)
  return function(session)
    local election = session:election("/t", options)
    local one = assert(election:campaign())
    assert(session:create("/t/between-latch-", "", { ephemeral = true, sequential = true }))
    local heir = assert(session:create("/t/heir-latch-", "", { ephemeral = true, sequential = true }))
    return { term = one, heir = { path = heir, token = "0" } }
  end
end
waits("Term:resign", function(_, limit, one) return one.term:resign(one.heir, limit) end, { prepare = stand() })
case("Term:resign by rank", function(_, limit, one) return one.term:resign(one.heir, limit) end,
  { prepare = stand { rank = 1 } })

-- The names of all methods, in order.
function M.names()
  local list = {}
  for name in pairs(cases) do list[#list + 1] = name end
  table.sort(list)
  return list
end

return M
