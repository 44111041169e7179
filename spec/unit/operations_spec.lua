-- docs/operations.md and the dashboard name exactly the metrics that the status page exports, with labels that these have.

local cjson = require "cjson"
local zk = require "zkrecipes"

local function read(path)
  local file = assert(io.open(path))
  local text = file:read "*a"
  file:close()
  return text
end

-- What one process exports: name > labels. Each histogram has three names.
local function exported()
  local status = require "zkrecipes.status.status"
  local now = zk.status()
  now.worker, now.failed = "0", { timeout = 1 }
  local names = {}
  for name, labels in status.prometheus({ now }):gmatch "\n(zkrecipes_[%l_]+){([^}]*)}" do
    names[name] = names[name] or { instance = true } -- Prometheus adds this one
    for label in labels:gmatch "([%l_]+)=" do names[name][label] = true end
  end
  return names
end

local function is_known(names, name)
  return names[name] or names[name .. "_bucket"] -- the page names a histogram as a whole
end

describe("the metrics", function()
  local names = exported()
  local page, dashboard = read "docs/operations.md", cjson.decode(read "docs/grafana.json")

  -- Calls fn(where, expression) for each expression.
  local function each_expression(fn)
    for _, panel in ipairs(dashboard.panels) do
      for _, target in ipairs(panel.targets) do fn(panel.title, target.expr) end
    end
    for expression in page:gmatch "expr: ([^\n]+)" do fn("docs/operations.md", expression) end
  end

  it("that the page and the dashboard name are exported", function()
    for name in page:gmatch "(zkrecipes_[%l_]+)" do assert(is_known(names, name), "docs/operations.md: " .. name) end
    each_expression(function(where, expression)
      local found
      for name in expression:gmatch "(zkrecipes_[%l_]+)" do
        found = true
        assert(names[name], where .. ": " .. name)
      end
      assert(found, where .. ": " .. expression)
    end)
  end)

  it("have the labels by which they are chosen and summed", function()
    each_expression(function(where, expression)
      for name, labels in expression:gmatch "(zkrecipes_[%l_]+)(%b{})" do
        for label in labels:gmatch "([%l_]+)[=!]~?\"" do assert(names[name][label], ("%s: %s of %s"):format(where, label, name)) end
      end
      local name = expression:match "zkrecipes_[%l_]+"
      for labels in expression:gmatch "by (%b())" do
        for label in labels:gmatch "[%l_]+" do assert(names[name][label], ("%s: %s of %s"):format(where, label, name)) end
      end
    end)
  end)

  it("that are exported are all in the table of the page and on the dashboard", function()
    local shown = read "docs/grafana.json"
    for name in pairs(names) do
      assert(shown:find(name, 1, true), name .. " is not on the dashboard")
      local whole = name:gsub("wait_seconds_%l+$", "wait_seconds")
      assert(page:find("`" .. whole .. "`", 1, true), name .. " is not on the page")
    end
  end)
end)

-- What Grafana published about the model of schema version 36 (dashboard_kind.cue in its repository), as far as this dashboard uses it.
describe("the dashboard", function()
  local dashboard = cjson.decode(read "docs/grafana.json")
  local VARIABLES = { query = true, datasource = true, constant = true, interval = true, textbox = true, custom = true }
  local PANELS = { timeseries = true, stat = true, table = true }

  local function is_whole(value, first, last) return type(value) == "number" and value % 1 == 0 and value >= first and value <= last end

  it("has the fields that Grafana wants", function()
    assert.are.equal(36, dashboard.schemaVersion)
    assert.is_true(dashboard.title ~= "" and #dashboard.uid <= 40 and is_whole(dashboard.version, 0, 2 ^ 32))
    assert.matches("^%d+[smhd]$", dashboard.refresh)
    assert.is_true(type(dashboard.time.from) == "string" and type(dashboard.time.to) == "string")
    assert.is_nil(dashboard.id) -- it is that of one Grafana, and an import would replace what has it
  end)

  it("has panels with ids of their own that lie in the grid, beside each other", function()
    local taken, ids = {}, {}
    for _, panel in ipairs(dashboard.panels) do
      local place = panel.gridPos
      assert.is_true(PANELS[panel.type] and panel.title ~= "" and not ids[panel.id], panel.title)
      ids[panel.id] = true
      assert.is_true(is_whole(place.w, 1, 24) and is_whole(place.x, 0, 24 - place.w) and is_whole(place.h, 1, 99) and
        is_whole(place.y, 0, 999), panel.title)
      for x = place.x, place.x + place.w - 1 do
        for y = place.y, place.y + place.h - 1 do
          assert.is_nil(taken[x .. " " .. y], panel.title)
          taken[x .. " " .. y] = true
        end
      end
    end
  end)

  it("uses the variables that it declares, and tells its queries apart", function()
    local variables, used = {}, {}
    for _, variable in ipairs(dashboard.templating.list) do
      assert.is_true(VARIABLES[variable.type], variable.name)
      variables[variable.name] = variable.type
    end
    local function look(text)
      for name in text:gmatch "%${?([%l_]+)" do
        assert(variables[name] or name:find "^__", text) -- Grafana has some of its own
        used[name] = true
      end
    end
    assert.are.equal("datasource", variables.source)
    for _, panel in ipairs(dashboard.panels) do
      assert.are.same({ type = "prometheus", uid = "${source}" }, panel.datasource)
      look(panel.datasource.uid)
      local references = {}
      for _, target in ipairs(panel.targets) do
        look(target.expr)
        assert.is_true(target.refId:find "^%u$" ~= nil and not references[target.refId], panel.title)
        references[target.refId] = true
      end
    end
    for name in pairs(variables) do assert.is_true(used[name], name) end
  end)
end)
