-- docs/zkr.md: its examples are run, its tables are complete.

local env = require "spec.support.env"
local exit = require "zkrecipes.cli.exit"
local zkr = require "spec.support.zkr"

local names = require "zkrecipes.cli.list"

local _ = zkr.supported and describe("docs/zkr.md", function()
  local file = assert(io.open "docs/zkr.md")
  local page = file:read "a"
  file:close()

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
end)
