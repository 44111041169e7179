-- zkr top on a terminal: it fits into any size, follows a change of the size, and gives the terminal back.

local env = require "spec.support.env"
local terminals = require "spec.support.terminal"
local width = require "zkrecipes.cli.width"
local zkr = require "spec.support.zkr"
local run = env.run

local LONG = "/a-path-that-is-longer-than-thirty-eight-columns"

local _ = zkr.supported and describe("zkr top on a terminal", function()
  local namespace, session, holds -- luacheck: ignore 241

  before_each(function()
    namespace = env.namespace()
    session = env.session { namespace = namespace, timeout = 60 }
    holds = {}
  end)

  after_each(function()
    terminals.clear()
    session:close()
  end)

  -- Starts it; the terminal's name is shown first.
  local function start(columns, rows, variables)
    for i, path in ipairs { LONG, "/錠前" } do holds[i] = assert(session:lock(path, { data = "web1\u{9b}" }):acquire()) end
    local terminal = terminals.open(("stty cols %d rows %d; tty; bin/zkr top; echo status $?; stty -a"):format(columns, rows), namespace,
      variables or { TERM = "xterm" })
    terminal:shows "^/dev/pts/%d+\n"
    return terminal
  end

  -- The last frame, when it has this.
  local function frame(terminal, pattern)
    local last
    env.eventually("a frame with " .. pattern, function()
      last = terminal:shown():match ".*\27%[1;1H(.*)$"
      return last and last:find(pattern)
    end)
    return last
  end

  local function fits(text, columns, rows)
    local count = 0
    for line in text:gmatch "[^\n]+" do
      assert.is_true(width.of(line) <= columns, line)
      count = count + 1
    end
    assert.is_true(count < rows, text)
  end

  it("aligns wide characters, and cuts what is too long", run(function()
    local terminal = start(80, 24)
    local shown = frame(terminal, "/錠前 .* web1%?")
    assert.is_truthy(shown:find("\n" .. LONG:sub(1, 37):gsub("%-", "%%-") .. "~  lock     1     0  %d+ s +web1%?"), shown)
    assert.is_truthy(shown:find("\n/錠前" .. (" "):rep(33) .. "  lock     1     0  %d+ s +web1%?"), shown)
    fits(shown, 80, 24)
    terminal:type "q"
    local status, all = terminal:finish()
    assert.are.equal(0, status)
    assert.matches("\nstatus 0\n.* icanon", all)
    assert.is_nil(all:find("\u{9b}", 1, true))
  end))

  it("fits into a small terminal, and into one that changes", run(function()
    local terminal = start(12, 4)
    fits(frame(terminal, "^zkr top /  ~"), 12, 4)
    os.execute(("stty -F %s cols 120 rows 30"):format(terminal:shown():match "^(/dev/pts/%d+)\n"))
    fits(frame(terminal, LONG:gsub("%-", "%%-")), 120, 30)
    terminal:type "\3"
    assert.matches("\nstatus 0\n.* icanon", select(2, terminal:finish()))
  end))

  it("gives the terminal back when it is ended by a signal", run(function()
    local terminal = start(80, 24)
    frame(terminal, LONG:sub(1, 8):gsub("%-", "%%-"))
    os.execute(("pkill -TERM -t %s lua5.4"):format(terminal:shown():match "^/dev/(pts/%d+)\n"))
    assert.matches("status 143\n.* icanon", select(2, terminal:finish()))
  end))

  it("prints one frame below the other if the screen cannot be cleared", run(function()
    local terminal = start(80, 24, { TERM = "dumb" })
    terminal:shows "zkr top.*\n\nzkr top"
    assert.is_nil(terminal:shown():find "\27")
    terminal:type "q"
    assert.matches("status 0\n", select(2, terminal:finish()))
  end))

  it("knows how wide text is", function()
    for text, columns in pairs { [""] = 0, ["abc"] = 3, ["日本"] = 4, ["e\u{301}"] = 1, ["\u{1f512}"] = 2, ["\255\255"] = 2, ["ü"] = 1 } do
      assert.are.equal(columns, width.of(text), text)
    end
    assert.are.equal("日本", width.cut("日本", 4))
    assert.are.equal("日~", width.cut("日本語", 4))
    assert.are.equal("~", width.cut("日本", 1))
    assert.are.equal("\255~", width.cut("\255\254\253", 2))
  end)
end)
