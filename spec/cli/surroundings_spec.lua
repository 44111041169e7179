-- zkr in bad surroundings: a home, descriptors, a terminal, arguments or a system that are not as usual. It does its work, or says in one
-- line what is wrong, with the status that docs/zkr.md names for it. It shows no stack, and does not hang.

local env = require "spec.support.env"
local process = require "spec.support.process"
local zkr = require "spec.support.zkr"

local OK, NO, USAGE, FAILED, NOT_FOUND = 0, 1, 2, 125, 127

local SUPERUSER = process.output "id -u" == "0"

-- The superuser may read every file, unless it gives that up.
local PLAIN = SUPERUSER and { "setpriv", "--inh-caps=-all", "--bounding-set=-dac_override,-dac_read_search" } or {}

local WITHOUT_PROC = { "unshare", SUPERUSER and "--mount" or "-rm", "sh", "-c", 'mount -t tmpfs none /proc && exec "$@"', "sh" }

local _ = zkr.supported and describe("zkr", function()
  local folder, namespace

  before_each(function()
    folder, namespace = zkr.folder(), env.namespace()
    assert.are.equal("/x\n", (zkr.run({ "create", "/x", "data" }, { namespace = namespace })))
  end)

  after_each(function()
    os.execute("chmod -R u+rwX " .. folder.path)
    folder.remove()
    zkr.finish_all()
  end)

  -- Runs it: status, output, standard error. more: env, before (see support/zkr.lua), and redirect, for the shell.
  local function outcome(words, more)
    local options = { namespace = namespace, env = more.env, before = more.before }
    local out, err = folder.path .. "/out", folder.path .. "/err"
    local _, how, code = os.execute(("%s </dev/null >%s 2>%s %s"):format(zkr.command_of(words, options), out, err, more.redirect or ""))
    return how == "signal" and 128 + code or code, process.output("cat " .. out), process.output("cat " .. err)
  end

  -- says: a pattern for the message; nil: there must be none.
  local function ends(status, says, words, more)
    local name = table.concat(words, " ")
    local got, out, err = outcome(words, more or {})
    assert.are.equal(status, got, ("%s: %s%s"):format(name, out, err))
    assert.matches(says and "^zkr: [^\n]+$" or "^$", err, nil, name)
    if says then assert.matches(says, err, nil, name) end
    return out
  end

  local function all(rows)
    for _, row in ipairs(rows) do ends(table.unpack(row, 1, 4)) end
  end

  it("needs no home", function()
    all {
      { OK, nil, { "get", "/x" }, { before = { "env", "-u", "HOME", "-u", "XDG_CONFIG_HOME" } } },
      { OK, nil, { "get", "/x" }, { env = { HOME = "" } } },
      { OK, nil, { "get", "/x" }, { env = { HOME = "/none" } } },
      { OK, nil, { "get", "/x" }, { env = { HOME = folder.write("file", "") } } },
    }
  end)

  it("reads the configuration, or says why it cannot", function()
    local function with(text)
      folder.write("zkr", text)
      return { env = { XDG_CONFIG_HOME = folder.path, ZKR_HOSTS = "", ZKR_TIMEOUT = "" } }
    end
    local unread = "the configuration cannot be read %(%s%); repair that, or set XDG_CONFIG_HOME to another folder"
    local words = { "get", "/x" }
    ends(USAGE, "zkr:1: not a setting; write `key = value`", words, with "\0\255\n\27[2J")
    ends(USAGE, "zkr:2: not a setting; write `key = value`", words, with "hosts = 127.0.0.1:1\n= 3\n")
    ends(USAGE, "hosts", words, with "hosts = :::\n")
    ends(USAGE, "hosts", words, with "hosts = a\0b\n")
    ends(USAGE, "the timeout is 'soon'", words, with "timeout = soon\n")
    -- A password has no place in it, whoever may read it.
    local _, _, err = outcome(words, with "sasl_password = sesame\n")
    assert.matches("zkr:1: not a setting; .*sasl_password_file", err)
    assert.is_nil(err:find "sesame")

    local more = with ""
    more.before = PLAIN
    os.execute(("chmod 000 %s/zkr"):format(folder.path))
    ends(USAGE, unread:gsub("%%s", "Permission denied"), words, more)
    os.execute(("rm %s/zkr; mkdir %s/zkr"):format(folder.path, folder.path))
    ends(USAGE, unread:gsub("%%s", "Is a directory"), words, more)
    os.execute(("rmdir %s/zkr; ln -s zkr %s/zkr"):format(folder.path, folder.path))
    ends(USAGE, unread:gsub("%%s", "Too many levels of symbolic links"), words, more)
    os.execute(("mkdir -m 000 %s/home"):format(folder.path))
    ends(USAGE, unread:gsub("%%s", "Permission denied"), words, { before = PLAIN, env = { HOME = folder.path .. "/home" } })
  end)

  it("refuses a folder in place of a file with credentials", function()
    os.execute(("mkdir -m 700 %s/secret"):format(folder.path))
    local path = folder.path .. "/secret"
    ends(USAGE, "/secret: the credentials cannot be read %(Is a directory%)", { "ls" }, { env = { ZKR_AUTH_FILE = path } })
    ends(USAGE, "/secret: the password cannot be read %(Is a directory%)", { "ls" },
      { env = { ZKR_SASL = "DIGEST-MD5", ZKR_SASL_USER = "ann", ZKR_SASL_PASSWORD_FILE = path } })
    ends(OK, nil, { "get", "/x" }, { env = { ZKR_AUTH = "" } })
  end)

  it("says that it cannot read its input, or write its output", function()
    local closed, directory = { redirect = "<&-" }, { redirect = "</" }
    for _, words in ipairs { { "set", "/x" }, { "create", "/y", "-" }, { "import", "/y" }, { "queue", "put", "/q" },
      { "queue", "put", "--lines", "/q" }, { "config", "set", "/c", "-" } } do
      ends(FAILED, "standard input: EBADF", words, closed)
      ends(FAILED, "standard input: EISDIR", words, directory)
    end
    ends(USAGE, "not deleted, because standard input is no terminal", { "rm", "-r", "/x" }, closed)
    for _, words in ipairs { { "get", "/x" }, { "tree" }, { "export", "/x" }, { "doctor" }, { "top", "--once" }, { "man" } } do
      ends(FAILED, "standard output: Bad file descriptor", words, { redirect = ">&-" })
    end
    for _, redirect in ipairs { ">&- 2>&-", ">/dev/full 2>/dev/full" } do
      ends(FAILED, nil, { "get", "/x" }, { redirect = redirect })
      ends(NO, nil, { "get", "/none" }, { redirect = redirect })
    end
    assert.are.equal("in", ends(OK, nil, { "lock", "/l", "--", "echo", "in" }, { redirect = "<&-" }))
  end)

  it("needs no terminal, and no certain one, and no certain language", function()
    local name = "/\u{e4}\u{9320}"
    ends(OK, nil, { "create", name, name })
    for _, variables in ipairs { { LC_ALL = "C" }, { LC_ALL = "none" }, { TERM = "unknown-to-all" }, { TERM = "" } } do
      assert.matches(name:sub(2), ends(OK, nil, { "tree" }, { env = variables }))
      assert.are.equal(name, ends(OK, nil, { "get", name }, { env = variables }))
      ends(OK, nil, { "top", "--once" }, { env = variables })
    end
    ends(USAGE, "no terminal", { "rm", "-r", "/x" }, { before = { "setsid", "-w" } })
    ends(OK, nil, { "lock", "/l", "--", "true" }, { before = { "setsid", "-w" } })
  end)

  it("refuses arguments that mean nothing", function()
    local long = "/" .. ("x"):rep(100000)
    all {
      { USAGE, "path", { "get", "" } }, { USAGE, "path", { "get", "/\255" } }, { USAGE, "path", { "get", "/a\1b" } },
      { USAGE, "path", { "get", "/a//b" } }, { USAGE, "path", { "get", "/../b" } }, { NO, "no such znode", { "get", long } },
      { USAGE, "unknown command ''", { "" } }, { USAGE, "unknown command '\255'", { "\255" } },
      { USAGE, "unknown option", { "--\255", "ls" } }, { USAGE, "", { "-s", "a b", "ls" } }, { USAGE, "", { "-s", "a:99999", "ls" } },
      { USAGE, "", { "-s", "a:x", "ls" } }, { USAGE, "", { "--namespace", "x", "ls" } }, { USAGE, "timeout", { "--timeout", "0", "ls" } },
      { USAGE, "timeout", { "--timeout", "nan", "ls" } }, { USAGE, "timeout", { "--timeout", "1e300", "ls" } },
      { USAGE, "", { "lock", "/l" } }, { NOT_FOUND, "", { "lock", "/l", "--", "" } }, { USAGE, "", { "lock", "/l", "-n", "1e9", "true" } },
      { USAGE, "", { "lock", "/l", "-n", "9223372036854775807", "true" } }, { USAGE, "", { "lock", "/l", "--wait", "inf", "true" } },
      { USAGE, "", { "lock", "/l", "--wait", "1e300", "true" } }, { USAGE, "", { "lock", "/l", "--try", "--wait", "1", "true" } },
      { USAGE, "", { "cron", "/c", "* * *", "--", "true" } }, { USAGE, "", { "cron", "/c", "\255", "--", "true" } },
      { USAGE, "", { "create", "/t", "--ttl", "1e18" } }, { USAGE, "", { "create", "/t", "--acl", "x" } },
      { USAGE, "", { "acl", "/x", "x" } }, { USAGE, "", { "acl", "/x", "world:anyone:fly" } },
      { USAGE, "", { "latch", "down", "/l", "0" } }, { USAGE, "", { "id", "next", "/i", "-n", "9007199254740993" } },
      { USAGE, "", { "queue", "put", "/q", "--priority", "65536", "x" } }, { USAGE, "", { "queue", "put", "/q", "--delay", "1e300", "x" } },
      { USAGE, "", { "queue", "put", "/q", "--id", "", "x" } }, { USAGE, "", { "queue", "work", "/q", "-j", "0", "true" } },
      { USAGE, "", { "queue", "work", "/q", "--attempts", "0", "true" } },
      { USAGE, "", { "register", "", "h", "1", "true" } }, { USAGE, "", { "register", "a/b", "h", "1", "true" } },
      { USAGE, "", { "register", "web", "h", "65536", "true" } }, { USAGE, "", { "register", "web", "h", "1", "--weight", "-1", "true" } },
      { USAGE, "", { "register", "web", "h", "1", "--weight", "x", "true" } },
      { USAGE, "", { "register", "web", "h", "1", "--meta", "[1", "true" } }, { NO, "no session holds it", { "holders", "/" } },
      { OK, nil, { "watch", "--count", "0", "/x" } }, { OK, nil, { "top", "--once", "--depth", "0" } },
      { USAGE, "", { "server", "--port", "0" } }, { USAGE, "", { "server", "--port", "65536" } },
      { USAGE, "", { "server", "--port", "2181", "--members", "3" } }, { USAGE, "", { "server", "--tick", "0" } },
      { USAGE, "", { "completion", "" } }, { USAGE, "", { "man", "" } },
    }
  end)

  it("says what the system does not give", function()
    local shell = function(script) return { before = { "sh", "-c", script .. '; exec "$@"', "sh" } } end
    ends(FAILED, "the minder of the command cannot be started %(.*check `ulimit %-n`", { "lock", "/l", "--", "true" }, shell "ulimit -n 20")
    ends(OK, nil, { "lock", "/l", "--", "true" }, shell "ulimit -n 40")
    ends(OK, nil, { "get", "/x" }, shell "ulimit -n 20")
    ends(OK, nil, { "queue", "put", "/q", "item" })
    ends(FAILED, "^zkr: /none: the data of a command cannot be written there %(ENOENT%); set TMPDIR",
      { "queue", "work", "--drain", "/q", "--", "true" }, { env = { TMPDIR = "/none" } })
    assert.are.equal("item", ends(OK, nil, { "queue", "take", "/q", "--wait", "60" }))
  end)

  it("runs no command where it could not find all of its processes", function()
    local try = {}
    for i, word in ipairs(WITHOUT_PROC) do try[i] = zkr.quote(word) end
    if not process.holds(table.concat(try, " ") .. " true") then
      io.stderr:write "surroundings_spec: this user may not hide /proc, so it is not shown\n"
      return
    end
    local more = { before = WITHOUT_PROC }
    assert.are.equal("data", ends(OK, nil, { "get", "/x" }, more))
    ends(FAILED, "/proc is not mounted", { "lock", "/l", "--", "true" }, more)
  end)
end)
