-- The table of docs/adapters.md: on which Lua each adapter is proven. Also checks the adapters' length.

local matrix = require "spec.adapters.matrix"
local process = require "spec.support.process"

local function read(path)
  local file = assert(io.open(path))
  local text = file:read("*a")
  file:close()
  return text
end

describe("the adapters", function()
  local page = read("docs/adapters.md")

  for name, runs in pairs(matrix.matrix) do
    it(name .. ": the page says where it is proven", function()
      local cells = {}
      for i, interpreter in ipairs(matrix.interpreters) do cells[i] = runs[interpreter] and "yes" or "%-" end
      assert.matches("\n| `" .. name .. "` | " .. table.concat(cells, " | ") .. " |", page)
    end)
  end

  it("are all in the table, and have at most 100 lines", function()
    local proven = { builtin = true, copas1 = true, openresty = true } -- these have their own specs; copas1 is a part of `copas`
    for path in process.output("ls lua/zkrecipes/adapters/*.lua"):gmatch("[^\n]+") do
      local name = path:match("(%w+)%.lua$")
      assert.is_truthy(matrix.matrix[name] or proven[name], name)
      local _, lines = read(path):gsub("\n", "\n")
      assert.is_true(lines <= 100, path .. " has " .. lines .. " lines")
    end
  end)
end)
