-- The programs in README.md and in the pages of docs/ run as they are printed, on an empty server.

local env = require "spec.support.env"
local process = require "spec.support.process"
local zk = require "zkrecipes"

local PAGES = { "README.md", "docs/*.md", "docs/recipes/*.md" }
local BEGIN = '^local zk = require "zkrecipes"$'

-- Calls use(path, line) for every block that is a whole program; line: where the block begins.
local function each_program(use)
  for path in process.output("ls " .. table.concat(PAGES, " ")):gmatch("[^\n]+") do
    local number, fence = 0, nil
    for row in io.lines(path) do
      number = number + 1
      if fence and row:find(BEGIN) then use(path, number) end
      fence = row == "```lua"
    end
  end
end

-- A namespace that exists.
local function fresh()
  local namespace = env.namespace()
  local session = zk.session { hosts = env.server().hosts }
  assert(session:create(namespace))
  session:close()
  return namespace
end

describe("the program of", function()
  if process.interpreter == "lua5.1" then return end -- its iterators cannot wait, as the pages say
  local count = 0

  each_program(function(path, line)
    count = count + 1
    it(path .. ", line " .. line .. ", runs", function()
      local output = process.output(("timeout 300 env %s spec/support/block.lua %s %d %s %s 2>&1 >/dev/null </dev/null; " ..
        "echo status $?"):format(env.interpreter(), path, line, env.server().hosts, fresh()))
      assert.equal("status 0", output)
    end)
  end)

  it("every page of a recipe, and README.md, is tested here", function()
    local pages = {}
    each_program(function(path) pages[path] = true end)
    for path in process.output("ls README.md docs/recipes/*.md"):gmatch("[^\n]+") do
      assert.is_true(pages[path], path .. " has no program")
    end
    assert.is_true(count > 0)
  end)
end)
