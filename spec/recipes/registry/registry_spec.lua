-- Registries, on a real server: registering, reading, following, and data that are none of Curator's. choice_spec.lua has `pick`.
-- Tags: sanitize

local cjson = require "cjson"
local collect = require "spec.support.collect"
local sim = require "zkrecipes.sim"
local env = require "spec.support.env"
local run, fails, raises = env.run, env.fails, env.raises

local LIMIT = 200

local function pair()
  local namespace = env.namespace()
  return env.session { namespace = namespace }, env.session { namespace = namespace }, namespace
end

local function ids_of(list)
  local ids = {}
  for i, instance in ipairs(list) do ids[i] = instance.id end
  return table.concat(ids, ",")
end

local function told(changes)
  local change = assert(changes:next(LIMIT))
  local of = change.instance or change.before
  return ("%s %s/%s %s"):format(change.kind, change.name, of.id, tostring(of.port)), change
end

local function register(registry, name, given)
  local registration = assert(registry:register(name, given))
  assert(registration:ready(LIMIT))
  return registration
end

-- Puts data of another program.
local function put(session, path, data) assert(session:create("/s" .. path, data, { parents = true })) end

local function eventually_ids(registry, name, ids)
  env.eventually(ids, function() return ids_of(registry:instances(name)) == ids end)
end

