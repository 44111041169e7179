-- zkr export and import: the program itself, on a real server.

local cjson = require "cjson"
local env = require "spec.support.env"
local zkr = require "spec.support.zkr"

local BINARY = ("\0\1\255\r\n\xc3"):rep(1000)

local _ = zkr.supported and describe("zkr export and import", function()
  local namespace, session

  before_each(function()
    namespace = env.namespace()
    session = env.session { namespace = namespace }
    assert(session:connected(200))
    for path, data in pairs { ["/from/a/b"] = BINARY, ["/from/c"] = "text", ["/from/empty"] = "" } do
      assert(session:create(path, data, { parents = true }))
    end
    assert(session:create("/from/null"))
  end)

  after_each(function() session:close() end)

  local function run(words, input) return zkr.run(words, { namespace = namespace, input = input }) end

  local function export(...)
    local out, status = run { "export", ... }
    assert.are.equal(0, status)
    return out
  end

  it("copies a subtree byte for byte", function()
    local exported = export "/from"
    local out, status, err = run({ "import", "/deep/to" }, exported)
    assert.are.same({ "", 0, "zkr: 6 znodes were imported\n" }, { out, status, err })
    assert.are.equal(exported, export "/deep/to")
    assert.are.equal(BINARY, (session:get("/deep/to/a/b")))
    assert.are.equal("", (session:get("/deep/to/empty")))
    assert.is_nil((session:get("/deep/to/null")))
  end)

  it("copies all but ZooKeeper's own znodes from root to root", function()
    local out = zkr.run({ "export", "/" }, { namespace = namespace })
    local other = env.namespace()
    assert.are.equal(0, select(2, zkr.run({ "import", "/" }, { namespace = other, input = out })))
    assert.are.equal("text", (zkr.run({ "get", "/from/c" }, { namespace = other })))
    for line in zkr.run { "export", "/" }:gmatch "[^\n]+" do
      assert.is_nil(cjson.decode(line).path:match "^/zookeeper")
    end
  end)

  it("refuses data that are not base64, and writes nothing", function()
    local out, status, err = run({ "import", "/to" }, '{"path":"/","data":""}\n{"path":"/a","data_base64":"!!"}\n')
    assert.are.same({ "", 2, "zkr: line 2 of the input: not a line of `zkr export`\n" }, { out, status, err })
    assert.is_false((session:exists("/to")))
  end)

  it("leaves ephemeral znodes out, and says so", function()
    assert(session:create("/from/e", nil, { ephemeral = true }))
    local out, status, err = run { "export", "/from" }
    assert.are.same({ 0, "zkr: 1 ephemeral znodes were not exported\n" }, { status, err })
    assert.is_nil(out:find("/e\"", 1, true))
  end)

  it("writes nothing if a znode exists, unless it is told to overwrite", function()
    local exported = export "/from"
    assert(session:create("/to/c", "mine", { parents = true }))
    local out, status, err = run({ "import", "/to" }, exported)
    assert.are.same({ "", 1 }, { out, status })
    assert.are.equal("zkr: nothing was imported, because 2 znodes exist: /to, /to/c; --overwrite overwrites them\n", err)
    assert.are.same({ "c" }, (session:children("/to")))
    assert.are.equal(0, select(2, run({ "import", "--overwrite", "/to" }, exported)))
    assert.are.equal(exported, export "/to")
  end)

  it("copies ACLs if it is told to", function()
    local acl = { { perms = "rd", scheme = "world", id = "anyone" } }
    assert(session:set_acl("/from/c", acl))
    assert.are.equal(0, select(2, run({ "import", "/to" }, export("--acl", "/from"))))
    assert.are.same(acl, (session:get_acl("/to/c")))
    assert.are.equal(0, select(2, run({ "import", "/plain" }, export "/from")))
    assert.are.equal("rwcda", session:get_acl("/plain/c")[1].perms)
  end)

  it("leaves out a znode that is deleted meanwhile", function()
    local proxy = env.proxy()
    proxy:hold("getACL", 1) -- of /from, which is printed first
    local pipe = assert(io.popen(zkr.command_of({ "export", "--acl", "/from" }, { namespace = namespace, hosts = proxy.hosts })))
    assert(proxy:wait_for("fired"))
    assert(session:delete_tree("/from"))
    proxy:release()
    assert.are.equal("", pipe:read "a")
    assert.is_true(pipe:close())
  end)

  it("refuses what only the servers can check, and a path that is there twice, before it writes anything", function()
    local good = '{"path":"/"}\n{"path":"/a","data":"x"}\n'
    for bad, message in pairs {
      ['{"path":"/b","acl":["digest:ann:secret:all"]}'] = "option 'id': 'user:hash' expected",
      ['{"path":"/b","acl":["creator"]}'] = "the servers refuse its ACL",
      ['{"path":"/b","acl":["nosuch:x:all"]}'] = "the servers refuse its ACL",
      ['{"path":"/b","acl":[]}'] = "acl",
      ['{"path":"/b","acl":["\\u001b\\nx"]}'] = "'??x' is no ACL entry",
      ['{"path":"/a"}'] = "/a is in line 2 already", ['{"path":"/"}'] = "/ is in line 1 already",
      ['{"path":"/b","data":"' .. ("x"):rep(1000001) .. '"}'] = "its data are too large for a request",
    } do
      local out, status, err = run({ "import", "/to" }, good .. bad .. "\n")
      assert.are.same({ "", 2 }, { out, status }, bad:sub(1, 99))
      assert.matches("^zkr: line 3 of the input: [^\n]+\n$", err)
      assert.is_truthy(err:find(message, 1, true), err)
      assert.is_false(session:exists("/to"), bad:sub(1, 99))
    end
    for _, bad in ipairs { '{"path":"/b//c"}', '{"path":"/b/"}', '{"path":"/../b"}' } do
      assert.are.equal(2, select(2, run({ "import", "/to" }, good .. bad .. "\n")), bad)
      assert.is_false(session:exists("/to"), bad)
    end
  end)

  it("imports an ACL that the servers have checked, also into the root and over what exists", function()
    local line = '{"path":"/","acl":["world:anyone:read,write,create,admin"]}\n'
    assert.are.equal(0, select(2, run({ "import", "/deep/to" }, line)))
    assert.are.equal("rwca", session:get_acl("/deep/to")[1].perms)
    assert.are.equal(0, select(2, run({ "import", "--overwrite", "/deep/to" }, (line:gsub("create", "create,delete")))))
    assert.are.equal("rwcda", session:get_acl("/deep/to")[1].perms)
    assert.are.equal(0, select(2, run({ "import", "/" }, line)))
    assert.are.equal("rwca", session:get_acl("/")[1].perms)
    assert.is_false(session:exists("/zkr-import"))
  end)

  it("refuses other input, and then writes nothing", function()
    local good = '{"path":"/"}\n'
    for _, bad in ipairs { "nonsense", "[]", '{"path":7}', '{"path":"x"}', '{"path":"/x","acl":["y"]}', '{"path":"/x","data":7}' } do
      local out, status, err = run({ "import", "/to" }, good .. bad .. "\n")
      assert.are.same({ "", 2 }, { out, status }, bad)
      assert.matches("^zkr: line 2 of the input: [^\n]+\n$", err)
    end
    assert.is_false(session:exists("/to"))
  end)
end)
