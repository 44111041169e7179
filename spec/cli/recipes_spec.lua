-- zkr barrier, latch, group, register, config, id: the program itself, on a real server.

local cjson = require "cjson"
local env = require "spec.support.env"
local process = require "spec.support.process"
local zkr = require "spec.support.zkr"

local _ = zkr.supported and describe("zkr", function()
  local namespace, session, dir, programs

  local function run(...) return zkr.run({ ... }, { namespace = namespace }) end

  local function well(...)
    local out, status, err = run(...)
    assert.are.same({ 0, "" }, { status, err })
    return out
  end

  local function start(...)
    local program = zkr.start({ ... }, { namespace = namespace })
    programs[#programs + 1] = program
    return program
  end

  before_each(function()
    namespace, dir, programs = env.namespace(), process.output "mktemp -d", {}
    session = env.session { namespace = namespace }
    assert(session:connected(200))
  end)

  after_each(function()
    for _, program in ipairs(programs) do program:kill() end
    session:close()
    process.output("rm -rf " .. dir)
  end)

  it("barrier waits until it is open", function()
    well("barrier", "wait", "/b")
    well("barrier", "close", "/b")
    assert.are.same({ "", 124, "zkr: /b: it is closed\n" }, { run("barrier", "wait", "--try", "/b") })
    local started = start("barrier", "wait", "/b")
    well("barrier", "open", "/b")
    assert.are.equal(0, (started:finish()))
  end)

  it("latch opens when N have counted down", function()
    assert.are.equal("1\n", well("latch", "down", "/l", "2"))
    assert.are.equal("1\n", well("latch", "count", "/l", "2"))
    assert.are.same({ "", 124, "zkr: /l: not all have counted down\n" }, { run("latch", "wait", "/l", "2", "--try") })
    local started = start("latch", "wait", "/l", "2")
    assert.are.equal("0\n", well("latch", "down", "/l", "2"))
    assert.are.equal(0, (started:finish()))
  end)

  it("group joins, lists and watches members", function()
    assert.are.same({ "", 1, "" }, { run("group", "list", "/g") })
    local watch = start("group", "watch", "/g", "--json")
    local member = start("group", "join", "/g", "here", "--id", "red")
    assert.are.equal("red", member:line())
    assert.are.same({ event = "joined", id = "red", data = "here" }, cjson.decode(watch:line()))
    assert.are.equal("red\there\n", well("group", "list", "/g"))
    member:signal "TERM"
    assert.are.equal(143, (member:finish()))
    assert.are.equal("left", cjson.decode(watch:line()).event)
    watch:signal "INT"
    assert.are.equal(130, (watch:finish()))
  end)

  it("group prints data that are not UTF-8 in base64", function()
    local member = assert(session:group("/g"):join("\255", { id = "red" }))
    assert(member:ready(100))
    assert.are.equal('{"id":"red","data_base64":"/w=="}\n', well("group", "list", "/g", "--json"))
    member:leave()
  end)

  it("group cleans what others have written, so that it cannot forge a line or change the terminal", function()
    local watch = start("group", "watch", "/g")
    local group = session:group("/g")
    local members = { assert(group:join("\27[31mred\nadmin\tdata\xc2\x9b", { id = "one\nroot\tforged" })) }
    assert(members[1]:ready(100))
    assert.are.equal("joined\tone?root?forged\t?[31mred?admin?data?", watch:line())
    members[2] = assert(group:join("\255\n", { id = "\255two" }))
    assert(members[2]:ready(100))
    assert.are.equal("joined\t?two\t2 bytes", watch:line())
    assert.are.equal("one?root?forged\t?[31mred?admin?data?\n?two\t2 bytes\n", well("group", "list", "/g"))
    local first = cjson.decode(well("group", "list", "/g", "--json"):match "[^\n]+")
    assert.are.same({ id = "one\nroot\tforged", data = "\27[31mred\nadmin\tdata\xc2\x9b" }, first)
    for _, member in ipairs(members) do member:leave() end
  end)

  it("group join runs a command as a member, and ends with its status", function()
    local started = start("group", "join", "/g", "data", "--", "sh", "-c",
      ("until [ -e %s/go ]; do sleep 0.1; done; exit 7"):format(dir))
    local group = assert(session:group("/g"))
    assert.are.equal("data", assert(group:await(1, 100))[1].data)
    process.output("touch " .. dir .. "/go")
    assert.are.equal(7, (started:finish()))
    env.eventually("it has left", function() return #(session:children("/g") or {}) == 0 end)
  end)

  it("register shows the instance while the command runs; takes it back before it passes SIGTERM on", function()
    local registry = assert(session:registry("/services"))
    local command = ([[trap 'until [ -e %s/gone ]; do sleep 0.1; done; exit 9' TERM; touch %s/up
      while :; do sleep 0.1; done]]):format(dir, dir)
    local started = start("register", "web", "10.0.0.7", "8080", "--weight", "2", "--meta", '{"zone":"a"}', "--", "sh", "-c", command)
    assert(registry:await("web", 1, 100))
    local instance = registry:pick("web")
    assert.are.same({ "10.0.0.7", 8080, 2, { zone = "a" } }, { instance.address, instance.port, instance.weight, instance.meta })
    env.eventually("the command is ready", function() return process.exists(dir .. "/up") end)
    started:signal "TERM"
    env.eventually("the instance has left", function() return #(session:children("/services/web") or {}) == 0 end)
    process.output("touch " .. dir .. "/gone")
    assert.are.equal(9, (started:finish()))
    assert.are.equal(2, select(2, run("register", "web", "h", "1", "--meta", "{", "--", "true")))
  end)

  it("register keeps the JSON of --meta as it is, and refuses what is none", function()
    local meta = '{"tags":[], "n":12345678901234567,"o":{},"s":"\\n\\"x"}'
    local started = start("register", "web", "10.0.0.7", "8080", "--id", "one", "--meta", meta, "--", "sleep", "600")
    local data
    env.eventually("the instance", function()
      data = session:get "/services/web/one"
      return data
    end)
    assert.is_truthy(data:find('"payload":' .. meta .. ",", 1, true), data)
    started:signal "TERM"
    assert.are.equal(143, (started:finish()))
    for _, bad in ipairs { "{", "1 2", '"a\nb"', '"\255"' } do
      local out, status, err = run("register", "web", "h", "1", "--meta", bad, "--", "true")
      assert.are.same({ "", 2 }, { out, status }, bad)
      assert.matches("^zkr: %-%-meta is no JSON: [^\n]+\n$", err)
    end
    assert.are.same({}, session:children "/services/web" or {})
  end)

  it("register that is killed takes its command and its instance with it", function()
    local registry = assert(session:registry("/services"))
    local started = start("register", "web", "10.0.0.7", "8080", "--", "sh", "-c", ("echo $$ >%s/pid; exec sleep 1000"):format(dir))
    assert(registry:await("web", 1, 100))
    env.eventually("the command", function() return process.holds("[ -s " .. dir .. "/pid ]") end)
    local pid = process.output("cat " .. dir .. "/pid")
    started:signal "KILL"
    env.eventually("the instance is gone", function() return #(session:children("/services/web") or {}) == 0 end)
    env.eventually("the command is gone", function() return not process.runs(pid) end)
    started:finish()
  end)

  it("config reads and writes a value", function()
    assert.are.same({ "", 1, "zkr: /a/conf: there is no value\n" }, { run("config", "get", "/a/conf") })
    well("config", "set", "/a/conf", "one")
    assert.are.equal("one", well("config", "get", "/a/conf"))
    local _, status = zkr.run({ "config", "set", "/a/conf", "-" }, { namespace = namespace, input = "\255two\n" })
    assert.are.same({ 0, "\255two\n" }, { status, well("config", "get", "/a/conf") })
    assert.are.equal(1, select(2, run("config", "set", "--version", "0", "/a/conf", "three")))
    assert.are.equal("\255two\n", (session:get("/a/conf")))
  end)

  it("config watch prints each value, or runs a command with it", function()
    local plain = start("config", "watch", "/conf")
    assert.are.equal("", plain:line())
    local commanded = start("config", "watch", "/conf", "--", "sh", "-c", 'echo "$(cat),$ZKR_VERSION"; exit 1')
    assert.are.equal(",-1", commanded:line())
    assert(session:create("/conf", "one"))
    assert.are.same({ "one", "one,0" }, { plain:line(), commanded:line() })
    assert(session:set("/conf", "two"))
    assert.are.same({ "two", "two,1" }, { plain:line(), commanded:line() })
    for _, started in ipairs { plain, commanded } do
      started:signal "TERM"
      assert.are.equal(143, (started:finish()))
    end
  end)

  it("id gives each number once, and names", function()
    local seen = {}
    for _, out in ipairs { well("id", "next", "/ids"), well("id", "next", "/ids", "-n", "3"), well("id", "next", "/ids") } do
      for line in out:gmatch "[^\n]+" do seen[#seen + 1] = tonumber(line) end
    end
    assert.are.same({ 1, 2, 3, 4, 5 }, seen)
    assert.matches("^job%-%d%d%d%d%d%d%d%d%d%d\n$", well("id", "next", "/names", "--name", "job-"))
    for _, n in ipairs { "0", "1000000001" } do
      assert.are.same({ "", 2, "zkr: -n: from 1 to 1000000000\n" }, { run("id", "next", "/ids", "-n", n) })
    end
  end)
end)
