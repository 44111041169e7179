-- Configuration, on a real server.
-- Tags: sanitize

local zk = require "zkrecipes"
local env = require "spec.support.env"
local run, fails, raises = env.run, env.fails, env.raises

local LIMIT = 200

-- "key=number;key=number;": a codec like cjson, whose functions raise.
local codec = {}

function codec.encode(value)
  local parts = {}
  for key, number in pairs(value) do parts[#parts + 1] = ("%s=%d;"):format(key, number) end
  table.sort(parts)
  return table.concat(parts)
end

function codec.decode(data)
  local value = {}
  local rest = data:gsub("(%w+)=(%d+);", function(key, number)
    value[key] = tonumber(number)
    return ""
  end)
  if rest ~= "" then error("unexpected '" .. rest:sub(1, 10) .. "'", 0) end
  return value
end

-- Two sessions on one namespace, and the log of the first one.
local function pair(more)
  local namespace, lines = env.namespace(), {}
  local options = { namespace = namespace, log = function(level, text) lines[#lines + 1] = level .. ": " .. text end }
  for name, value in pairs(more or {}) do options[name] = value end
  return env.session(options), env.session { namespace = namespace }, lines
end

local function loaded(session, options)
  local config = assert(session:config("/a/conf", options or { codec = codec, default = { limit = 1 } }))
  assert(config:ready(LIMIT))
  return config
end

local function await(config, limit)
  return assert(config:await(function(value) return value and value.limit == limit end, LIMIT))
end

describe("a configuration", function()
  it("begins with the value in its file while no server answers", run(function()
    local files = require "spec.support.tree_file"
    local file, log, said, clean = files.place()
    local namespace = env.namespace()
    local session = env.session { namespace = namespace }
    local config = loaded(session, { codec = codec, file = file })
    assert.is_true(config:set { limit = 7 })
    await(config, 7)
    config:close()
    local away = files.alone(namespace, log)
    local again = away:config("/a/conf", { codec = codec, file = file, default = { limit = 1 } })
    assert.is_true(again:ready(0))
    assert.same({ limit = 7 }, (again:get()))
    assert.equal("file", again:source())
    assert.is_true(again:age() > 0 and again:age() < LIMIT)
    assert.equal(0, said "tree /a/conf")
    raises("'config' %(option 'file': absolute path", function() away:config("/a/conf", { file = "x" }) end)
    away:close()
    session:close()
    clean()
  end))

  it("has the default value while the znode is missing or its data are null", run(function()
    local session, other = pair()
    local config = session:config("/a/conf", { codec = codec, default = { limit = 1 } })
    assert.same({ { limit = 1 } }, { config:get() })
    assert(config:ready(LIMIT))
    assert.same({ { limit = 1 } }, { config:get() })
    assert.is_false(session:exists("/a")) -- reading creates nothing
    assert(other:create("/a/conf", nil, { parents = true }))
    assert(config:await(function(_, stat) return stat end, LIMIT))
    assert.same({ limit = 1 }, (config:get()))
    assert.is_true(config:set { limit = 2 })
    await(config, 2)
    assert.equal("limit=2;", (other:get("/a/conf")))
    assert(other:delete_tree("/a"))
    await(config, 1)
    assert.is_nil((select(2, config:get())))
    assert.is_nil(config:problem())
    session:close()
  end))

  it("returns the same value until it changes, with its stat", run(function()
    local session, other = pair()
    local config = loaded(session)
    assert(config:set { limit = 2 })
    await(config, 2)
    local value, stat = config:get()
    assert.is_true(value == config:get())
    assert(other:set("/a/conf", "limit=3;"))
    await(config, 3)
    assert.equal(2, value.limit)
    assert.equal(stat.version + 1, select(2, config:get()).version)
    session:close()
  end))

  it("sets on the condition of a stat or a version", run(function()
    local session, other = pair()
    local config = loaded(session)
    assert(config:set { limit = 1 })
    assert(config:await(function(_, stat) return stat and stat.version == 1 end, LIMIT))
    local _, stat = config:get()
    assert.is_true(config:set({ limit = 2 }, stat))
    assert.matches("^config:set /a/conf: the znode has changed", fails("bad_version", config:set({ limit = 3 }, stat)))
    assert.is_true(config:set({ limit = 3 }, 2))
    fails("bad_version", config:set({ limit = 4 }, 2))
    await(config, 3)
    -- The same version of another znode.
    _, stat = config:get()
    assert(other:delete_tree("/a"))
    assert(other:create("/a/conf", "limit=0;", { parents = true }))
    for _ = 1, 3 do assert(other:set("/a/conf", "limit=9;")) end
    fails("bad_version", config:set({ limit = 4 }, stat))
    assert.is_true(config:set({ limit = 4 }, 3))
    assert(other:delete_tree("/a"))
    fails("bad_version", config:set({ limit = 5 }, stat))
    fails("bad_version", config:set({ limit = 5 }, 0))
    assert.is_false(session:exists("/a/conf")) -- a conditional set creates nothing
    session:close()
  end))

  it("counts each of many updates by two sessions once", run(function()
    local one, other = pair()
    local configs = { loaded(one), loaded(other), loaded(one) }
    local adders, wrote = {}, {}
    for i = 1, 9 do
      adders[i] = function()
        for _ = 1, 4 do
          local ok, value = assert(configs[i % 3 + 1]:update(function(value)
            value.limit = value.limit + 1
            return value
          end, { timeout = LIMIT }))
          assert.is_true(ok)
          assert.is_nil(wrote[value.limit])
          wrote[value.limit] = true
        end
      end
    end
    zk.all(adders)
    assert.equal("limit=37;", (one:get("/a/conf")))
    one:close()
    other:close()
  end))

  it("changes and creates nothing if fn returns nil", run(function()
    local session = pair()
    local config, seen = loaded(session), nil
    assert.is_false(config:update(function(value) seen = value end))
    assert.same({ limit = 1 }, seen)
    assert.is_false(session:exists("/a"))
    local ok, problem = pcall(config.update, config, function() error("of fn", 0) end)
    assert.same({ false, "of fn" }, { ok, problem })
    session:close()
  end))

  it("passes fn a copy of the value", run(function()
    local session = pair()
    local config = loaded(session)
    local default = config:get()
    assert(config:update(function(value)
      value.limit = 5
      return nil
    end) == false)
    assert.equal(1, default.limit)
    assert(config:set { limit = 2 })
    await(config, 2)
    local shown = config:get()
    assert(config:update(function(value)
      value.limit = 3
      return value
    end))
    assert.equal(2, shown.limit)
    session:close()
  end))

  it("keeps the last good value while the data do not decode, and reports it once", run(function()
    local session, other, lines = pair()
    local config = loaded(session)
    assert(config:set { limit = 2 })
    await(config, 2)
    local _, stat = config:get()
    for _, data in ipairs { "{", "{\"limit\": 3}", ("{"):rep(999000), "\0\255" } do
      assert(other:set("/a/conf", data))
      env.eventually("it is seen", function() return select(2, config:problem()) == "conflict" end)
      assert.same({ limit = 2 }, (config:get()))
      assert.equal(stat.version, select(2, config:get()).version)
      assert.matches("^config:update /a/conf: the codec's decode raised: unexpected", (fails("conflict",
        config:update(function(value) return value end))))
      fails("bad_version", config:set({ limit = 3 }, stat)) -- it has changed
      assert(other:set("/a/conf", "limit=2;"))
      env.eventually("it is good again", function() return not config:problem() end)
      _, stat = config:get()
    end
    assert(other:set("/a/conf", "")) -- empty data are data
    assert(config:await(function(value) return next(value) == nil end, LIMIT))
    local told = 0
    for _, line in ipairs(lines) do
      if line:find("^warning: config /a/conf: the data of version %d+ are not shown: the codec's decode raised: ") then told = told + 1 end
    end
    assert.equal(4, told)
    session:close()
  end))

  it("reports the codec's errors: nil and a message, nil, a type other than string", run(function()
    local session = pair()
    local answers = { encode = { nil, "too odd" }, decode = {} }
    local config = loaded(session, { codec = { encode = function() return answers.encode[1], answers.encode[2] end,
      decode = function() return answers.decode[1] end } })
    assert.matches("^config:set /a/conf: the codec's encode failed: too odd$", fails("error", config:set(1)))
    answers.encode = {}
    assert.matches("it gave nil", fails("error", config:set(1)))
    answers.encode = { 5 }
    assert.matches("gave a number, not a string", fails("error", config:set(1)))
    assert.matches("gave a number, not a string", fails("error", config:update(function() return 1 end)))
    answers.encode = { "5" }
    assert.is_true(config:set(1))
    env.eventually("it is seen", function() return select(2, config:problem()) == "conflict" end)
    assert.is_nil((config:get()))
    session:close()
  end))

  it("keeps its value when the codec raises an error that has no text", run(function()
    local session, other = pair()
    local mute = setmetatable({}, { __tostring = function() error "no text" end })
    local odd = setmetatable({}, { __tostring = function() return {} end })
    local decode = function(data) return data end
    local encode = decode
    local config = loaded(session, { codec = { encode = function(value) return encode(value) end,
      decode = function(data) return decode(data) end } })
    assert(config:set "good")
    assert(config:await(function(value) return value == "good" end, LIMIT))
    for i, problem in ipairs { mute, odd } do
      decode = function() error(problem) end
      assert(other:set("/a/conf", "other " .. i))
      env.eventually("it is seen", function() return select(2, config:problem()) == "conflict" end)
  assert.matches("the codec's decode raised: a table without a text$", (config:problem()))
      assert.equal("good", (config:get()))
      decode = function() return nil, problem end
      assert.matches("decode failed: a table without a text", fails("conflict", config:update(function() return "x" end)))
      encode = decode
      assert.matches("encode failed: a table without a text", fails("error", config:set "x"))
    end
    session:close()
  end))

  it("has strings without a codec, and accepts false as a value", run(function()
    local session = pair()
    local config = loaded(session, {})
    assert.is_nil((config:get()))
    assert.is_true(config:set "x")
    assert.equal("x", config:await(function(value) return value end, LIMIT))
    raises("bad argument #1 to 'set' %(string expected, without a codec, got number%)", config.set, config, 5)
    assert.same({ true, "xy" }, { config:update(function(value) return value .. "y" end) })
    local flag = loaded(session, { codec = { encode = tostring, decode = function(data) return data == "true" end }, default = true })
    assert.is_true(flag:set(false))
    assert(flag:await(function(value) return value == false end, LIMIT))
    assert.same({ true, true }, { flag:update(function(value) return not value end) })
    session:close()
  end))

  it("reports changes: first the present value, then the latest one", run(function()
    local session, other = pair()
    local config = loaded(session, { codec = codec })
    local changes = config:changes()
    assert.equal("/a/conf", changes.path)
    assert.is_false(changes:next(LIMIT)) -- false stands for nil
    fails("timeout", changes:next(0))
    assert(other:create("/a/conf", "limit=1;", { parents = true }))
    assert.same({ limit = 1 }, (changes:next(LIMIT)))
    for i = 2, 9 do assert(other:set("/a/conf", ("limit=%d;"):format(i))) end
    await(config, 9)
    local value, stat = changes:next(LIMIT)
    assert.same({ { limit = 9 }, 8 }, { value, stat.version })
    fails("timeout", changes:next(0))
    assert(other:set("/a/conf", "{"))
    assert(other:set("/a/conf", "limit=10;"))
    assert.same({ limit = 10 }, (changes()))
    local follower = zk.spawn(function() return fails("closed", changes:next()) end)
    zk.sleep(0)
    config:close()
    assert.matches("^config_changes:next /a/conf: the tree is closed", follower:wait())
    session:close()
  end))

  it("ends at close, and keeps its value", run(function()
    local session = pair()
    local config = loaded(session)
    assert(config:set { limit = 2 })
    await(config, 2)
    assert.is_true(config:close())
    assert.is_true(config:close())
    assert.equal(2, config:get().limit)
    fails("closed", config:set { limit = 3 })
    fails("closed", config:update(function(value) return value end))
    fails("closed", config:ready(0))
    local another = loaded(session)
    assert.matches("^config:update /a/conf: ", fails("closed", another:update(function(value)
      another:close()
      return value
    end)))
    fails("closed", config:await(function() return false end))
    session:close()
  end))

  it("reports missing rights at once, also without a limit", run(function()
    local session, other = pair { request_timeout = LIMIT }
    local config = loaded(session)
    assert.matches("^config:set /a/conf: ", fails("too_large", config:set { [("x"):rep(1100000)] = 1 }))
    assert(config:set { limit = 2 })
    await(config, 2)
    assert(other:set_acl("/a/conf", { { scheme = "world", id = "anyone", perms = "rcda" } }))
    assert.matches("^config:set /a/conf: ", fails("no_auth", config:set { limit = 3 }))
    assert.matches("^config:update /a/conf: ", fails("no_auth", config:update(function(value) return value end)))
    assert(other:set_acl("/a/conf", { { scheme = "world", id = "anyone", perms = "wcda" } }))
    config = loaded(session) -- a copy that is loaded does not learn of an ACL
    assert.matches("^config /a/conf: it may not be read", (config:problem()))
    assert.equal("no_auth", select(2, config:problem()))
    assert.equal(1, config:get().limit)
    assert.matches("^config:update /a/conf: ", fails("no_auth", config:update(function() return nil end)))
    session:close()
  end))

  it("refuses to compare with version -1", run(function()
    local session = pair()
    local config = loaded(session)
    assert(config:set { limit = 2 })
    await(config, 2)
    local _, stat = config:get()
    stat.version = -1
    assert.matches("^config:set /a/conf: its znode was written 2%^32 times", fails("bad_version", config:set({ limit = 3 }, stat)))
    raises("bad argument #2 to 'set' %(version %-1 cannot be compared", config.set, config, { limit = 3 }, -1)
    session:close()
  end))

  it("raises misuse at the caller's line", run(function()
    local session = pair()
    raises("bad argument #1 to 'config' %(path", session.config, session, "no path")
    raises("the root", session.config, session, "/")
    raises("unknown option 'x'", session.config, session, "/c", { x = 1 })
    raises("option 'codec': table expected", session.config, session, "/c", { codec = 1 })
    raises("encode' %(function expected, got nil", session.config, session, "/c", { codec = {} })
    local config = loaded(session)
    raises("bad argument #1 to 'set' %(value expected, got nil", config.set, config, nil)
    raises("bad argument #2 to 'set' %(version or stat expected, got string", config.set, config, {}, "1")
    raises("no stat of a znode", config.set, config, {}, {})
    raises("no version", config.set, config, {}, 0.5)
    raises("no version", config.set, config, {}, 2 ^ 31)
    raises("no stat of a znode", config.set, config, {}, { version = 0.5, czxid = "1" })
    raises("no stat of a znode", config.set, config, {}, { version = 1, czxid = "no number" })
    raises("bad argument #3 to 'set'", config.set, config, {}, nil, 5)
    raises("bad argument #1 to 'update' %(function expected", config.update, config, 5)
    raises("bad argument #2 to 'update'", config.update, config, print, 5)
    raises("bad argument #1 to 'await'", config.await, config, 5)
    raises("seconds", config.ready, config, -1)
    session:close()
  end))
end)
