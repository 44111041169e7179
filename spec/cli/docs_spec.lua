-- docs/zkr.md and the help: examples are run, or at least understood; tables are complete; all agree with the code.

local env = require "spec.support.env"
local exit = require "zkrecipes.cli.exit"
local process = require "spec.support.process"
local settings = require "zkrecipes.cli.settings"
local zkr = require "spec.support.zkr"

local names = require "zkrecipes.cli.list"

-- What the environment has beside the settings, and what a command gets.
local FURTHER = { "AUTH", "TLS_PASSWORD", "SASL_PASSWORD", "PATH", "TOKEN", "DEADLINE_FD", "DUE", "MISSED", "LAST", "ITEM", "ATTEMPT",
  "VERSION" }

local function read(path)
  local file = assert(io.open(path))
  local text = file:read "a"
  file:close()
  return text
end

-- The words of a shell's command, up to what ends it: `|`, `;`, `&`, `)`, a redirection, a comment, the end of the line.
local function words_of(text)
  local words, word, at = {}, nil, 1
  while at <= #text do
    local quoted = text:match("^'([^']*)'", at) or text:match('^"([^"]*)"', at)
    local char = text:sub(at, at)
    if quoted then
      word, at = (word or "") .. quoted, at + #quoted + 1
    elseif char:find "[|;&<>)\n]" or char == "#" and not word then
      break
    elseif char:find "%s" then
      words[#words + 1], word = word, nil
    else
      word = (word or "") .. char
    end
    at = at + 1
  end
  words[#words + 1] = word
  return words
end

-- Calls fn(words) for each call of zkr in the lines: at their beginning, in a pipeline or a list, or in `$( )`.
-- console: only lines that begin with `$ ` are typed.
local function each_call(text, console, fn)
  for line in text:gmatch "[^\n]+" do
    local typed = ";" .. (not console and line or line:match "^%s*%$ (.*)$" or "")
    for at in typed:gmatch "[|;&(]%s*zkr%s()" do fn(words_of(typed:sub(at))) end
  end
end

local _ = zkr.supported and describe("docs/zkr.md", function()
  local page = read "docs/zkr.md"

  it("has examples that do what they show", function()
    local count = 0
    for block in page:gmatch "\n```console\n(.-)```" do
      local shell = zkr.shell { namespace = env.namespace() }
      for _, command in ipairs(zkr.commands_of(block)) do
        assert.are.equal("$ " .. command.text .. "\n" .. command.output, "$ " .. command.text .. "\n" .. shell(command.text))
        count = count + 1
      end
    end
    assert.is_true(count >= 15)
  end)

  it("lists every command and every exit status", function()
    for _, name in ipairs(names) do assert.is_truthy(page:find("`zkr " .. name .. "%f[%W]"), name) end
    for _, entry in ipairs(exit.texts) do
      assert.is_truthy(page:find(("| %s | %s |"):format(entry[1], entry[2]), 1, true), tostring(entry[1]))
    end
  end)

  it("lists every setting, as the man page does, and no other variable", function()
    local man, known = zkr.run { "man" }, {}
    for _, name in ipairs(FURTHER) do known["ZKR_" .. name] = true end
    for _, name in ipairs(settings.NAMES) do
      local variable = "ZKR_" .. name:upper()
      known[variable] = true
      assert.is_truthy(page:find("`" .. name .. "`", 1, true), name)
      assert.is_truthy(page:find("`" .. variable .. "`", 1, true), variable)
      assert.is_truthy(man:find(variable, 1, true), variable)
      assert.is_truthy(man:find("[ ,]" .. name .. "[,.]"), name)
    end
    for variable in (page .. man):gmatch "ZKR_[%u_]*%u" do assert.is_true(known[variable], variable) end
  end)

  it("names only options that there are", function()
    local known, count = {}, 0
    local function learn(parser)
      for _, option in ipairs(parser._options) do
        for _, alias in ipairs(option._aliases) do known[alias] = true end
      end
      for _, command in ipairs(parser._commands) do learn(command) end
    end
    learn(require("zkrecipes.cli.parsers").all())
    for option in page:gmatch "`(%-%-?%a[%a-]*)" do
      assert.is_true(known[option], option)
      count = count + 1
    end
    assert.is_true(count >= 20)
  end)
end)

local _ = zkr.supported and describe("every call of zkr", function()
  local parse = require("zkrecipes.cli.parsers").parse

  local function understood(text, console, where)
    local count = 0
    each_call(text, console, function(words)
      if words[1] == "lcok" or words[#words] == "--help" then return end
      local done, raised = pcall(parse, words)
      assert.is_true(done, ("%s: zkr %s: %s"):format(where, table.concat(words, " "), done or raised.text))
      count = count + 1
    end)
    return count
  end

  it("in a block of the pages is understood", function()
    local count = 0
    for path in process.output "ls README.md docs/*.md docs/recipes/*.md":gmatch "[^\n]+" do
      for kind, block in read(path):gmatch "\n```(%l+)\n(.-)```" do
        count = count + understood(block, kind == "console", path)
      end
    end
    assert.is_true(count >= 60, tostring(count))
  end)

  it("in the examples of the help is understood", function()
    for _, name in ipairs(names) do
      assert.is_true(understood(require("zkrecipes.cli.commands." .. name).examples, false, name) > 0, name)
    end
  end)
end)
