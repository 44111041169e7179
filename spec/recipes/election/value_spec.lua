-- A leader's value may have any bytes, also those of our own marks. Ordinary values are stored in the znode unchanged. In virtual time.

local sim = require "zkrecipes.sim"

local PLAIN = { "", "10.0.0.7:8080", "a\0b", "\0", "\n", "5\nx", "ready", "\0read", "next-0000000001", "\0next-000000001",
  "x\0next-000000000x" }
local LIKE_MARKS = { "\0ready", "x\0ready", "\0value", "x\0value", "\0value\0value", "\0ready\0value", "\0value\0ready", "\0ready\0ready",
  "\0next-0000000001", "x\0next-9999999999", "\0ready\0next-0000000001", "\0next-0000000001\0ready", "\0next-0000000001\0value",
  "\0next-0000000001\0next-0000000002" }

local function all()
  local list = {}
  for _, values in ipairs { PLAIN, LIKE_MARKS } do
    for i = 1, #values do list[#list + 1] = values[i] end
  end
  return list
end

local KINDS = {
  ["with a queue"] = function() return {} end,
  ["without a queue"] = function() return { fair = false } end,
  ["by rank"] = function() return { rank = 7 } end,
}

local function in_world(fn)
  return function()
    local world = sim.new { seed = 1 }
    world:run(function() fn(world, world.zk.session(), world:process().session()) end)
  end
end

-- An election of this kind with this value, and its term.
local function leads(session, path, options, value)
  options.value = value
  local election = session:election(path, options)
  return assert(election:campaign(200)), election
end

describe("any value is shown as it is", function()
  for kind, options in pairs(KINDS) do
    it(kind, in_world(function(_, session, other)
      for number, value in ipairs(all()) do
        local path = "/e" .. number
        local term = leads(session, path, options(), value)
        local watcher = other:election(path, options())
        local function shows(expected, ready)
          local leader = assert(watcher:leader())
          assert.same({ expected, ready }, { leader.value, leader.ready })
          local first = assert(watcher:candidates())[1]
          assert.same({ expected, ready }, { first.value, first.ready })
        end
        shows(value, false)
        assert(term:ready())
        shows(value, true)
        for _, later in ipairs(all()) do
          assert(term:proclaim(later))
          assert.same({ later, true }, { assert(watcher:leader()).value, assert(watcher:leader()).ready })
        end
        term:resign()
      end
    end))
  end

  it("while the leader resigns to a named successor", in_world(function(world, session, other)
    for number, value in ipairs(all()) do
      local path = "/e" .. number
      local term = leads(session, path, {}, value)
      local between, heir = world:process().session(), world:process().session()
      -- A waiter for a lock on the same path does not step aside.
      local stands = world.zk.spawn(function() return between:lock(path):acquire(100) end)
      world:advance(1)
      local waits = world.zk.spawn(function() return heir:election(path):campaign(100) end)
      world:advance(1)
      local watcher = other:election(path)
      local named = world.zk.spawn(function() return term:resign(watcher:candidates()[3], 2) end)
      world:advance(1)
      assert.matches("%znext%-%d+$", (world:get(term.path)))
      assert.same({ value, false }, { assert(watcher:leader()).value, assert(watcher:leader()).ready })
      world:advance(5)
      assert.equal("timeout", (select(3, named:wait(1))))
      assert.equal(value, assert(watcher:leader()).value)
      term:resign()
      stands:cancel()
      waits:cancel()
      between:close()
      heir:close()
    end
  end))

  it("and ordinary values are stored unchanged", in_world(function(world, session)
    for number, value in ipairs(PLAIN) do
      local term = leads(session, "/e" .. number, {}, value)
      assert.equal(value, (world:get(term.path)))
      assert(term:ready())
      assert.equal(value .. "\0ready", (world:get(term.path)))
    end
    for number, value in ipairs(LIKE_MARKS) do
      local term = leads(session, "/m" .. number, {}, value)
      assert.equal(value .. "\0value", (world:get(term.path)))
    end
  end))
end)

describe("values that are too large", function()
  -- Cuts the connection at each write, as a server does that refuses its length, until `left` calls are over.
  local function refuse(world, session, calls)
    local last = world:now() + 200
    while calls.left > 0 and world:now() < last do
      local sent = world:requests(session, "multi")
      while world:requests(session, "multi") == sent and calls.left > 0 and world:now() < last do world:advance(0.0002) end
      world:cut(session)
    end
    assert.equal(0, calls.left)
  end

  for count = 1, 3 do
    it(("do not come back when %d calls have failed"):format(count), in_world(function(world, session)
      local term, calls = leads(session, "/e", {}, "first"), { left = count }
      for i = 1, count do
        world.zk.spawn(function()
          calls[i] = select(3, term:proclaim(("x"):rep(600000 + i)))
          calls.left = calls.left - 1
        end)
      end
      refuse(world, session, calls)
      for i = 1, count do assert.equal("too_large", calls[i]) end
      assert(term:ready())
      assert.equal("first\0ready", (world:get(term.path)))
    end))
  end
end)
