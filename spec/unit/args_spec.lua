-- Misuse raises a clear message at the caller's line. Needs no server: the session never connects.
-- Tags: sanitize

require "zkrecipes.sim"
local check = require "zkrecipes.check"
local collect = require "spec.support.collect"
local core = require "zkrecipes.core"
local zk = require "zkrecipes"

assert(zk.preload()) -- so that the classes have all methods

local HERE = "args_spec.lua:%d+: "

-- Asserts that fn raises, at a line of this file, a message that holds the text.
local function misuse(text, fn, ...)
  local arguments, count = { ... }, select("#", ...)
  local ok, message = pcall(function()
    fn((table.unpack or unpack)(arguments, 1, count)) -- luacheck: ignore 113 143
    return nil
  end)
  assert.is_false(ok, "no error, but expected: " .. text)
  assert.matches("^[^\n]*" .. HERE, message)
  assert.is_truthy(message:find(text, 1, true), ("%q does not hold %q"):format(message, text))
end

describe("arguments", function()
  local session, lock

  setup(function()
    session = zk.session{ hosts = "127.0.0.1:1", timeout = 0.2 }
    lock = session:lock("/locks/a")
  end)

  teardown(function() session:close(0) end)

  it("that are paths", function()
    misuse("bad argument #1 to 'get' (path expected, got nil)", session.get, session)
    misuse("bad argument #1 to 'get' (path expected, got table)", session.get, session, {})
    misuse("bad argument #1 to 'get' (path expected, got number)", session.get, session, 5)
    misuse("(path must start with '/', got 'a/b')", session.get, session, "a/b")
    misuse("must start with '/'", session.get, session, "")
    misuse("must not end with '/'", session.get, session, "/a/")
    misuse("'.' or '..'", session.get, session, "/a/../b")
    misuse("empty name", session.get, session, "/a//b")
    misuse("control", session.get, session, "/a\0b")
    misuse("UTF-8", session.get, session, "/\255")
    misuse("above U+FFEF", session.get, session, "/\239\191\176") -- the server refuses all of these:
    misuse("above U+FFEF", session.get, session, "/\240\159\152\128")
    misuse("bad argument #1 to 'lock'", session.lock, session, "locks")
    misuse("bad argument #1 to 'watch'", session.watch, session, nil)
  end)

  it("that are durations", function()
    misuse("bad argument #1 to 'acquire' (seconds expected, got string)", lock.acquire, lock, "5")
    misuse("seconds expected, got table", lock.acquire, lock, {})
    misuse("seconds expected, got nan", lock.acquire, lock, 0 / 0)
    misuse("seconds must not be negative, got -1", lock.acquire, lock, -1)
    misuse("seconds must not be negative, got -inf", lock.acquire, lock, -1 / 0)
    misuse("seconds must be at most 1000000000, got inf; leave it out for no limit", lock.acquire, lock, 1 / 0)
    misuse("seconds must be at most", lock.acquire, lock, 1e300)
    misuse("bad argument #1 to 'connected'", session.connected, session, false)
  end)

  it("that are integers", function()
    misuse("bad argument #3 to 'set' (integer expected, got string)", session.set, session, "/a", "", "1")
    misuse("integer expected, got 1.5", session.set, session, "/a", "", 1.5)
    misuse("integer expected, got nan", session.set, session, "/a", "", 0 / 0)
    misuse("integer expected, got inf", session.set, session, "/a", "", 1 / 0)
    misuse("integer from -2147483648 to 2147483647 expected, got 2147483648", session.set, session, "/a", "", 2 ^ 31)
    misuse("integer expected, got 1e+300", session.delete, session, "/a", 1e300)
  end)

  it("that are versions: -1 is not one", function()
    local sentence = "-1 cannot be compared: to ZooKeeper it means any version; leave the version out for \"any\""
    misuse("bad argument #3 to 'set' (" .. sentence .. ")", session.set, session, "/a", "", -1)
    misuse("bad argument #2 to 'delete' (" .. sentence .. ")", session.delete, session, "/a", -1)
    misuse("bad argument #3 to 'set_acl' (" .. sentence .. ")", session.set_acl, session, "/a", "open", -1)
    for _, part in ipairs { { "set", "/a", "", -1 }, { "delete", "/a", -1 }, { "check", "/a", -1 } } do
      misuse("bad argument #1 to 'multi' (part 1: " .. sentence .. ")", session.multi, session, { part })
    end
  end)

  it("that are data or strings", function()
    misuse("bad argument #2 to 'create' (string or nil expected, got number)", session.create, session, "/a", 5)
    misuse("string or nil expected, got boolean", session.set, session, "/a", true)
    misuse("bad argument #1 to 'add_auth' (string expected, got nil)", session.add_auth, session)
    misuse("string must not hold a NUL byte", session.add_auth, session, "dig\0est", "x")
  end)

  it("that are options", function()
    misuse("bad argument #3 to 'create' (table of options expected, got string)", session.create, session, "/a",
      "", "x")
    misuse("unknown option 'fare'; there are: cohort, data, fair, max_queue, on_request, reentrant", session.lock, session, "/a",
      { fare = true })
    misuse("unknown option 'ephemral'; there are: ephemeral, sequential", session.create, session, "/a", "",
      { ephemral = true })
    misuse("the names of options are strings, got a number", session.create, session, "/a", "", { true })
    misuse("(option 'ephemeral': boolean expected, got number)", session.create, session, "/a", "", { ephemeral = 1 })
    misuse("(option 'ttl': seconds expected, got string)", session.create, session, "/a", "", { ttl = "1" })
    misuse("bad call of 'create' (", session.create, session, "/a", "", { container = true, ttl = 1 })
    misuse("bad argument #2 to 'lock' (option 'data': string or nil expected, got table)", session.lock, session,
      "/a", { data = {} })
    misuse("bad argument #1 to 'reconfig' (table of options expected, got nil)", session.reconfig, session)
  end)

  it("that are ACLs", function()
    misuse("bad argument #2 to 'set_acl' ('open', 'creator', 'read' or list expected, got nil)", session.set_acl,
      session, "/a")
    misuse("the words for an ACL are 'open', 'creator' and 'read'; other entries are { perms =, scheme =, id = })",
      session.set_acl, session, "/a", "digest:ann:secret:all")
    misuse("an ACL needs at least one entry", session.set_acl, session, "/a", {})
    misuse("(entry 2: the words for an ACL are", session.set_acl, session, "/a", { "open", "all" })
    misuse("(entry 1: table of options expected, got number)", session.set_acl, session, "/a", { 1 })
    misuse("(entry 1: perms, scheme and id are needed)", session.set_acl, session, "/a", { {} })
    misuse("(entry 2, option 'perms': permissions are letters of 'rwcda', got 'x')", session.set_acl, session, "/a",
      { { perms = "r", scheme = "world", id = "anyone" }, { perms = "x" } })
    misuse("permissions are read, write, create, delete, admin, got 'r'", session.set_acl, session, "/a",
      { { perms = { "r" } } })
    misuse("at least one permission is needed", session.set_acl, session, "/a", { { perms = "" } })
    misuse("unknown option 'who'", session.set_acl, session, "/a", { { who = "me" } })
    misuse("(option 'acl', entry 1, option 'id': string expected, got number)", session.create, session, "/a", "",
      { acl = { { perms = "r", scheme = "world", id = 5 } } })
  end)

  it("that are ids in ACLs", function()
    local WRONG = {
      { "'anyone' expected, the only id of 'world'", "world", "", "ann", "anyone " },
      { "'' expected: the scheme 'auth' means who makes the znode", "auth", "ann", "ann:secret" },
      { "'user:hash' expected, as zk.digest(user, password) makes it", "digest", "ann:secret", "ann:x", "ann", ":", "", "ann:",
        ":SChWx1WCBD0AUFrM3NN9XnWYvUA=", "ann:SChWx1WCBD0AUFrM3NN9XnWYvUA", "ann:=ChWx1WCBD0AUFrM3NN9XnWYvUA=",
        "ann:SChWx1WCBD0AUFrM3NN9XnWYv===" },
      { "an address expected, or a network such as '10.0.0.0/8'", "ip", "", "localhost", "10.0.0", "10.0.0.0/", "10.0.0.0/33", "::1/129",
        "10.0.0.0/8 ", "10.0.0.0/0008", ("1"):rep(100), "10.0.0.0/-1" },
      { "a subject such as 'CN=ann,O=us' expected, without blanks around ',' and '='", "x509", "", "ann", "CN = ann", "CN=ann, O=us",
        "CN= ann", "=ann", ", CN=ann" },
      { "name of a user expected", "sasl", "" },
    }
    for _, each in ipairs(WRONG) do
      for i = 3, #each do
        misuse("(entry 2, option 'id': " .. each[1] .. ")", session.set_acl, session, "/a",
          { "creator", { perms = "r", scheme = each[2], id = each[i] } })
      end
    end
    misuse("(option 'acl', entry 1, option 'id': 'anyone' expected", zk.session, { acl = { { perms = "r", scheme = "world", id = "me" } } })
  end)

  it("of zk.digest", function()
    misuse("bad argument #1 to 'digest' (string expected, got nil)", zk.digest)
    for _, user in ipairs { "", "a:b", ":" } do
      misuse("bad argument #1 to 'digest' (name of a user, without ':', expected)", zk.digest, user, "secret")
    end
    misuse("bad argument #1 to 'digest' (string must not hold a NUL byte)", zk.digest, "a\0b", "secret")
    misuse("bad argument #2 to 'digest' (string expected, got number)", zk.digest, "a", 5)
  end)

  it("that are parts of a multi", function()
    misuse("bad argument #1 to 'multi' (list of parts expected, got nil)", session.multi, session)
    misuse("(part 1: table expected, got string)", session.multi, session, { "set" })
    misuse("(part 1: must begin with 'create', 'set', 'delete' or 'check', got 'get')", session.multi, session,
      { { "get", "/a" } })
    misuse("got 'nil'", session.multi, session, { {} })
    misuse("(part 2: path must start with '/', got 'b')", session.multi, session, { { "check", "/a" }, { "set", "b" } })
    misuse("(part 1: string or nil expected, got number)", session.multi, session, { { "set", "/a", 5 } })
    misuse("(part 1: integer expected, got string)", session.multi, session, { { "delete", "/a", "1" } })
    misuse("(part 1: unknown option 'ttl'; there are: ephemeral, sequential, acl)", session.multi, session,
      { { "create", "/a", "", { ttl = 1 } } })
    misuse("'delete' takes at most 3 values", session.multi, session, { { "delete", "/a", 1, 2 } })
  end)

  it("that are parts of a multi with fields that it would not read", function()
    local function refused(text, ...) misuse("bad argument #1 to 'multi' (" .. text, session.multi, session, { ... }) end
    local set = "; write { 'set', path, data, version })"
    refused("part 1: 'set' has no field 'version'" .. set, { "set", "/a", "", version = 7 })
    refused("part 2: 'check' has no field 'version'; write { 'check', path, version })", { "check", "/a" }, { "check", "/a", version = 7 })
    refused("part 1: 'create' has no field 'ephemeral'; write { 'create', path, data, { ephemeral =, sequential =, acl = } })",
      { "create", "/a", "", ephemeral = true })
    refused("part 1: 'delete' has no field 'path'; write { 'delete', path, version })", { "delete", path = "/a" })
    refused("part 1: 'set' takes at most 4 values" .. set, { "set", "/a", nil, nil, nil, nil, 7 })
    refused("part 1: 'set' has no field '0'" .. set, { "set", "/a", [0] = 7 })
    refused("part 1: 'set' has no field '3.5'" .. set, { "set", "/a", [3.5] = 7 })
    refused("part 1: 'set' has no field 'boolean'" .. set, { "set", "/a", [true] = 7 })
  end)

  it("that are lists with a hole, or with something beside them", function()
    local part, entry = { "check", "/a" }, { perms = "r", scheme = "world", id = "anyone" }
    local function set_acl(acl) session:set_acl("/a", acl) end
    local LISTS = {
      ["#1 to 'multi' (list of parts expected"] = { part, function(list) session:multi(list) end },
      ["#2 to 'set_acl' ('open', 'creator', 'read' or list expected"] = { entry, set_acl },
      ["#2 to 'set_acl' (entry 1, option 'perms': letters of 'rwcda' or list of words expected"] = { "read",
        function(list) set_acl { { perms = list, scheme = "world", id = "anyone" } } end },
      ["#3 to 'create' (option 'acl': 'open', 'creator', 'read' or list expected"] = { "open",
        function(list) session:create("/a", "", { acl = list }) end },
      ["#1 to 'session' (option 'auth': list of { scheme =, credential = } expected"] = { { scheme = "digest", credential = "me:pw" },
        function(list) zk.session { auth = list } end },
    }
    for place, row in pairs(LISTS) do
      local one, call = row[1], row[2]
      local function refused(text, list) misuse(place .. ", got a table " .. text .. ")", call, list) end
      refused("without entry 2; leave no hole", { one, nil, one })
      refused("without entry 1; leave no hole", { nil, one })
      refused("without entry 2; leave no hole", { one, [2 ^ 40] = one })
      refused("without entry 2; leave no hole", { one, [1.5] = one })
      refused("with 'more' beside the list", { one, more = one })
      refused("with 'boolean' beside the list", { one, [true] = one })
      refused("that is not a list", { more = one })
    end
  end)

  it("of zk.session", function()
    misuse("table of options expected, got number", zk.session, 5)
    misuse("unknown option 'host'", zk.session, { host = "a" })
    misuse("(option 'hosts': '' has an empty host)", zk.session, { hosts = "" })
    misuse("(option 'hosts': 'a,,b' has an empty host)", zk.session, { hosts = "a,,b" })
    misuse("(option 'hosts': 'a b' has", zk.session, { hosts = " a b " })
    misuse("port", zk.session, { hosts = "a:99999" })
    misuse("port", zk.session, { hosts = "a:x" })
    misuse("chroot", zk.session, { hosts = "a:1/b/" })
    misuse("a ',' behind the chroot: write the chroot once, behind the last host", zk.session, { hosts = "a:1/app,b:1/app" })
    misuse("a ',' behind the chroot", zk.session, { hosts = { "a:1/app", "b:1/app" } })
    misuse("a ',' behind the chroot", zk.session, { hosts = { "a:1/app", "b:1" } })
    misuse("has a host name that is longer than 255 bytes", zk.session, { hosts = ("h"):rep(256) })
    misuse("has a host name that is longer than 255 bytes", zk.session, { hosts = "[" .. ("f"):rep(256) .. "]:1" })
    misuse("(option 'hosts', entry 2: string expected, got number)", zk.session, { hosts = { "a", 5 } })
    misuse("(option 'hosts': string expected, got boolean)", zk.session, { hosts = true })
    misuse("(option 'namespace': path must start with '/', got 'app')", zk.session, { namespace = "app" })
    misuse("(option 'timeout': seconds expected, got string)", zk.session, { timeout = "10" })
    misuse("a session timeout must be from", zk.session, { timeout = 0 })
    misuse("(option 'auth', entry 1: scheme and credential are needed)", zk.session,
      { auth = { { scheme = "digest" } } })
    misuse("(option 'auth': list of { scheme =, credential = } expected, got string)", zk.session, { auth = "me:pw" })
    misuse("(option 'auth': list of { scheme =, credential = } expected, got a table that is not a list)", zk.session,
      { auth = { scheme = "digest", credential = "me:pw" } })
    misuse("(option 'log': function expected, got boolean)", zk.session, { log = true })
    misuse("option 'read_only': not supported", zk.session, { read_only = true })
  end)

  it("self", function()
    misuse("calling 'acquire' on a bad self (zkrecipes.lock expected, got nil)", lock.acquire)
    misuse("calling 'acquire' on a bad self (zkrecipes.lock expected, got number)", lock.acquire, 5)
    misuse("calling 'acquire' on a bad self (zkrecipes.lock expected, got userdata)", lock.acquire, session)
    misuse("calling 'get' on a bad self (zkrecipes.session expected, got userdata)", session.get, io.stdout, "/a")
    misuse("write object:get(", session.get, "/a")
    misuse("calling 'with' on a bad self (zkrecipes.lock expected, got nil)", lock.with, nil, print)
    for _, name in ipairs { "states", "loop", "fd", "pollfd", "dispatch" } do
      misuse("calling '" .. name .. "' on a bad self (zkrecipes.session expected, got nil)", session[name])
      misuse("calling '" .. name .. "' on a bad self (zkrecipes.session expected, got userdata)", session[name], lock)
    end
    local task = zk.spawn(function() end)
    misuse("calling 'wait' on a bad self (zkrecipes.task expected, got nil)", task.wait)
    misuse("calling 'cancel' on a bad self (zkrecipes.task expected, got userdata)", task.cancel, lock)
  end)

  it("of functions written in Lua", function()
    misuse("bad argument #1 to 'with' (function expected, got nil)", lock.with, lock)
    misuse("bad argument #2 to 'with' (function expected, got number)", lock.with, lock, 1, 5)
    misuse("bad argument #1 to 'acquire' (seconds expected, got string)", lock.with, lock, "1", print)
    misuse("bad argument #1 to 'spawn'", zk.spawn, 5)
  end)

  it("that a nested function of the user passes raise at the nested line", function()
    local ok, message = pcall(function()
      local function deeper() lock:acquire("x") end -- the line
      zk.run(function() zk.all{ deeper } end)
    end)
    assert.is_false(ok)
    assert.matches("args_spec.lua:" .. debug.getinfo(1, "l").currentline - 4 .. ": ", message)
  end)

  it("that a log function passes raise at its line; a log function cannot wait", function()
    local texts = {}
    zk.run(function()
      local noisy = zk.session{ hosts = "127.0.0.1:1", log = function() zk.sleep(1) end }
      noisy:connected(0.05)
      noisy:close(0)
    end, { on_error = function(text) texts[#texts + 1] = text end })
    assert.matches("^in a session's log function: [^\n]*args_spec.lua:%d+: cannot wait here", texts[1])
  end)

  it("left out at the end may be nil", function()
    zk.run(function()
      local ok, message, code = lock:acquire(0.001, nil, nil)
      assert.is_nil(ok)
      assert.matches("^lock:acquire /locks/a: ", message)
      assert.are.equal("connection_loss", code)
    end)
  end)
end)

describe("objects", function()
  it("are the same when they are returned again, and have a readable tostring", function()
    local session = zk.session{ hosts = "127.0.0.1:1" }
    local lock = session:lock("/locks/b")
    assert.are.equal("zkrecipes.lock: /locks/b", tostring(lock))
    assert.matches("^zkrecipes.session: ", tostring(session))
    assert.are.equal("/locks/b", lock.path)
    assert.are.equal("connecting", session.state)
    assert.is_nil(session.id)
    assert.is_nil(session.nothing)
    assert.is_nil(session[1])
    assert.is_false(getmetatable(session))
    session:close(0)
  end)

  it("of a closed session fail with a clear message", function()
    local session = zk.session{ hosts = { "127.0.0.1:1", "127.0.0.1:2" } }
    local lock = session:lock("/locks/c")
    session:close(0)
    assert.are.equal("closed", session.state)
    local ok, message, code = session:get("/a")
    assert.is_nil(ok)
    assert.matches("^session:get /a: ", message)
    assert.are.equal("closed", code)
    ok, message, code = lock:acquire(1)
    assert.is_nil(ok)
    assert.matches("^lock:acquire /locks/c: ", message)
    assert.are.equal("closed", code)
    assert.is_true(session:close(0))
  end)

  it("are collected, and free what they hold", function()
    local function make()
      for _ = 1, 20 do
        local session = zk.session{ hosts = "127.0.0.1:1" }
        session:lock("/locks/d")
        session:watch("/w")
      end
    end
    collect(2)
    zk.sleep(0.05)
    local before = core.live()
    make()
    collect(4)
    zk.sleep(0.1)
    local after = core.live()
    for class, count in pairs(after) do
      assert.is_true(count <= (before[class] or 0), class)
    end
  end)

  it("report exhausted memory, and work again afterwards", function()
    local session = zk.session{ hosts = "127.0.0.1:1", timeout = 0.1 }
    local lock = session:lock("/locks/e")
    for n = 1, 6 do
      core.alloc_fail(n)
      local ok, _, code = lock:acquire(0.001)
      core.alloc_fail(0)
      assert.is_nil(ok)
      assert.is_true(code == "no_memory" or code == "connection_loss", code)
    end
    session:close(0)
  end)
end)

describe("self of every method", function()
  for _, classes in ipairs { core.classes, check.classes } do
    for kind, class in pairs(classes) do
      it("of a " .. kind, function()
        for name, method in pairs(class.methods) do
          if type(method) == "function" and not name:find("^__") and name ~= "events" then -- `events` needs no self
            local text = ("calling '%s' on a bad self"):format(name)
            misuse(text, method)
            misuse(text, method, nil, 1, print)
            for _, value in ipairs { "/a", {}, print, core, setmetatable({}, { __index = print }) } do
              misuse(text, method, value, 1, print)
            end
          end
        end
      end)
    end
  end
end)
