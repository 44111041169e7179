-- Every row of every table of costs in docs/ has a case in spec/support/costs/. The case has the words of the row and the exact numbers of
-- requests that they mean. The requests are counted in a simulated world. A row without a case fails, and so does a case without a row,
-- or a row whose words have changed.

local world = require "spec.support.costs.world"

local function pages()
  local pipe = assert(io.popen("find docs -name '*.md'"))
  local names = {}
  for line in pipe:lines() do names[#names + 1] = line:match "^docs/(.*)$" end
  pipe:close()
  table.sort(names)
  return names
end

-- The rows of a page's tables under "## Costs": a list of { what, cost }.
local function rows_of(page)
  local file = assert(io.open("docs/" .. page))
  local text = file:read "*a"
  file:close()
  local section = (text .. "\n## "):match "\n## Costs\n(.-)\n## "
  local rows = {}
  for table_text in ((section or "") .. "\n"):gmatch "| | requests |\n|[- |]+\n(.-)\n\n" do
    for what, cost in (table_text .. "\n"):gmatch "| (.-) | (.-) |\n" do rows[#rows + 1] = { what, cost } end
  end
  return rows
end

-- The cases of a page: a list of { row, its words, fn(of) }; or nil.
local function cases_of(page)
  local name = page:match "^recipes/([%w_]+)%.md$"
  local file = name and io.open(("spec/support/costs/%s.lua"):format(name))
  if not file then return nil end
  file:close()
  return require("spec.support.costs." .. name)
end

local function case_of(page, what)
  for _, case in ipairs(cases_of(page) or {}) do
    if case[1] == what then return case end
  end
end

for _, page in ipairs(pages()) do
  local rows = rows_of(page)
  if #rows > 0 or cases_of(page) then
    describe("docs/" .. page .. ": the page gives the counted costs of", function()
      for _, row in ipairs(rows) do
        it(row[1], function()
          local case = case_of(page, row[1])
          assert(case, "the row '" .. row[1] .. "' has no case here")
          assert.equal(case[2], row[2])
          world.run(case[3])
        end)
      end

      it("every case", function() assert.equal(#(cases_of(page) or {}), #rows) end)
    end)
  end
end
