-- docs/zkr-sessions.md: each of its sessions is typed on terminals, and must show what the page shows.
--
-- A session is a block of the page. A line `$ COMMAND` is typed when all lines above it are shown, and so are `^C` and what stands after
-- the question of zkr, `[y/N]`. Lines that begin with MARGIN are a second terminal. What differs each time, for example a time, is
-- masked; so is how many spaces stand in a row.

local env = require "spec.support.env"
local process = require "spec.support.process"
local terminals = require "spec.support.terminal"
local zkr = require "spec.support.zkr"
local run = env.run

local PAGE = "docs/zkr-sessions.md"
local MARGIN = (" "):rep(40)
local PROMPT = "$ "
local LIMIT = 300 -- seconds; `zkr cron` waits for the next minute, and all else takes far less even on a busy machine
local SHELL = 'stty cols 200 rows 40; PATH=$PWD/bin:$PATH PS1="$ " exec bash --norc --noprofile --noediting -i'

local MASKS = {
  { "%d%d%d%d%-%d%d%-%d%d %d%d:%d%d:%d%d [+-]%d%d%d%d", "TIME" },
  { "%f[%d]%d%d:%d%d:%d%d", "TIME" },
  { "(127%.0%.0%.1:)%d+", "%1PORT" },
  { "(token )%x+", "%1ZXID" },
  { "%x%x%x%x%x%x%x%x%x%x%x%x%x%x%x%x+", "ID" },
  { "%f[%d]%d+ min %d+ s%f[%s)]", "AGE" }, -- on a busy machine
  { "%f[%d]%d+ min%f[%s)]", "AGE" },
  { "%f[%d]%d+ s%f[%s)]", "AGE" },
  { "%d+%.%d ms", "TIME" },
  { "3%.%d+%.%d+ +%d+", "VERSION COUNT" },
  { "(lock%-)%d+", "%1NUMBER" },
  { "  +", "  " },
  { "%^C\n", "^C" }, -- the prompt follows on the same line
}

local HOSTNAME = process.output("hostname"):gsub("%p", "%%%0")

local function masked(text)
  text = text:gsub(HOSTNAME, "web1")
  for _, mask in ipairs(MASKS) do text = text:gsub(mask[1], mask[2]) end
  return text
end

-- ---- The page ----------------------------------------------------------------------------------

-- The headings, and the lines of the blocks below them.
local function sessions()
  local list, heading, block = {}, nil, nil
  for line in io.lines(PAGE) do
    heading = line:match "^## (.*)" or heading
    if line:find "^```" then
      if block then list[#list + 1] = { name = heading, lines = block } end
      block = line == "```console" and {} or nil
    elseif block then
      block[#block + 1] = line
    end
  end
  return list
end

-- ---- A terminal, and what it should have shown by now --------------------------------------------

local Screen = {}
Screen.__index = Screen

local function open(namespace)
  return setmetatable({ terminal = terminals.open(SHELL, namespace), expected = PROMPT }, Screen)
end

-- Waits until it shows what it should. If a program runs, the page does not say whether it has ended.
function Screen:settle()
  local expected = masked(self.expected)
  local function shown()
    local text = masked(self.terminal:shown())
    return self.running and text == expected .. PROMPT and expected or text
  end
  pcall(env.eventually, "the page's lines", function() return shown() == expected end, LIMIT)
  assert.are.equal(expected, shown())
end

-- zkr watch shows nothing until something happens, so this waits until the server knows its watch.
local function await_watch(command, namespace)
  local path = command:match "^zkr watch .-(/%S+)$"
  if not path then return end
  env.eventually("the watch", function() return env.server():wchp():find(namespace .. path, 1, true) end, LIMIT)
end

function Screen:type(command, namespace)
  self.terminal:type(command .. "\n")
  self.expected = self.expected .. command .. "\n"
  self.running = true
  await_watch(command, namespace)
end

-- The program in front has ended, because the page has a next command, or ends.
function Screen:prompt()
  if self.running then self.expected = self.expected .. PROMPT end
  self.running = false
end

-- keys: what is typed. The terminal shows them, and how the line ends.
function Screen:answer(shown, keys)
  self.terminal:type(keys)
  self.expected = self.expected .. shown .. "\n"
end

-- Does what a line of the page says. settle(): waits until the terminals show what stands above it.
local function play_line(screen, text, settle, namespace)
  local command, question, answer = text:match "^%$ (.*)$", text:match "^(.*%[y/N%] )(.*)$"
  if command then
    screen:prompt()
    settle()
    screen:type(command, namespace)
  elseif text == "^C" then
    settle()
    screen:answer(text, "\3")
    screen:prompt() -- Ctrl-C has ended the program
  elseif question then
    screen.expected = screen.expected .. question
    settle()
    screen:answer(answer, answer .. "\n")
  else
    screen.expected = screen.expected .. text .. "\n"
  end
end

local function play(session)
  local namespace = env.namespace()
  local screens = { open(namespace), open(namespace) }
  local function settle() for _, screen in ipairs(screens) do screen:settle() end end
  for _, line in ipairs(session.lines) do
    local second = line:sub(1, #MARGIN) == MARGIN
    play_line(screens[second and 2 or 1], second and line:sub(#MARGIN + 1) or line, settle, namespace)
  end
  for _, screen in ipairs(screens) do
    screen:prompt()
    screen:settle()
    screen.terminal:type "exit 0\n"
    assert.are.equal(0, (screen.terminal:finish()))
  end
end

local _ = zkr.supported and describe("docs/zkr-sessions.md", function()
  after_each(terminals.clear)

  local text = process.output("cat " .. PAGE)

  for _, session in ipairs(sessions()) do
    it("shows what happens: " .. session.name, run(function() play(session) end))
  end

  it("has a session of each command", function()
    for _, name in ipairs(require "zkrecipes.cli.list") do
      assert.is_truthy(text:find("[$;] zkr " .. name .. "%f[%W]"), name)
    end
  end)
end)
