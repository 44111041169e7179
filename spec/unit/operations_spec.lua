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
