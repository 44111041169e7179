-- The division: what moves when members come and go, shares by weight, and the same results in every Lua.

require "zkrecipes"
local division = require "zkrecipes.recipes.partitioner.division"

local N = 1000

local function parts(n)
  local list = {}
  for i = 1, n or N do list[i] = "part-" .. i end
  return list
end

local function members(n)
  local list = {}
  for i = 1, n do list[i] = { id = "m" .. i, weight = 1 } end
  return list
end

local function owners(list, of)
  local all = {}
  for i, part in ipairs(list) do all[i] = division.owner(part, of).id end
  return all
end

local function counts(all)
  local number = {}
  for _, id in ipairs(all) do number[id] = (number[id] or 0) + 1 end
  return number
end

describe("the division of 1000 parts", function()
  it("gives a member that comes about 1/n of the parts, and moves no other part", function()
    for _, n in ipairs { 1, 2, 3, 5, 10, 30 } do
      local before, after = owners(parts(), members(n)), owners(parts(), members(n + 1))
      local moved = 0
      for i = 1, N do
        if before[i] ~= after[i] then
          moved = moved + 1
          assert.equal("m" .. n + 1, after[i])
        end
      end
      local fair = N / (n + 1)
      assert.is_true(moved > 0.7 * fair and moved < 1.35 * fair, moved .. " of " .. fair)
      if n == 10 then assert.equal(103, moved) end -- as docs/recipes/partitioner.md says
    end
  end)

  it("moves only the parts of a member that goes, and spreads them", function()
    local all = members(10)
    local before = owners(parts(), all)
    local gone = table.remove(all, 4)
    local after, took = owners(parts(), all), {}
    for i = 1, N do
      if before[i] == gone.id then took[#took + 1] = after[i] else assert.equal(before[i], after[i]) end
    end
    local number = counts(took)
    for _, each in ipairs(all) do assert.is_true((number[each.id] or 0) >= 2 and number[each.id] <= 20, each.id) end
  end)

  it("gives each of ten members between 78 and 115", function()
    local least, most = N, 0
    for _, count in pairs(counts(owners(parts(), members(10)))) do least, most = math.min(least, count), math.max(most, count) end
    assert.same({ 78, 115 }, { least, most }) -- as docs/recipes/partitioner.md says
  end)

  it("gives shares by weight, and a weight that grows takes parts only for itself", function()
    local all = members(10)
    for i = 6, 10 do all[i].weight = 3 end
    local before = owners(parts(), all)
    local number, light, heavy = counts(before), 0, 0
    for i = 1, 5 do light, heavy = light + number["m" .. i], heavy + number["m" .. i + 5] end
    assert.is_true(heavy > 2.6 * light and heavy < 3.4 * light, heavy .. " and " .. light)
    all[2].weight = 2.5
    local after = owners(parts(), all)
    for i = 1, N do
      if before[i] ~= after[i] then assert.equal("m2", after[i]) end
    end
  end)

  it("does not depend on the order of members and parts", function()
    local all, turned, list = members(7), {}, parts()
    for i = 1, 7 do turned[i] = { id = all[8 - i].id, weight = 1 } end
    assert.same(owners(list, all), owners(list, turned))
    table.sort(list)
    assert.equal(division.mark(list), division.mark(parts()))
  end)

  it("is the same in every Lua", function()
    local sum = 0
    for round = 1, 2 do
      local all = members(10)
      for i = 1, 10 do all[i].weight = round == 1 and 1 or i / 7 end
      for _, id in ipairs(owners(parts(), all)) do sum = (sum * 31 + tonumber(id:sub(2))) % 1000003 end
    end
    assert.equal(23714, sum)
    assert.equal("1000-01d182e2733e10a3", division.mark(parts()))
  end)

  it("gives all to the only member, and nothing without members", function()
    assert.equal(N, #division.of("a", parts(), { { id = "a", weight = 0.001 } }))
    assert.same({}, division.of("a", parts(), {}))
  end)
end)

describe("the mark of a set", function()
  it("differs if a part is added, removed, or another one", function()
    local seen = {}
    local function new(list)
      local mark = division.mark(list)
      assert(not seen[mark], mark)
      seen[mark] = true
    end
    new {}
    new { "" }
    new { "a" }
    new { "b" }
    new { "a", "b" }
    new { "ab" }
    new { "ba" }
    for n = 3, 300 do new(parts(n)) end
  end)

  it("is read back from the data of a member, and other data are none", function()
    local mark = division.mark(parts(3))
    assert.same({ 0.1, mark, "00ff" }, { division.decode(division.encode(0.1, mark, "00ff")) })
    for _, data in ipairs { "", "1", "1 x y", "0 1-ab cd", "-1 1-ab cd", "inf 1-ab cd", "nan 1-ab cd", "x 1-ab cd", "1 1-ab cd more",
      "1e300 1-ab cd" } do
      assert.is_nil((division.decode(data)), data)
    end
    assert.is_nil((division.decode(nil)))
  end)
end)
