-- What all commands of zkr have in common: options, environment, configuration, credentials, messages, exit statuses, pipes, signals.

local env = require "spec.support.env"
local testing = require "zkrecipes.testing"
local process = require "spec.support.process"
local zkr = require "spec.support.zkr"

local UNREACHABLE = "127.0.0.1:1"

local _ = zkr.supported and describe("zkr", function()
  local folder

  before_each(function()
    folder = os.tmpname()
    os.remove(folder)
    os.execute("mkdir " .. folder)
  end)

  after_each(function()
    os.execute("rm -r " .. folder)
    zkr.finish_all()
  end)

  local function write(name, text, mode)
    local path = folder .. "/" .. name
    local file = assert(io.open(path, "w"))
    file:write(text)
    file:close()
    os.execute(("chmod %s %s"):format(mode or "644", path))
    return path
  end

  -- The command has printed one line on standard error, nothing else, and has exited with the status.
  local function check(status, pattern, out, got, err)
    assert.are.equal("", out)
    assert.matches("^zkr: [^\n]+\n$", err)
    assert.matches(pattern, err)
    assert.are.equal(status, got)
  end

  local function fails(status, pattern, words, options) check(status, pattern, zkr.run(words, options)) end

  local function lists_root(words, options)
    local out, status, err = zkr.run(words, options)
    assert.are.same({ "", 0 }, { err, status })
    assert.matches("zookeeper\n", out)
  end

  it("explains itself", function()
    for _, words in ipairs { { "--help" }, { "ls", "--help" }, { "--version" } } do
      local out, status, err = zkr.run(words, { hosts = UNREACHABLE })
      assert.are.same({ 0, "" }, { status, err })
      assert.matches(words[1] == "--version" and "^zkr " or "^Usage: zkr ", out)
    end
  end)

  it("has a help with examples for each command, which fits a screen", function()
    for _, name in ipairs(require "zkrecipes.cli.list") do
      local out, status = zkr.run { name, "--help" }
      assert.are.equal(0, status)
      assert.matches("\nExamples:\n   zkr " .. name, out)
      assert.is_true(select(2, out:gsub("\n", "")) <= 24, name)
      for line in out:gmatch "[^\n]+" do assert.is_true(utf8.len(line) <= 100, line) end
    end
  end)

  it("refuses a wrong command line", function()
    fails(2, "a command is required; see `zkr %-%-help`", {})
    fails(2, "unknown command 'lss'", { "lss" })
    fails(2, "unknown option '%-%-foo'; see `zkr ls %-%-help`", { "ls", "--foo" })
    fails(2, "missing argument 'path'", { "get" })
    for _, words in ipairs { { "get", "x" }, { "lock", "x", "true" }, { "elect", "x", "true" }, { "cron", "x", "* * * * *", "true" } } do
      fails(2, "a path begins with '/', got 'x'", words, { hosts = UNREACHABLE })
    end
    fails(2, "path must not end with '/', got '/x/'", { "get", "/x/" })
    for _, members in ipairs { "0", "10", "1000000" } do fails(2, "%-%-members: from 1 to 9", { "server", "--members", members }) end
    fails(2, "the timeout is 'soon'", { "--timeout", "soon", "ls" })
  end)

  it("says in time that no server answers", function()
    local out, got, err
    zkr.eventually(function() -- on a busy machine the second may pass before it has tried
      local begun = os.time()
      out, got, err = zkr.run({ "--timeout", "1", "ls" }, { hosts = UNREACHABLE })
      assert.is_true(os.time() - begun < 60)
      return err:find("Connection refused", 1, true)
    end)
    check(125, "127.0.0.1:1: no server answered within 1 s %(.*Connection refused.*%); check %-s, or try `zkr doctor`", out, got, err)
  end)

  it("gives up in time when a server stops answering", function()
    local server = zkr.keep(assert(testing.start()))
    assert(server:pause())
    fails(125, "no server answered within 1 s", { "--timeout", "1", "ls" }, { hosts = server.hosts })
  end)

  it("takes options, then the environment, then the file", function()
    local hosts = env.server().hosts
    write("zkr", "# a comment\n\nhosts = " .. hosts .. "\n timeout=60 \n")
    local file = { XDG_CONFIG_HOME = folder, ZKR_HOSTS = "", ZKR_TIMEOUT = "" }
    lists_root({ "ls" }, { env = { XDG_CONFIG_HOME = folder }, hosts = hosts })
    fails(125, "127.0.0.1:2181: no server", { "--timeout", "0.1", "ls" }, { env = { ZKR_HOSTS = "", XDG_CONFIG_HOME = "/none" } })
    lists_root({ "ls" }, { env = file })
    fails(125, UNREACHABLE, { "--timeout", "0.1", "ls" }, { env = { XDG_CONFIG_HOME = folder, ZKR_HOSTS = UNREACHABLE } })
    lists_root({ "-s", hosts, "ls" }, { env = { XDG_CONFIG_HOME = folder, ZKR_HOSTS = UNREACHABLE } })
    os.execute(("mkdir %s/.config && cp %s/zkr %s/.config"):format(folder, folder, folder))
    lists_root({ "ls" }, { env = { HOME = folder, ZKR_HOSTS = "" } })
    write("zkr", "hosts = a\nuser = me\n")
    fails(2, "zkr:2: not a setting; write `key = value`", { "ls" }, { env = file })
  end)

  it("puts the namespace in front of paths", function()
    local namespace = env.namespace()
    assert.are.equal("/x\n", (zkr.run { "--namespace", namespace, "create", "/x" }))
    assert.are.equal("x\n", (zkr.run { "ls", namespace }))
    assert.are.equal("x\n", (zkr.run({ "ls" }, { env = { ZKR_NAMESPACE = namespace } })))
  end)

  it("takes credentials from a file that only the user may read, or from the environment", function()
    local namespace = env.namespace()
    local file = write("auth", "# mine\ndigest ann:secret word\n", "600")
    local ann = { namespace = namespace, env = { ZKR_AUTH_FILE = file } }
    assert.are.equal("/mine\n", (zkr.run({ "create", "--acl", "creator", "/mine", "x" }, ann)))
    assert.are.equal("x", (zkr.run({ "get", "/mine" }, ann)))
    assert.are.equal("x", (zkr.run({ "get", "/mine" }, { namespace = namespace, env = { ZKR_AUTH = "digest ann:secret word" } })))
    fails(125, "/mine: the znode's ACL does not allow it; give credentials with ZKR_AUTH_FILE", { "get", "/mine" },
      { namespace = namespace })
    os.execute("chmod 640 " .. file)
    fails(2, "auth: other users may read the credentials; chmod 600 /", { "get", "/mine" }, ann)
    fails(2, "/none: the credentials cannot be read", { "ls" }, { env = { ZKR_AUTH_FILE = "/none" } })
    fails(2, "auth:1: not a credential; write `digest USER:PASSWORD`", { "ls" },
      { env = { ZKR_AUTH_FILE = write("auth", "digest\n", "600") } })
    fails(2, "ZKR_AUTH: not a credential", { "ls" }, { env = { ZKR_AUTH = "secret" } })
  end)

  it("ends silently when its reader has gone", function()
    local namespace = env.namespace()
    local session = env.session { namespace = namespace }
    assert(session:create("/big", ("x"):rep(900000)))
    local command = zkr.command_of({ "get", "/big" }, { namespace = namespace })
    local pipe = assert(io.popen(("{ %s; echo $? >%s/status; } 2>&1 | head -c 1; cat %s/status"):format(command, folder, folder)))
    assert.are.equal("x141\n", pipe:read "a")
    pipe:close()
    session:close()
  end)

  -- What a line of bash prints, in which `zkr` is the program.
  local function shows(line, namespace) return zkr.shell { namespace = namespace } (line) end

  -- Each command that prints something and ends, or prints something first.
  local PRINTING = { "--help", "--version", "queue --help", "queue put --help", "ls", "ls --json", "get /x", "stat /x", "acl /x", "tree",
    "export /x", "create /new", "config get /x", "id next /ids", "latch down /down 2", "top --once", "top", "doctor", "completion zsh",
    "man", "server", "group join /group", "create -e /ephemeral", "queue take /queue" }

  it("fails if its output cannot be written, and keeps the item of a queue", function()
    local namespace = env.namespace()
    shows("zkr create /x data; zkr queue put /queue item", namespace)
    for _, words in ipairs(PRINTING) do
      assert.are.equal("zkr: standard output: No space left on device\nstatus 125\n", shows(("zkr %s >/dev/full || echo status $?"):format(
        words), namespace), words)
    end
    assert.are.equal("item\n", shows("zkr queue take --try /queue", namespace))
  end)

  for name, number in pairs { INT = 2, TERM = 15, HUP = 1 } do
    it("ends at SIG" .. name .. " at once, silently", function()
      local started = zkr.start({ "create", "-e", "/e" }, { namespace = env.namespace() })
      assert.are.equal("/e", started:line())
      started:signal(name)
      assert.is_nil(started:line())
      assert.are.same({ 128 + number, "" }, { started:finish() })
    end)
  end

  it("ends at a signal while it prints without waiting", function()
    local command = zkr.command_of({ "id", "next", "-n", "999999999", "/ids" }, { namespace = env.namespace() })
    command = command:gsub("^timeout .- env ", "timeout -s TERM -k 60 1 env ")
    assert.are.equal("status 124", process.output(command .. " >/dev/null; echo status $?"))
  end)

  it("ends at Ctrl-C while it waits for its input, or for a server", function()
    for _, words in ipairs { { "set", "/x" }, { "-s", UNREACHABLE, "ls" } } do
      local input = folder .. "/input"
      os.execute("mkfifo " .. input)
      local pipe = assert(io.popen(("sh -c 'exec %s' <>%s 2>&1 & echo $!; wait $!; echo $?"):format(
        (zkr.command_of(words, {}):gsub("'", "'\\''")), input)))
      local pid = pipe:read "l"
      -- SIGTERM is caught as soon as the handlers of zkr are there.
      assert(zkr.eventually(function() return process.holds(("grep -q '^SigCgt:.*4...$' /proc/$(pgrep -P %s)/status"):format(pid)) end))
      os.execute("pkill -INT -P " .. pid)
      assert.are.equal("130", pipe:read "l")
      pipe:close()
      os.remove(input)
    end
  end)

  for library, package in pairs { argparse = "lua-argparse", luv = "lua-luv", cjson = "lua-cjson" } do
    it("says which package has " .. library .. ", if it is missing", function()
      write(library .. ".lua", "error 'not here'")
      local path = folder .. "/?.lua;" .. os.getenv "LUA_PATH"
      local out, status, err = zkr.run({ "get", "--json", "/zookeeper" }, { env = { LUA_PATH = path } })
      assert.are.same({ "", 125 }, { out, status })
      assert.are.equal(("zkr: the Lua library '%s' is missing; apt-get install %s, or luarocks install %s\n"):format(library, package,
        library == "cjson" and "lua-cjson" or library), err)
    end)
  end
end)
