-- zkr ls, get, set, create, rm, tree, stat, acl: the program itself, on a real server.

local cjson = require "cjson"
local env = require "spec.support.env"
local zk = require "zkrecipes"
local zkr = require "spec.support.zkr"

local BINARY = ("\0\1\255\r\n\xc3"):rep(50000)

local _ = zkr.supported and describe("zkr", function()
  local namespace, session

  local function run(...) return zkr.run({ ... }, { namespace = namespace }) end

  -- The output of a command that succeeds.
  local function well(...)
    local out, status, err = run(...)
    assert.are.equal("", err)
    assert.are.equal(0, status)
    return out
  end

  -- The command prints one line on standard error, nothing else, and exits with the status.
  local function fails(status, pattern, ...)
    local out, got, err = run(...)
    assert.are.equal("", out)
    assert.matches("^zkr: [^\n]+\n$", err)
    assert.matches(pattern, err)
    assert.are.equal(status, got)
  end

  before_each(function()
    namespace = env.namespace()
    session = env.session { namespace = namespace }
    assert(session:connected(200))
  end)

  after_each(function() session:close() end)

  -- A failure does not print the data.
  local function is_binary(data) assert.is_true(data == BINARY, #(data or "") .. " bytes") end

  it("creates a znode and prints its path", function()
    assert.are.equal("/a/b\n", well("create", "-p", "/a/b", "hello"))
    assert.are.equal("hello", (session:get("/a/b")))
    assert.are.equal("/a/s-0000000001\n", well("create", "-s", "/a/s-"))
    assert.is_nil((session:get("/a/s-0000000001")))
    well("create", "-c", "/a/container")
    well("create", "--ttl", "1000", "/a/ttl")
    well("create", "--acl", "world:anyone:read,delete", "/a/acl")
    assert.are.same({ { perms = "rd", scheme = "world", id = "anyone" } }, (session:get_acl("/a/acl")))
    fails(1, "/a/b: the znode exists already", "create", "/a/b")
    fails(1, "/x/y: the parent does not exist; %-p", "create", "/x/y")
    fails(2, "no ACL entry", "create", "--acl", "nonsense", "/a/x")
  end)

  it("holds an ephemeral znode until it is ended", function()
    local started = zkr.start({ "create", "-e", "/e" }, { namespace = namespace })
    assert.are.equal("/e", started:line())
    local stat = assert(session:exists("/e"))
    assert.is_string(stat.ephemeral_owner)
    started:signal("INT")
    assert.are.equal(130, (started:finish()))
    assert(zkr.eventually(function() return session:exists("/e") == false end, 30))
  end)

  it("says so when its ephemeral znode is deleted", function()
    local started = zkr.start({ "create", "-e", "/e" }, { namespace = namespace })
    assert.are.equal("/e", started:line())
    assert(session:delete("/e"))
    local status, err = started:finish()
    assert.are.equal(123, status)
    assert.matches("^zkr: /e: the znode was deleted", err)
  end)

  it("reads and writes data byte for byte", function()
    assert(session:create("/d"))
    local out, status = zkr.run({ "set", "/d" }, { namespace = namespace, input = BINARY })
    assert.are.same({ "", 0 }, { out, status })
    is_binary((session:get("/d")))
    is_binary(well("get", "/d"))
    assert.are.equal("/piped\n", zkr.shell { namespace = namespace } "zkr get /d | zkr create /piped -")
    is_binary((session:get("/piped")))
    well("set", "/d", "")
    assert.are.equal("", (session:get("/d")))
    fails(1, "/none: there is no such znode", "get", "/none")
    fails(1, "/none: there is no such znode", "set", "/none", "x")
  end)

  it("writes and deletes only the version that is asked for", function()
    assert(session:create("/v", "0"))
    well("set", "--version", "0", "/v", "1")
    fails(1, "/v: the znode has another version", "set", "--version", "0", "/v", "2")
    fails(1, "/v: the znode has another version", "rm", "--version", "0", "/v")
    assert.are.equal("1", (session:get("/v")))
    well("rm", "--version", "1", "/v")
    assert.is_false(session:exists("/v"))
  end)

  it("lists", function()
    for _, name in ipairs { "b", "a", "c" } do assert(session:create("/" .. name, name:rep(12))) end
    assert(session:create("/a/x", nil, { ephemeral = false }))
    assert.are.equal("a\nb\nc\n", well("ls"))
    assert.are.equal("x\n", well("ls", "/a"))
    assert.are.equal("", well("ls", "/b"))
    assert.matches("^12  1  %d+%-%d%d%-%d%d %d%d:%d%d:%d%d %+0000  %-  a\n12  0 ", well("ls", "-l"))
    local first = cjson.decode(well("ls", "--json", "/"):match "[^\n]+")
    assert.are.same({ "a", "/a", 12, 1 }, { first.name, first.path, first.data_length, first.num_children })
    fails(1, "/none: there is no such znode", "ls", "/none")
  end)

  it("prints JSON, data that are not UTF-8 in base64", function()
    assert(session:create("/t", "gr\u{fc}n / \\ \" \n"))
    assert(session:create("/b", "\0\255"))
    assert(session:create("/n"))
    local text = well("get", "--json", "/t")
    assert.matches('^{"path":"/t","data":"gr\u{fc}n / ', text)
    assert.are.equal("gr\u{fc}n / \\ \" \n", cjson.decode(text).data)
    assert.are.equal("AP8=", cjson.decode(well("get", "--json", "/b")).data_base64)
    local null = cjson.decode(well("get", "--json", "/n"))
    assert.are.same({ nil, nil, 0 }, { null.data, null.data_base64, null.version })
    assert.are.equal(2, cjson.decode(well("stat", "--json", "/b")).data_length)
  end)

  it("deletes one znode, or asks before it deletes a subtree", function()
    assert(session:create("/r/a/b", nil, { parents = true }))
    fails(1, "/r: the znode has children; `zkr rm %-r`", "rm", "/r")
    fails(2, "/r: not deleted, because standard input is no terminal", "rm", "-r", "/r")
    local shown, status = zkr.on_terminal({ "rm", "-r", "/r" }, "n", { namespace = namespace })
    assert.matches("delete /r and 2 znodes below it%? %[y/N%]", shown)
    assert.are.equal(1, status)
    assert(session:exists("/r/a/b"))
    shown, status = zkr.on_terminal({ "rm", "-r", "/r" }, "y", { namespace = namespace })
    assert.are.equal(0, status, shown)
    assert.is_false(session:exists("/r"))
    assert(session:create("/r/a/b", nil, { parents = true }))
    well("rm", "-rf", "/r")
    assert.is_false(session:exists("/r"))
    fails(1, "/r: there is no such znode", "rm", "-rf", "/r")
    fails(2, "/: the root cannot be deleted", "rm", "-rf", "/")
  end)

  it("draws a subtree", function()
    for _, path in ipairs { "/t", "/t/a", "/t/a/1", "/t/a/2", "/t/b", "/t/b/3" } do assert(session:create(path, path)) end
    assert(session:create("/t/e", nil, { ephemeral = true }))
    assert.are.equal([[
/t
├── a
│   ├── 1
│   └── 2
├── b
│   └── 3
└── e  (ephemeral)
]], well("tree", "/t"))
    assert.are.equal("/t  (2 B)\n├── a  (4 B)\n├── b  (4 B)\n└── e  (ephemeral)\n",
      well("tree", "--sizes", "--depth", "1", "/t"))
    local paths = {}
    for line in well("tree", "--json", "/t"):gmatch "[^\n]+" do paths[#paths + 1] = cjson.decode(line).path end
    assert.are.same({ "/t", "/t/a", "/t/a/1", "/t/a/2", "/t/b", "/t/b/3", "/t/e" }, paths)
  end)

  it("walks a directory with more children than it reads at once", function()
    assert(session:create("/many"))
    local parts = {}
    for i = 1, 600 do parts[i] = { "create", ("/many/%03d"):format(i) } end
    assert(session:multi(parts))
    local count, before, sorted = 0, "", true
    for name in well("tree", "/many"):gmatch "── (%d+)" do
      count, sorted, before = count + 1, sorted and before < name, name
    end
    assert.are.same({ 600, true }, { count, sorted })
  end)

  it("shows what it may not read, and continues", function()
    assert(session:create("/s/closed/x", nil, { parents = true }))
    assert(session:create("/s/open"))
    assert(session:set_acl("/s/closed", { { perms = "cda", scheme = "world", id = "anyone" } }))
    assert.are.equal("/s\n├── closed  (the ACL does not allow it)\n└── open\n", well("tree", "/s"))
    fails(125, "/s/closed: the znode's ACL does not allow it", "ls", "/s/closed")
  end)

  it("shows and sets ACLs by names", function()
    assert(session:create("/acl"))
    assert.are.equal("world:anyone:all\n", well("acl", "/acl"))
    well("acl", "/acl", "world:anyone:read,admin", "ip:127.0.0.1:all")
    assert.are.equal("world:anyone:read,admin\nip:127.0.0.1:all\n", well("acl", "/acl"))
    assert.are.same({ path = "/acl", acl = { "world:anyone:read,admin", "ip:127.0.0.1:all" }, aversion = 1 },
      cjson.decode(well("acl", "--json", "/acl")))
    fails(1, "/acl: the znode has another version", "acl", "--version", "0", "/acl", "open")
    well("acl", "/acl", "open")
    assert.are.equal("world:anyone:all\n", well("acl", "/acl"))
    well("acl", "/acl", "read", "ip:127.0.0.1:all")
    assert.are.equal("world:anyone:read\nip:127.0.0.1:all\n", well("acl", "/acl"))
    assert(session:set_acl("/acl", { "open", { scheme = "digest", id = zk.digest("ann\nsasl\27[31m", "secret"), perms = "r" } }))
    assert.matches("^world:anyone:all\ndigest:ann%?sasl%?%[31m:[%w+/]+=:read\n$", well("acl", "/acl"))
    fails(2, "entry 2, option 'id': 'user:hash' expected", "acl", "/acl", "read", "digest:ann:secret:all")
    fails(2, "'world:anyone:fly' is no ACL entry", "acl", "/acl", "world:anyone:fly")
  end)

  it("shows the stat", function()
    assert(session:create("/st", "12345", { ephemeral = true }))
    local shown = well("stat", "/st")
    assert.matches("^kind      ephemeral, of session " .. session.id .. "\ncreated   %d+%-", shown)
    assert.matches("\ndata      5 B, version 0\nchildren  0, version 0\n", shown)
    fails(1, "/none: there is no such znode", "stat", "/none")
  end)
end)
