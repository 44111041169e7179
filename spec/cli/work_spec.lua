-- zkr queue: the program itself, on a real server. No item is lost, whatever becomes of a worker.

local env = require "spec.support.env"
local process = require "spec.support.process"
local zkr = require "spec.support.zkr"

local _ = zkr.supported and describe("zkr queue", function()
  local namespace, session, queue, dir, started

  local function options(input) return { namespace = namespace, input = input } end

  local function well(input, ...)
    local out, status, err = zkr.run({ ... }, options(input))
    assert.are.same({ 0, "" }, { status, err })
    return out
  end

  local function start(...)
    started = zkr.start({ "queue", "work", "/q", ... }, { namespace = namespace })
    return started
  end

  local function read(name)
    local file = io.open(dir .. "/" .. name)
    local text = file and file:read "a" or ""
    if file then file:close() end
    return text
  end

  before_each(function()
    namespace, dir = env.namespace(), process.output "mktemp -d"
    session = env.session { namespace = namespace }
    assert(session:connected(200))
    queue = session:queue("/q")
  end)

  after_each(function()
    if started then started:kill() end
    started = nil
    session:close()
    process.output("rm -rf " .. dir)
  end)

  it("puts items: an argument, standard input, lines, with priority and id", function()
    well(nil, "queue", "put", "/q", "one")
    well("\0two\n", "queue", "put", "/q")
    well("three\nfour\n", "queue", "put", "--lines", "/q")
    well(nil, "queue", "put", "--priority", "9", "/q", "last")
    well(nil, "queue", "put", "--id", "x", "/q", "five")
    local _, status, err = zkr.run({ "queue", "put", "--id", "x", "/q", "again" }, options())
    assert.are.same({ 0, "zkr: /q: the id is known, so nothing was put\n" }, { status, err })
    local all = {}
    for item in queue:items() do all[#all + 1] = item.data end
    assert.are.same({ "one", "\0two\n", "three", "four", "five", "last" }, all)
  end)

  it("takes items in order, and tells that there is none", function()
    assert(queue:put_all { "\0\1\n", "two" })
    assert.are.equal("\0\1\n", well(nil, "queue", "take", "/q"))
    assert.are.equal("two", well(nil, "queue", "take", "/q", "--wait", "100"))
    local out, status, err = zkr.run({ "queue", "take", "--try", "/q" }, options())
    assert.are.same({ "", 124, "zkr: /q: no item\n" }, { out, status, err })
  end)

  it("does not lose the item that could not be printed", function()
    assert(queue:put "kept")
    local status = process.output(zkr.command_of({ "queue", "take", "/q" }, options()) .. " >/dev/full 2>/dev/null; echo $?")
    assert.are.equal("125", status)
    assert.are.equal("kept", assert(queue:claim(100)).data)
  end)

  it("works on each item, with its data, and ends when the queue is empty", function()
    assert(queue:put_all { "a\0b", "c\n" })
    assert(queue:put("with an id", { id = "7" }))
    local out = well(nil, "queue", "work", "--drain", "/q", "--", "sh", "-c", 'cat; echo "|$ZKR_PATH,$ZKR_ITEM,$ZKR_ATTEMPT"')
    assert.are.equal("a\0b|/q,,1\nc\n|/q,,1\nwith an id|/q,7,1\n", out)
    assert.are.equal(0, queue:size())
  end)

  it("returns an item whose command fails, and gives it up in the end", function()
    assert(queue:put "bad")
    local out, status, err = zkr.run({ "queue", "work", "--drain", "--attempts", "2", "/q", "--", "sh", "-c", "echo run; exit 3" },
      options())
    assert.are.same({ "run\nrun\n", 1 }, { out, status })
    assert.matches("/q: attempt 2 of an item ended with status 3", err)
    assert.are.equal(1, queue:dead_size())
  end)

  it("works on N at once, and not on more", function()
    for i = 1, 7 do assert(queue:put("item " .. i)) end
    process.output("mkdir " .. dir .. "/now")
    local command = ("mktemp %s/now/XXXXXX >/dev/null; until [ -e %s/go ]; do sleep 0.1; done"):format(dir, dir)
    start("--drain", "-j", "3", "--", "sh", "-c", command)
    env.eventually("three at once", function() return process.output("ls " .. dir .. "/now | wc -l") == "3" end)
    assert.are.equal(7, queue:size()) -- claimed items are in the queue
    assert.are.equal(3, #assert(session:children("/q/claims")))
    process.output("touch " .. dir .. "/go")
    assert.are.equal(0, (started:finish()))
    assert.are.equal(0, queue:size())
  end)

  it("finishes what runs at SIGTERM, and claims no more", function()
    assert(queue:put_all { "first", "second" })
    local command = ("cat >%s/seen; until [ -e %s/go ]; do sleep 0.1; done; echo done"):format(dir, dir)
    start("-j", "1", "--", "sh", "-c", command)
    env.eventually("the first item", function() return read "seen" == "first" end)
    started:signal "TERM"
    process.output("touch " .. dir .. "/go")
    assert.are.equal("done", started:line())
    assert.is_nil(started:line())
    assert.are.equal(0, (started:finish()))
    assert.are.equal("second", assert(queue:claim(100)).data)
  end)

  it("ends at once at SIGTERM while it waits for items, and leaves nothing", function()
    assert(queue:put "item")
    start("-j", "2", "--", "true")
    env.eventually("it waits", function() return queue:size() == 0 and #session:children("/q/consumers") > 0 end)
    started:signal "TERM"
    assert.are.equal(0, (started:finish()))
    env.eventually("nothing is left", function() return #session:children("/q/consumers") == 0 end)
  end)

  it("passes a second signal to the command, whose item comes back", function()
    assert(queue:put "item")
    start("--", "sh", "-c", ("cat >%s/seen; exec sleep 1000"):format(dir))
    env.eventually("the item", function() return read "seen" == "item" end)
    local item
    repeat -- two signals that are sent at once may become one
      started:signal "TERM"
      item = queue:claim(2)
    until item
    assert.are.same({ "item", 2 }, { item.data, item.attempts })
    assert.are.equal(0, (started:finish()))
  end)

  it("that is killed gives the item back, and its command ends", function()
    assert(queue:put "item")
    start("--", "sh", "-c", ("echo $$ >%s/pid; cat >%s/seen; exec sleep 1000"):format(dir, dir))
    env.eventually("the item", function() return read "seen" == "item" end)
    local pid = read("pid"):match "%d+"
    assert.is_true(process.runs(pid))
    started:signal "KILL"
    local item = assert(queue:claim(300))
    assert.are.same({ "item", 2 }, { item.data, item.attempts })
    env.eventually("the end of the command", function() return not process.runs(pid) end)
    started:finish()
  end)

  -- Two commands, each of which says its process id and that of its minder, and then waits for a file.
  local function start_two()
    assert(queue:put_all { "one", "two" })
    start("-j", "2", "--drain", "--", "sh", "-c",
      ("read -r item; echo $$ $PPID >%s/$item.$ZKR_ATTEMPT; until [ -e %s/go ]; do sleep 0.1; done"):format(dir, dir))
    for _, name in ipairs { "one.1", "two.1" } do env.eventually(name, function() return read(name):find "\n" end) end
  end

  it("whose minder is killed gives that item back, and leaves the others alone", function()
    start_two()
    local one, minder = read "one.1":match "(%d+) (%d+)"
    local two = read "two.1":match "%d+"
    os.execute("kill -KILL " .. minder)
    env.eventually("the item comes again", function() return read "one.2":find "\n" end)
    assert.are.same({ false, true }, { process.runs(one), process.runs(two) })
    process.output("touch " .. dir .. "/go")
    assert.are.equal(1, (started:finish()))
    assert.is_false(process.exists(dir .. "/two.2"))
    assert.are.equal(0, queue:size())
  end)

  it("that is killed gives all its items back, and all its commands end", function()
    start_two()
    started:signal "KILL"
    for _ = 1, 2 do assert.are.equal(2, assert(queue:claim(300)).attempts) end
    for _, name in ipairs { "one.1", "two.1" } do
      local pid = read(name):match "%d+"
      env.eventually("the end of the command", function() return not process.runs(pid) end)
    end
    started:finish()
  end)

  it("kills its command when the session is lost, and goes on with a new one", function()
    assert(queue:put "item")
    start("--", "sh", "-c",
      ("echo $$ >>%s/pids; cat; [ -e %s/second ] || { touch %s/second; exec sleep 1000; }"):format(dir, dir, dir))
    env.eventually("the command", function() return process.exists(dir .. "/second") end)
    local claims = assert(session:children("/q/claims"))
    local _, stat = assert(session:get("/q/claims/" .. claims[1]))
    require("zkrecipes.testing").expire(env.server(), stat.ephemeral_owner)
    env.eventually("the item is done", function() return queue:size() == 0 end)
    local first = read("pids"):match "%d+"
    env.eventually("the end of the first command", function() return not process.runs(first) end)
    started:signal "TERM"
    assert.are.equal(0, (started:finish()))
  end)
end)
