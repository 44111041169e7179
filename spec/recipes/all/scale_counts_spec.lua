-- The figures of docs/scale.md: the rows of small worlds are counted again and must be the same; the bytes of a join and of a hand-off are
-- counted on a real server; the sums of the page follow from its other figures. The large rows come from the same code: make bench-scale.

local env = require "spec.support.env"
local scale = require "spec.support.scale"
local scale_wire = require "spec.support.scale_wire"

local function read(path)
  local file = assert(io.open(path))
  local text = file:read "*a"
  file:close()
  return text
end

local PAGE = read "docs/scale.md"

local function number(text) return tonumber((text:gsub(",", ""))) end

-- The one capture of the pattern, as a number.
local function figure(pattern) return number(assert(PAGE:match(pattern), pattern)) end

local function has_row(row) assert.is_truthy(PAGE:find("\n" .. row .. "\n", 1, true), "the page lacks this row:\n" .. row) end

describe("docs/scale.md", function()
  for _, way in ipairs(scale.CONTESTS) do
    it("has the counts of 100 and 1,000 that contend: " .. way, function()
      has_row(scale.contest(way, 100))
      has_row(scale.contest(way, 1000))
    end)
  end

  it("has the counts of 100 members, of 100 and 1,000 readers", function()
    has_row(scale.change("member", 100))
    has_row(scale.change("change", 100))
    has_row(scale.change("change", 1000))
  end)

  local fixed, each = PAGE:match("(%d+) %+ (%d+) p received")
  fixed, each = tonumber(fixed), tonumber(each)

  it("has the bytes of a join and of a hand-off", env.run(function()
    local function near(expected, counted)
      assert.is_true(math.abs(counted - expected) <= 0.05 * expected, ("the page says %s, counted %s"):format(expected, counted))
    end
    local few, more = scale_wire.behind(env.server(), "/q5", 5), scale_wire.behind(env.server(), "/q25", 25)
    assert.equal(figure "(%d+) requests %(1 of them a write%)", few.join.requests)
    assert.equal(few.join.requests, more.join.requests)
    near(each, (more.join.down - few.join.down) / 20)
    near(fixed, few.join.down - 5 * each)
    near(figure "a write%), (%d+) bytes sent, %d+ %+", few.join.up)
    for _, of in ipairs { few, more } do
      assert.same({ 1, 2 }, { of.hand_off.requests, of.hand_off.events })
      near(figure "2 events, (%d+) bytes sent", of.hand_off.up)
      near(figure "2 events, %d+ bytes sent, (%d+) received", of.hand_off.down)
    end
  end))

  local UNITS = { kB = 1e3, MB = 1e6, GB = 1e9 }

  -- `text` is the value, rounded as it shows.
  local function rounds(text, value)
    local amount, unit = text:match("^([%d.,]+) ?(%a*)$")
    local decimals = #(amount:match "%.(%d+)$" or "")
    local expected = ("%%.%df"):format(decimals):format(value / (UNITS[unit] or 1))
    assert.equal(expected, (amount:gsub(",", "")), text)
  end

  it("has sums that follow from its figures", function()
    local heap = figure "session and connection | ([%d,]+) bytes" + figure "znode of a contender | ([%d,]+) bytes"
      + 2 * figure "no other session watches | ([%d,]+) bytes"
    local rows = 0
    for line in PAGE:match("| wave of joins | heap |\n[^\n]+\n(.-)\n\n"):gmatch("[^\n]+") do
      local cells = {}
      for cell in line:gmatch("| ([^|]-) %f[|]") do cells[#cells + 1] = cell end
      local n = number(cells[1])
      rounds(cells[2], n * 16 / 10)
      rounds(cells[3], n * 16 / 60)
      rounds(cells[4], n * each + 92)
      rounds(cells[5], n * fixed + each * n * (n - 1) / 2)
      rounds(cells[6], n * heap)
      rows = rows + 1
    end
    assert.equal(4, rows)
  end)
end)
