-- ZooKeeper's counter at its end, on a real server whose tree was prepared (spec/support/snapshot.lua).
-- The numbers of sequential znodes stop at 2147483647; later znodes all get this number. The lock treats
-- the last million numbers as used up, empties its directory and creates it again.
-- Tags: sanitize

local zk = require "zkrecipes"
local testing = require "zkrecipes.testing"
local env = require "spec.support.env"
local snapshot = require "spec.support.snapshot"

local LAST = 2147483647
local LIMIT = LAST - 2 ^ 20 -- ZR_SEQUENCE_LIMIT
local CLIENTS, ROUNDS = 8, 10

local function number_of(path) return tonumber(path:match("%d%d%d%d%d%d%d%d%d%d$")) end

local function acquire(one)
  assert(one:lock("/l"):acquire(200)):release()
  env.queue_of(one, "/l", 0)
end

local function litter(one)
  acquire(one)
  assert(one:create("/l/readme", "precious"))
end

-- A semaphore whose limit was written this often.
local function with_limit(writes)
  return function(one)
    assert(one:create("/s", "2", { parents = true }))
    for i = 1, writes do assert(one:set("/s", tostring(i + 2))) end
    assert.are.equal(writes, one:exists("/s").version)
  end
end

-- What `make` makes at `path`; the znode then gets this `counter`. Each has a namespace of its own.
local PREPARED = {
  names = { path = "/d", counter = LAST - 1, make = function(one) assert(one:create("/d", "", { parents = true })) end },
  ids = { path = "/ids", counter = LAST - 3, make = function(one) assert(one:ids("/ids"):next()) end },
  near = { path = "/l", counter = 2147483600, make = acquire },
  last = { path = "/l", counter = LAST, make = acquire },
  limit = { path = "/l", counter = LIMIT - 20, make = acquire },
  littered = { path = "/l", counter = LIMIT, make = litter },
}
for _, writes in ipairs { 0, 1, 2, 63, 64 } do
  PREPARED["semaphore " .. writes] = { path = "/s", counter = LIMIT, make = with_limit(writes) }
end

