-- In an outage, a method of a queue without a time limit of its own ends within the time that one request may take: `request_timeout`, or
-- the session's timeout. Methods with a limit are tested in all/limits_spec.lua.

local sim = require "zkrecipes.sim"

local TIMEOUT, SLACK = 10, 1e-3

local function known(begin)
  return function(world, zk)
    begin(world, zk)
    world:advance(0.1)
  end
end

local OUTAGES = {
  ["stopped servers"] = known(function(world)
    for server = 1, 3 do world:stop_server(server) end
  end),
  ["cut off"] = known(function(world, zk) world:disconnect(zk) end),
  ["silent servers"] = function(world, zk) world:partition(zk) end,
  ["answers that are lost"] = function(world, zk) world:partition(zk, "to_client") end,
}

-- Returns nil, message, code, as methods do.
local function walk(iterator)
  local ok, message = pcall(iterator)
  if ok then return true end
  return nil, message, (message:find("connection") or message:find("answered")) and "connection_loss"
end

-- of: a queue, a queue with a capacity, a simple queue, and two claimed items, the second of which has an id; or new handles of another
-- process, without items.
local METHODS = {
  put = function(of) return of.queue:put("x") end,
  ["put with an id"] = function(of) return of.queue:put("x", { id = "new" }) end,
  ["put of a known id"] = function(of) return of.queue:put("x", { id = "low" }) end,
  ["put with a delay"] = function(of) return of.queue:put("x", { delay = 3 }) end,
  ["put where there is room"] = function(of) return of.limited:put("x", { id = "low" }) end,
  put_all = function(of) return of.queue:put_all { "x", "y" } end,
  size = function(of) return of.queue:size() end,
  peek = function(of) return of.queue:peek() end,
  items = function(of) return walk(of.queue:items()) end,
  dead = function(of) return walk(of.queue:dead()) end,
  dead_size = function(of) return of.queue:dead_size() end,
  redrive = function(of) return of.queue:redrive() end,
  remove = function(of) return of.queue:remove("low") end,
  ack = function(of) return of.one:ack() end,
  ["ack with an id"] = function(of) return of.other:ack() end,
  nack = function(of) return of.one:nack() end,
  ["nack with a delay"] = function(of) return of.one:nack(10) end,
  ["nack with an id and a delay"] = function(of) return of.other:nack(10) end,
  ["simple put"] = function(of) return of.simple:put("x") end,
  ["simple put_all"] = function(of) return of.simple:put_all { "x", "y" } end,
  ["simple size"] = function(of) return of.simple:size() end,
  ["simple peek"] = function(of) return of.simple:peek() end,
  ["simple items"] = function(of) return walk(of.simple:items()) end,
}

local function queues_of(session)
  return { queue = session:queue("/jobs", { attempts = 2 }), limited = session:queue("/jobs", { capacity = 50 }),
    simple = session:queue("/s", { format = "simple" }) }
end

local function prepare(session)
  local of = queues_of(session)
  assert(of.queue:put("1"))
  assert(of.queue:put("2", { id = "2" }))
  assert(of.queue:put("3", { id = "low", priority = 3 }))
  assert(of.simple:put("4"))
  of.one, of.other = assert(of.queue:claim(5)), assert(of.queue:claim(5))
  return of
end

-- What is wrong with this method in such an outage; or nil.
local function problem_of(name, begin, options, fresh)
  local world, took, code = sim.new { seed = 5, limit = 1e4 }, nil, nil
  world:run(function()
    local zk = world:process()
    local prepared = prepare(zk.session(options))
    local session = zk.session(options)
    assert(session:connected(5))
    local of = fresh and queues_of(session) or prepared
    world:advance(15) -- the known server time is outdated then
    zk.spawn(function()
      begin(world, zk)
      local from = world:now()
      code = select(3, METHODS[name](of))
      took = world:now() - from
    end)
    world:advance(300)
    world:heal()
  end)
  local limit = options.request_timeout or options.timeout
  if took and took <= limit + SLACK and code == "connection_loss" then return nil end
  return ("%s%s, limit %g: took %s, code %s"):format(name, fresh and ", fresh" or "", limit, tostring(took), tostring(code))
end

local function all_of(begin)
  local problems, count = {}, 0
  for name in pairs(METHODS) do
    for _, request_timeout in ipairs { 0.5, TIMEOUT } do
      for _, fresh in ipairs { false, not name:find("ack") or nil } do
        local options = { timeout = TIMEOUT, request_timeout = request_timeout < TIMEOUT and request_timeout or nil }
        problems[#problems + 1] = problem_of(name, begin, options, fresh)
        count = count + 1
      end
    end
  end
  table.sort(problems)
  return table.concat(problems, "\n"), count
end

describe("a queue in an outage", function()
  for outage, begin in pairs(OUTAGES) do
    it("blocks no caller for longer than a request may take: " .. outage, function()
      local problems, count = all_of(begin)
      assert.equal("", problems)
      assert.equal(2 * 23 + 2 * 18, count)
    end)
  end
end)