describe("a registry", function()
  it("shows what is registered, and tells of changes", run(function()
    local session, other = pair()
    local registry, theirs = session:registry "/s", other:registry "/s"
    local changes, of_web = registry:changes(), registry:changes "web"
    local web = register(theirs, "web", { id = "b", address = "10.0.0.1", port = 80, weight = 2.5, meta = { zone = "x", list = { 1, 2 } } })
    local list = assert(registry:await("web", 1, LIMIT))
    local one = list[1]
    assert.same({ "web", "b", "10.0.0.1", 80, 2.5, true, "DYNAMIC", "/s/web/b" },
      { one.name, one.id, one.address, one.port, one.weight, one.enabled, one.type, one.path })
    assert.same({ zone = "x", list = { 1, 2 } }, one.meta)
    assert.is_true(math.abs(one.registered - os.time()) < 600)
    assert.equal("added web/b 80", (told(changes)))
    local db = register(theirs, "db", { id = "a", address = "10.0.0.2" })
    assert.equal("added db/a nil", (told(changes)))
    local second = register(theirs, "web", { id = "a", address = "10.0.0.3", ssl_port = 443 })
    assert.equal("b,a", ids_of(assert(registry:await("web", 2, LIMIT))))
    assert.same({ "db", "web" }, registry:names())
    assert.equal(443, registry:instances("web")[2].ssl_port)
    assert.equal("added web/a nil", (told(changes)))
    assert(web:update({ port = 81, meta = cjson.null }, LIMIT))
    local text, change = told(changes)
    assert.equal("changed web/b 81", text)
    assert.same({ 80, "10.0.0.1", 2.5 }, { change.before.port, change.instance.address, change.instance.weight })
    assert.is_nil(change.instance.meta)
    assert(second:leave(LIMIT))
    assert.equal("removed web/a nil", (told(changes)))
    assert.equal("left", second:state())
    assert.equal("present", db:state())
    eventually_ids(registry, "web", "b")
    assert.equal("added web/b 81", (told(of_web))) -- a late reader is told the latest state
    fails("timeout", changes:next(0.05))
    assert.equal(0, #registry:problems())
    assert.equal("server", registry:source())
    assert.equal(0, registry:age())
    registry:close()
    assert.equal("b", ids_of(registry:instances "web"))
    fails("closed", changes:next())
    fails("closed", registry:await("web", 5))
  end))

  it("gives an instance that names none an id of its own, in the form of a UUID", run(function()
    local session = pair()
    local registry, seen = session:registry "/s", {}
    for _ = 1, 20 do
      local registration = assert(registry:register("web", { address = "a" }))
      assert.matches("^%x+%-%x%x%x%x%-4%x%x%x%-8%x%x%x%-%x+$", registration.id)
      assert.equal(36, #registration.id)
      assert(not seen[registration.id])
      seen[registration.id] = true
    end
  end))

  it("skips and reports data that it does not understand, until they change", run(function()
    local _, other, namespace = pair()
    local lines = {}
    local function log(level, text)
      if level == "warning" then lines[#lines + 1] = text end
    end
    local registry = env.session({ namespace = namespace, log = log }):registry "/s"
    local bad = { none = "hello", cut = '{"id": "x', empty = "", scalar = "1", list = "[]", schema = '{"host": "a", "port": 1}',
      no_address = '{"id": "x", "port": 1}', null_address = '{"id": "x", "address": null}', address = '{"id": "x", "address": 7}',
      port = '{"id": "x", "address": "a", "port": 65536}', port_text = '{"id": "x", "address": "a", "port": "80"}',
      enabled = '{"id": "x", "address": "a", "enabled": "no"}', deep = ("["):rep(5000),
      number = '{"id": "x", "address": "a", "port": NaN}' }
    local count = 0
    for id, data in pairs(bad) do
      put(other, "/web/" .. id, data)
      count = count + 1
    end
    put(other, "/web/null", nil)
    put(other, "/web/good", '{"id": "good", "address": "a"}')
    put(other, "/web/good/below", "not an instance")
    assert.equal("good", ids_of(assert(registry:await("web", 1, LIMIT))))
    env.eventually("all are reported", function() return #registry:problems() == count + 1 end)
    for _, problem in ipairs(registry:problems()) do
      assert.matches("^registry /s/web/.*: the instance is skipped: it", problem.message)
      assert.equal("conflict", problem.code)
    end
    env.eventually("all are logged, each once", function() return #lines == count + 1 end)
    assert(other:set("/s/web/port", '{"id": "port", "address": "a", "port": 80}'))
    assert.equal("port,good", ids_of(assert(registry:await("web", 2, LIMIT))))
    assert.equal(80, registry:instances("web")[1].port)
    env.eventually("it is reported no more", function() return #registry:problems() == count end)
    assert(other:set("/s/web/port", "spoiled"))
    eventually_ids(registry, "web", "good")
    assert(other:delete "/s/web/port")
    env.eventually("it is gone", function() return #registry:problems() == count end)
  end))

  it("keeps meta_json as it is, until it is given again", run(function()
    local session = pair()
    local text = '{"list":[], "large":12345678901234567890}'
    local mine = register(session:registry "/s", "web", { id = "mine", address = "b", meta_json = text })
    for _, step in ipairs { { { weight = 2 }, text }, { { meta_json = "[ ]" }, "[ ]" }, { { port = 1 }, "[ ]" },
      { { meta = { 1 } }, "[1]" }, { { meta_json = "{}" }, "{}" }, { { meta_json = cjson.null }, "null" } } do
      assert(mine:update(step[1], LIMIT))
      local data = assert(session:get "/s/web/mine")
      assert.is_truthy(data:find('"payload":' .. step[2] .. ',"', 1, true), data)
    end
  end))

  it("keeps foreign members as they are when they are written again", run(function()
    local session, other = pair()
    local registry = session:registry "/s"
    put(other, "/web/java", [[{"name":"web","id":"java","address":"a","port":1,"sslPort":null,"payload":null,
      "registrationTimeUTC":1500000000000,"serviceType":"STATIC", "uriSpec":{"parts":[]}, "large" : 12345678901234567890,
      "text":"a\"}]\\","deep":[{"x":[]},{}],"no":null,"enabled":true}]])
    local java = assert(registry:await("web", 1, LIMIT))[1]
    local fields = java:fields()
    local expected = { uriSpec = '{"parts":[]}', large = "12345678901234567890", text = [["a\"}]\\"]], deep = '[{"x":[]},{}]',
      no = "null" }
    assert.same(expected, fields)
    assert.same({ "STATIC", 1500000000 }, { java.type, java.registered })
    local mine = register(registry, "web", { id = "mine", address = "b", fields = fields })
    for _, change in ipairs { { port = 2 }, { enabled = false }, { weight = 3, address = "c" }, { weight = cjson.null } } do
      assert(mine:update(change, LIMIT))
      local data = assert(session:get "/s/web/mine")
      local again
      assert(registry.tree:await(function(tree) return tree:get "/s/web/mine" == data end, LIMIT))
      again = registry:instances("web")[2]
      assert.same(expected, again:fields())
      local decoded = cjson.decode(data)
      assert.same({ "web", "mine", again.address, 2 }, { decoded.name, decoded.id, decoded.address, decoded.port })
      assert.equal(0, #registry:problems())
    end
    assert.same({ false, 1, "c" }, { registry:instances("web")[2].enabled, registry:instances("web")[2].weight,
      registry:instances("web")[2].address })
  end))

  it("keeps what it had before an update that is too large", run(function()
    local session, other = pair()
    local mine = register(session:registry "/s", "web", { id = "mine", address = "a", meta = { zone = "x" } })
    fails("too_large", mine:update({ meta = ("x"):rep(2e6) }, LIMIT))
    assert(mine:update({ port = 7 }, LIMIT))
    local decoded = cjson.decode((assert(other:get "/s/web/mine")))
    assert.same({ 7, "x" }, { decoded.port, decoded.payload.zone })
  end))

  it("has the meta as they were when they were given", run(function()
    local session, other = pair()
    local meta = { zone = "x" }
    local mine = register(session:registry "/s", "web", { id = "mine", address = "a", meta = meta })
    meta.zone = print -- it has no JSON
    assert(mine:update({ port = 7 }, LIMIT))
    assert.equal("x", cjson.decode((assert(other:get "/s/web/mine"))).payload.zone)
  end))

  it("takes the weight from the payload of a program that has it there", run(function()
    local session, other = pair()
    local registry = session:registry "/s"
    local cases = { { 7, '"weight":7,"payload":{"weight":3}' }, { 3, '"payload":{"weight":3}' },
      { 4, '"payload":{"@class":"x","metadata":{"weight":"4"}}' }, { 1, '"payload":{"weight":-1}' }, { 1, '"payload":"weight"' },
      { 1, '"weight":true' }, { 1, '"weight":null,"payload":null' }, { 1, '"weight":"heavy"' }, { 1, '"weight":1e308' } }
    for i, case in ipairs(cases) do put(other, "/web/" .. i, ('{"id":"%d","address":"a",%s}'):format(i, case[2])) end
    for i, instance in ipairs(assert(registry:await("web", #cases, LIMIT))) do assert.equal(cases[i][1], instance.weight, cases[i][2]) end
  end))

  it("keeps the second of one id waiting, and shows two znodes that say one id", run(function()
    local session, other = pair()
    local first = register(session:registry "/s", "web", { id = "same", address = "1" })
    local second = other:registry("/s"):register("web", { id = "same", address = "2" })
    env.eventually("blocked", function() return second:state() == "blocked" end)
    assert.matches("registration:ready /s/web/same: another znode is in the way", fails("timeout", second:ready(0.2)))
    assert(first:leave(LIMIT))
    assert(second:ready(LIMIT))
    local registry = session:registry "/s"
    put(other, "/web/same0000000001", '{"id":"same","address":"3"}')
    assert.equal("same,same", ids_of(assert(registry:await("web", 2, LIMIT))))
  end))

  it("reads only the services that are named", run(function()
    local session, other = pair()
    for _, path in ipairs { "/web/a", "/web-2/a", "/db/a", "/other/a" } do put(other, path, '{"id":"a","address":"a"}') end
    local registry = session:registry("/s", { names = { "web*", "db" } })
    assert(registry:ready(LIMIT))
    env.eventually("all are there", function() return table.concat(registry:names(), ",") == "db,web,web-2" end)
  end))

  it("finds the last known instances in a file if no server answers", run(function()
    local session, _, namespace = pair()
    local file = os.tmpname()
    os.remove(file)
    local registration = register(session:registry "/s", "web", { id = "a", address = "10.0.0.1", port = 80 })
    local registry = session:registry("/s", { file = file })
    assert(registry:await("web", 1, LIMIT))
    registry:close()
    assert(registration:leave(LIMIT))
    local away = env.session { hosts = "127.0.0.1:1", namespace = namespace }
    local late = away:registry("/s", { file = file })
    assert(late:ready(LIMIT))
    os.remove(file)
    assert.equal("file", late:source())
    assert.is_true(late:age() > 0)
    assert.equal("10.0.0.1", late:pick("web").address)
  end))

  it("never yields when it chooses", run(function()
    local session = env.session()
    local registry = session:registry "/s"
    local registration = registry:register("web", { id = "a", address = "a" })
    assert(registration:ready(200))
    assert(registry:await("web", 1, 200))
    for _, strategy in ipairs { "random", "round_robin", "weighted", "least", "hash" } do
      local co = coroutine.create(function()
        registry:instances "web"
        registry:names()
        registry:problems()
        registry:pick("web", strategy, "key"):down(0)
      end)
      assert(coroutine.resume(co))
      assert.equal("dead", coroutine.status(co))
    end
    assert.equal("present", registration:state()) -- one that is collected leaves
  end))

  it("registers again in each new session, and forgets who was down", function()
    local world = sim.new { seed = 1 }
    world:run(function()
      local zk = world:process()
      local registry = world:session():registry "/s"
      local registration = assert(zk.session({ timeout = 6 }):registry("/s"):register("web", { id = "a", address = "a" }))
      assert(registration:ready(30))
      local changes = registry:changes "web"
      local token = assert(changes:next(30)).instance.token
      assert.equal(1000, registry:pick("web"):down(1000))
      world:expire(zk)
      assert.equal("removed", assert(changes:next(30)).kind)
      assert.equal("added", assert(changes:next(30)).kind)
      assert.is_true(registry:pick("web").token > token)
      assert.equal(5, registry:pick("web"):down(5))
      assert(registration:leave(30))
    end)
  end)

  it("leaves when nothing refers to the registration any more", run(function()
    local session, other = pair()
    local kept = { register(session:registry "/s", "web", { id = "a", address = "a" }) }
    assert.are.equal("a", kept[1].id)
    collect(2)
    assert(other:exists "/s/web/a")
    kept[1] = nil
    env.eventually("gone", function()
      collect()
      return not other:exists "/s/web/a"
    end)
  end))

  it("says what to install if lua-cjson is missing", function()
    local world = sim.new { seed = 1 }
    local json = require "zkrecipes.recipes.registry.json"
    local load = json.load
    json.load = function() return nil, "lua-cjson is missing (Debian: apt-get install lua-cjson; elsewhere: luarocks install lua-cjson)" end
    world:run(function()
      assert.matches("^session:registry /s: lua%-cjson is missing %(Debian: apt%-get install lua%-cjson",
        fails("unsupported", world:session():registry "/s"))
    end)
    json.load = load
  end)

  it("raises misuse at the caller's line", run(function()
    local session = env.session()
    raises("path", function() session:registry "no path" end)
    raises("unknown option", function() session:registry("/s", { none = 1 }) end)
    raises("names", function() session:registry("/s", { names = {} }) end)
    raises("has a '/'", function() session:registry("/s", { names = { "a/b" } }) end)
    raises("file", function() session:registry("/s", { file = "relative" }) end)
    raises("longest_down", function() session:registry("/s", { longest_down = "1" }) end)
    local registry = session:registry "/s"
    raises("'register'.*name expected", function() registry:register(nil, { address = "a" }) end)
    raises("has a '/'", function() registry:register("a/b", { address = "a" }) end)
    raises("is empty", function() registry:register("", { address = "a" }) end)
    raises("table expected", function() registry:register "web" end)
    raises("'address' is missing", function() registry:register("web", {}) end)
    raises("'address': string expected", function() registry:register("web", { address = cjson.null }) end)
    raises("'id': string expected", function() registry:register("web", { address = "a", id = 1 }) end)
    raises("the id 'a/b' has a '/'", function() registry:register("web", { address = "a", id = "a/b" }) end)
    raises("'port': whole number", function() registry:register("web", { address = "a", port = 1.5 }) end)
    raises("'port': whole number", function() registry:register("web", { address = "a", port = "80" }) end)
    raises("'weight': number above 0", function() registry:register("web", { address = "a", weight = 0 }) end)
    raises("'enabled': boolean", function() registry:register("web", { address = "a", enabled = 1 }) end)
    raises("'meta': it has no JSON", function() registry:register("web", { address = "a", meta = { print } }) end)
    raises("no foreign name", function() registry:register("web", { address = "a", fields = { port = "1" } }) end)
    raises("JSON text", function() registry:register("web", { address = "a", fields = { x = "1, 2" } }) end)
    for _, wrong in ipairs { "1, 2", "", '"\n"', 7 } do
      raises("JSON text", function() registry:register("web", { address = "a", meta_json = wrong }) end)
    end
    raises("'meta' and 'meta_json'", function() registry:register("web", { address = "a", meta = 1, meta_json = "1" }) end)
    raises("unknown option", function() registry:register("web", { address = "a", none = 1 }) end)
    raises("'pick'.*strategy expected", function() registry:pick("web", "none") end)
    raises("bad argument #3 to 'pick'", function() registry:pick("web", "hash") end)
    raises("bad argument #2 to 'await'", function() registry:await("web", "1") end)
    local registration = registry:register("web", { id = "a", address = "a" })
    raises("an id cannot be changed", function() registration:update { id = "b" } end)
    raises("'update'.*table expected", function() registration:update "b" end)
    fails("too_large", registry:register("web", { address = ("x"):rep(2000000) }))
    registry:close()
  end))
end)