describe("the counter of sequential znodes", function()
  local server

  local function session(namespace, acl)
    return zk.session { hosts = server.hosts, timeout = 60, namespace = namespace, acl = acl }
  end

  -- All at once, because each preparation restarts the server twice.
  setup(env.run(function()
    server = assert(testing.start())
    local znodes = {}
    for _, place in pairs(PREPARED) do
      place.namespace = env.namespace()
      local one = session(place.namespace)
      place.make(one)
      place.made = one:exists(place.path)
      one:close()
      znodes[place.namespace .. place.path] = { counter = place.counter }
    end
    snapshot.set(server, znodes)
  end))

  teardown(function() server:stop() end)

  it("freezes at its end, and gives every znode the same number", env.run(function()
    local one = session(PREPARED.names.namespace)
    assert.are.equal(LAST - 1, number_of(assert(one:create("/d/a-", "", { sequential = true }))))
    for _, name in ipairs { "a", "b", "c" } do
      assert.are.equal(LAST, number_of(assert(one:create("/d/" .. name .. "-", "", { sequential = true }))))
    end
    env.fails("node_exists", one:create("/d/a-", "", { sequential = true }))
    local queue = one:queue("/d", { format = "simple" })
    assert(queue:put("last"))
    assert.equal("queue:put /d: the directory has used up its sequence numbers; delete it when it is empty, and the next put creates it",
      env.fails("full", queue:put("one more")))
    assert.equal("last", queue:take())
    one:close()
  end))

  it("near its end: ids give the last names once, and no more", env.run(function()
    local one = session(PREPARED.ids.namespace)
    local ids = one:ids("/ids")
    local first = assert(ids:next()) -- takes a number for its block
    assert.equal("name-2147483645", ids:next_name "name-")
    assert.equal("other-2147483646", ids:next_name "other-")
    for _ = 1, 3 do
      assert.matches("^ids:next_name /ids: the directory has used up its sequence numbers", env.fails("full", ids:next_name "name-"))
    end
    assert.equal(first + 1, ids:next())
    one:close()
  end))

  -- A client's turns: reads a number, adds one and writes it. Without the lock, additions would get lost.
  local function client(namespace, book)
    local mine = session(namespace)
    local lock = mine:lock("/l")
    for _ = 1, ROUNDS do
      local hold = assert(lock:acquire(300))
      book.holders = book.holders + 1
      book.most = math.max(book.most, book.holders)
      table.insert(book.tokens, hold.token)
      table.insert(book.numbers, number_of(hold.path))
      local value = tonumber((mine:get("/counter"))) + 1
      assert(hold:valid())
      assert(mine:set("/counter", tostring(value)))
      assert(hold:valid())
      book.holders = book.holders - 1
      hold:release()
    end
    mine:close()
  end

  local function contend(namespace)
    local book, clients = { holders = 0, most = 0, tokens = {}, numbers = {} }, {}
    for i = 1, CLIENTS do
      clients[i] = function() client(namespace, book) end
    end
    zk.all(clients)
    return book
  end

  local function check_exclusion(one, book)
    assert.are.equal(1, book.most)
    assert.are.equal(CLIENTS * ROUNDS, #book.tokens)
    for i = 2, #book.tokens do
      assert.is_true(book.tokens[i - 1] < book.tokens[i])
    end
    assert.are.equal(tostring(CLIENTS * ROUNDS), (one:get("/counter")))
  end

  -- Eight clients, eighty turns. Returns the numbers of the holders' znodes.
  local function through(place)
    local one = session(place.namespace)
    assert(one:create("/counter", "0"))
    local book = contend(place.namespace)
    check_exclusion(one, book)
    env.queue_of(one, "/l", 0)
    assert.is_true(one:exists("/l").czxid > place.made.czxid) -- created again
    one:close()
    return book.numbers
  end

  local function all_below(limit, numbers)
    for _, number in ipairs(numbers) do
      assert.is_true(number < limit)
    end
  end

  it("near its end: the lock creates the directory again under eight clients", env.run(function()
    all_below(CLIENTS * ROUNDS * 2, through(PREPARED.near))
  end))

  it("at its end: the lock creates the directory again under eight clients", env.run(function()
    all_below(CLIENTS * ROUNDS * 2, through(PREPARED.last))
  end))

  it("at the lock's limit: earlier contenders are served, then the numbers start at zero", env.run(function()
    local numbers = through(PREPARED.limit)
    all_below(LIMIT, numbers)
    assert.are.equal(LIMIT - 20, numbers[1])
    assert.is_true(numbers[#numbers] < CLIENTS * ROUNDS * 2)
  end))

  it("at the lock's limit: a znode that stays is named, one that leaves by itself is waited for", env.run(function()
    local place = PREPARED.littered
    local one, other = session(place.namespace), session(place.namespace)
    local lock = one:lock("/l")
    assert.equal("lock:acquire /l: the sequence numbers of /l are used up, so it must be emptied and made again; but the znode /l/readme "
      .. "is not ephemeral, so no session's end deletes it; delete it", env.fails("conflict", lock:acquire(200)))
    env.queue_of(other, "/l", 1) -- nothing of the attempt is left
    assert.equal("precious", (other:get("/l/readme")))
    assert(other:create("/l/lock-0000000001", "")) -- a usual name
    assert.matches("the znode /l/lock-0000000001 is ahead and is not ephemeral", env.fails("conflict", lock:acquire(200)), 1, true)
    assert(other:delete("/l/lock-0000000001"))
    assert(other:multi { { "delete", "/l/readme" }, { "create", "/l/visitor", "", { ephemeral = true } } })
    assert(one:sync("/l"))
    local waiter = env.start(function() return lock:acquire(200) end)
    env.eventually("a watch on the visitor", function() return one:usage().watches == 1 end)
    other:close()
    local hold = assert(waiter())
    assert.equal(0, number_of(hold.path))
    assert.is_true(one:exists("/l").czxid > place.made.czxid)
    hold:release()
    one:close()
  end))

  -- A session beside the semaphore whose limit was written this often, and the stat of the semaphore's directory.
  local function used_up(writes, acl)
    local place = PREPARED["semaphore " .. writes]
    return session(place.namespace, acl), place.made
  end

  local function check_limit(one, made, limit, version)
    local data, stat = one:get("/s")
    assert.are.equal(tostring(limit), data)
    assert.is_true(stat.czxid > made.czxid) -- created again
    assert.are.equal(version, stat.version)
  end

  it("of a semaphore: its directory is created again with its limit, at a higher version", env.run(function()
    local one, made = used_up(2)
    local semaphore = one:semaphore("/s")
    local hold = assert(semaphore:acquire(200, 4))
    assert.are.equal(0, number_of(hold.path))
    check_limit(one, made, 4, 3)
    assert(semaphore:resize(5))
    assert.are.equal(1, semaphore:available())
    hold:release()
    one:close()
  end))

  it("of a semaphore whose limit was written too often for that: at version 0", env.run(function()
    for writes, version in pairs { [63] = 64, [64] = 0 } do
      local one, made = used_up(writes)
      assert(one:semaphore("/s"):acquire(200)):release()
      check_limit(one, made, writes + 2, version)
      one:close()
    end
  end))

  it("of a semaphore: a lock on its path keeps the limit when it creates the directory again", env.run(function()
    local one, made = used_up(1)
    assert(one:lock("/s"):acquire(200)):release()
    check_limit(one, made, 3, 2)
    one:close()
  end))

  it("of a semaphore that contenders may not write: at version 0, with its limit", env.run(function()
    local owner, made = used_up(0)
    local one = used_up(0, { { perms = "rcd", scheme = "world", id = "anyone" } })
    assert(one:semaphore("/s"):acquire(200)):release()
    check_limit(owner, made, 2, 0)
    one:close()
    owner:close()
  end))
end)
