-- A server closes the connection if a request is longer than its jute.maxbuffer. So the module measures every request
-- before it sends it, and the measure must be exact. There are two servers: one accepts the longest request that the module
-- sends, and the other one accepts one byte less.

local testing = require "zkrecipes.testing"
local env = require "spec.support.env"
local run, fails = env.run, env.fails

local MOST = 1000000 -- the most bytes that the module sends

local NAME = "/n" -- in a namespace like "/s": four bytes
local HEADER, PART, OPEN = 8, 9, 4 + 4 + (4 + 5) + (4 + 6) -- of a request, of a part, the ACL world:anyone

-- Option > the size of its ACL on the wire.
local ACLS = {
  open = OPEN,
  read = OPEN,
  creator = 4 + 4 + (4 + 4) + 4,
}
local LISTED = { { scheme = "world", id = "anyone", perms = "rw" }, { scheme = "ip", id = "10.0.0.0/8", perms = "r" } }

local function create(length, acl) return 4 + 4 + 4 + length + acl + 4 end
local function set(length) return 4 + 4 + 4 + length + 4 end
local function named(path) return 4 + #path + 4 end

local function filler(bytes, rest) return ("x"):rep(bytes - rest) end

-- Name > fn(session, bytes): sends a request with this many bytes on the wire.
local requests = {
  ["create"] = function(session, bytes) return session:create(NAME, filler(bytes, HEADER + create(0, OPEN))) end,
  ["create with a ttl"] = function(session, bytes)
    return session:create(NAME, filler(bytes, HEADER + create(0, OPEN) + 8), { ttl = 100 })
  end,
  ["create with a list for its ACL"] = function(session, bytes)
    local acl = OPEN + 4 + (4 + 2) + (4 + 10)
    return session:create(NAME, filler(bytes, HEADER + create(0, acl)), { acl = LISTED })
  end,
  ["set"] = function(session, bytes) return session:set("/m", filler(bytes, HEADER + set(0))) end,
  ["multi"] = function(session, bytes)
    local rest = HEADER + PART + 5 * PART + 3 * create(0, OPEN) + set(0) + named "/s/m"
    return session:multi {
      { "create", NAME, nil },
      { "create", "/o", nil, { ephemeral = true } },
      { "create", "/p", "", { acl = "read" } },
      { "set", "/m", filler(bytes, rest) },
      { "check", "/m" },
    }
  end,
  ["multi with another ACL"] = function(session, bytes)
    local rest = HEADER + PART + 3 * PART + create(0, ACLS.creator) + create(0, OPEN) + named "/s/m"
    return session:multi {
      { "create", NAME, filler(bytes, rest), { acl = "creator" } },
      { "create", "/o" },
      { "delete", "/m" },
    }
  end,
  ["write of a hold"] = function(session, bytes)
    local hold = assert(session:lock("/l"):acquire(200))
    local ok, message, code = hold:set("/m", filler(bytes, HEADER + PART + 2 * PART + named(hold.path) + 2 + set(0)))
    hold:release()
    return ok, message, code
  end,
}

describe("the longest request", function()
  local exact, less
  setup(function()
    exact = assert(testing.start { jvm = { "-Djute.maxbuffer=" .. MOST } })
    less = assert(testing.start { jvm = { "-Djute.maxbuffer=" .. MOST - 1 } })
  end)
  teardown(function()
    exact:stop()
    less:stop()
  end)

  local count = 0

  -- In a namespace of two bytes, with the znode /m.
  local function fresh(server)
    count = count + 1
    local session = env.session { hosts = server.hosts, namespace = "/" .. string.char(64 + count), timeout = 60,
      auth = { { scheme = "digest", credential = "me:secret" } } }
    assert(session:connected(200))
    assert(session:create("/m", "", { parents = true }))
    return session
  end

  for name, request in pairs(requests) do
    it("is sent, but not a longer one: " .. name, run(function()
      local session = fresh(exact)
      local id = session.id
      fails("too_large", request(session, MOST + 1))
      assert(request(session, MOST))
      assert.are.equal(id, session.id)
      session:close()

      session = fresh(less)
      assert(request(session, MOST - 1))
      session:close()
      session = fresh(less)
      fails("connection_loss", request(session, MOST))
      session:close()
    end))
  end

  it("is not exceeded by put_all, however long the queue's path is", run(function()
    local session = fresh(exact)
    local id, items = session.id, {}
    for i = 1, 120 do items[i] = ("x"):rep(4000) end
    assert.are.equal(120, session:queue("/" .. ("q"):rep(3000)):put_all(items))
    assert.are.equal(id, session.id)
    session:close()
  end))

  it("has no more parts than fit", run(function()
    local session = fresh(exact)
    local id, parts = session.id, {}
    for i = 1, 25000 do parts[i] = { "create", ("/n%05d"):format(i), "" } end
    fails("too_large", session:multi(parts))
    local hold = assert(session:lock("/l"):acquire(200))
    fails("too_large", hold:multi(parts))
    assert.are.same({ id, "connected" }, { session.id, session.state })
    session:close()
  end))
end)
