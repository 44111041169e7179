-- zkr lock on a terminal: the command can read it, keys reach the command, and the job stops and continues as any other.

local env = require "spec.support.env"
local terminals = require "spec.support.terminal"
local open = terminals.open
local run = env.run

local _ = _VERSION == "Lua 5.4" and describe("on a terminal, the command of zkr lock", function()
  after_each(terminals.clear)

  it("reads it, and changes its settings", run(function()
    local terminal = open("bin/zkr lock /l -- sh -c 'echo ready; read -r word; stty -echo; stty echo; echo got $word'", env.namespace())
    terminal:shows "ready\n"
    terminal:type "hello\n"
    terminal:shows "got hello\n"
    assert.are.equal(0, terminal:finish())
  end))

  it("can be a shell with jobs", run(function()
    local terminal = open("bin/zkr lock /l -- env PS1=shell: bash --norc -i", env.namespace())
    terminal:shows "shell:$"
    terminal:type "sleep 600 & kill %1; wait %1; echo sum $((40 + 2))\n"
    terminal:shows "\nsum 42\n"
    terminal:type "exit 9\n"
    assert.are.equal(9, terminal:finish())
  end))

  it("leaves the terminal to the rest of a pipeline", run(function()
    local terminal = open("bin/zkr lock /l -- echo from the command | { read -r line; read -r key </dev/tty; echo $line and $key; }",
      env.namespace())
    terminal:type "a key\n"
    terminal:shows "from the command and a key\n"
    assert.are.equal(0, terminal:finish())
  end))

  it("gets Ctrl-C, before and after it has taken the terminal", run(function()
    for _, script in ipairs { "echo ready; exec sleep 600", "read -r word; echo ready; exec sleep 600" } do
      local terminal = open(("bin/zkr lock /l -- sh -c '%s'"):format(script), env.namespace())
      terminal:type "word\n"
      terminal:shows "ready\n"
      terminal:type "\3"
      local status, shown = terminal:finish()
      assert.are.equal(130, status, shown)
    end
  end))

  local function stops(line)
    for script, typed in pairs { ["echo rea''dy"] = "", ["read -r word; echo rea''dy"] = "word\n" } do
      local terminal = open("env PS1=shell: bash --norc -i", env.namespace())
      terminal:shows "shell:$"
      terminal:type(("bin/zkr %s -- sh -c \"%s; read -r next; echo got \\$next\"\n"):format(line, script))
      terminal:type(typed)
      terminal:shows "\nready\n"
      terminal:type "\26"
      terminal:shows "Stopped .*shell:$"
      terminal:type "fg\n"
      terminal:type "again\n"
      terminal:shows "\ngot again\n"
      terminal:type "exit 5\n"
      assert.are.equal(5, terminal:finish())
    end
  end

  it("is stopped by Ctrl-Z, with zkr, and continued by the shell", run(function() stops "lock /l" end))

  it("is so too if it is the command of zkr register", run(function() stops "register web 10.0.0.7 80" end))
end)
