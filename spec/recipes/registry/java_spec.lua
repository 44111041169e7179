-- Services in Java, with Curator's discovery, and in Lua find each other on one path, in both directions.

local env = require "spec.support.env"
local run = env.run

-- The Java service (spec/support/Discovery.java), below this path.
local function start(path)
  local file = assert(io.open "build/java/classpath")
  local classes = file:read "*a"
  file:close()
  local fifo = os.tmpname()
  os.remove(fifo)
  assert(os.execute("mkfifo " .. fifo))
  local command = ("exec env -u JDK_JAVA_OPTIONS java -cp %s Discovery %s %s >%s"):format(classes, env.server().hosts, path, fifo)
  local input = assert(io.popen(command, "w"))
  input:setvbuf "no"
  local output = assert(io.open(fifo))
  os.remove(fifo)
  assert.are.equal("registered", output:read "*l")
  return { input = input, output = output }
end

-- Returns what it prints.
local function ask(java, line)
  java.input:write(line, "\n")
  local lines = {}
  while true do
    local text = assert(java.output:read "*l")
    if text == "." then return table.concat(lines, "\n") end
    lines[#lines + 1] = text
  end
end

local function stop(java)
  java.input:close() -- waits for its end
  java.output:close()
end

describe("a registry and Curator's discovery", function()
  it("show each other's instances, updates and ends", run(function()
    local namespace = env.namespace()
    local session = env.session { namespace = namespace }
    local registry = assert(session:registry "/s")
    local changes = registry:changes "web"
    local java = start(namespace .. "/s")

    local change = assert(changes:next(200))
    local theirs = change.instance
    assert.are.same({ "added", "web", "java-1", "10.1.0.1", 8080 },
      { change.kind, theirs.name, theirs.id, theirs.address, theirs.port })
    assert.are.same({ 3, true, "DYNAMIC", "north" }, { theirs.weight, theirs.enabled, theirs.type, theirs.meta.zone })
    assert.is_true(math.abs(theirs.registered - os.time()) < 600)
    assert.are.equal("java-1", registry:pick("web").id)

    local mine = assert(registry:register("web", { id = "lua-1", address = "10.0.0.1", port = 80, ssl_port = 443, weight = 2,
      meta = { zone = "south" }, fields = theirs:fields() }))
    local plain = assert(registry:register("web", { id = "lua-2", address = "10.0.0.2", enabled = false }))
    assert(mine:ready(200))
    assert(plain:ready(200))
    assert.are.equal("java-1 10.1.0.1 8080 null {weight=3, zone=north} true\n"
      .. "lua-1 10.0.0.1 80 443 {zone=south} true\nlua-2 10.0.0.2 null null null false", ask(java, "show web"))
    for _ = 1, 2 do assert.are.equal("added", assert(changes:next(200)).kind) end

    ask(java, "update 9090")
    change = assert(changes:next(200))
    assert.are.same({ "changed", 9090, 8080 }, { change.kind, change.instance.port, change.before.port })
    assert(mine:update({ port = 81 }, 200))
    assert(plain:leave(200))
    env.eventually("Java shows it", function()
      return ask(java, "show web") == "java-1 10.1.0.1 9090 null {weight=3, zone=north} true\nlua-1 10.0.0.1 81 443 {zone=south} true"
    end)

    stop(java)
    env.eventually("Java has gone", function() return #registry:instances "web" == 1 end)
    assert.are.equal("lua-1", registry:instances("web")[1].id)
    assert.are.equal(0, #registry:problems())
  end))
end)
