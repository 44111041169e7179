-- The status as a page for a browser: plain tables, no scripts, nothing loaded from elsewhere. In a narrow window long paths wrap, and
-- a table that is still too wide has its own scroll bar.

local core = require "zkrecipes.core"
local status = require "zkrecipes.status.status"

local M = {}

local HEAD = [[<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta http-equiv="refresh" content="5">
<meta name="viewport" content="width=device-width, initial-scale=1"><link rel="icon" href="data:,"><title>zkrecipes</title><style>
body { font: 15px/1.4 system-ui, sans-serif; margin: 2em auto; max-width: 60em; padding: 0 1em; color: #222; background: #fff }
h1 { font-size: 1.4em } h2 { font-size: 1.1em; margin: 1.6em 0 .4em } .table { overflow-x: auto }
table { border-collapse: collapse; width: 100% } .none { color: #666; margin: .4em 0 }
th, td { text-align: left; padding: .25em 1.2em .25em 0; border-bottom: 1px solid #ddd; white-space: nowrap; vertical-align: top }
td.path { white-space: normal; overflow-wrap: anywhere; min-width: 9em } td.number, th.number { text-align: right }
.bad { color: #b00; font-weight: bold } td.bar { width: 60%; padding-right: 0 }
.bar span { background: #59c; height: .8em; display: inline-block; min-width: 1px }
</style></head><body><h1>zkrecipes</h1>
]]

local ENTITIES = { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", ['"'] = "&quot;", ["'"] = "&#39;" }

local function escaped(value) return (tostring(value):gsub("[&<>\"']", ENTITIES)) end

local function duration(seconds)
  if seconds < 1 then return ("%.0f ms"):format(seconds * 1000) end
  if seconds < 120 then return ("%.1f s"):format(seconds) end
  if seconds < 7200 then return ("%.0f min"):format(seconds / 60) end
  if seconds < 172800 then return ("%.1f h"):format(seconds / 3600) end
  return ("%.1f days"):format(seconds / 86400)
end

local function classed(column) return column.class and (' class="%s"'):format(column.class) or "" end

local function cell(value, column)
  if column.show then return column.show(value) end
  return escaped(value == nil and "" or value)
end

-- columns: { title, key, class =, show = function(value) gives HTML }; count: when it is not the number of rows.
local function table_of(title, rows, columns, count)
  count = count or #rows
  local out = { ("<h2>%s (%d)</h2>\n"):format(title, count) }
  if count == 0 then return out[1] .. '<p class="none">none</p>\n' end
  out[#out + 1] = '<div class="table"><table><tr>'
  for _, column in ipairs(columns) do
    out[#out + 1] = ("<th%s>%s</th>"):format(classed(column), column[1])
  end
  for _, row in ipairs(rows) do
    out[#out + 1] = "</tr>\n<tr>"
    for _, column in ipairs(columns) do
      out[#out + 1] = ("<td%s>%s</td>"):format(classed(column), cell(row[column[2]], column))
    end
  end
  out[#out + 1] = "</tr></table></div>\n"
  return table.concat(out)
end

local function state(value)
  return ("<span%s>%s</span>"):format(value == "connected" and "" or ' class="bad"', escaped(value))
end

local function places(list) return escaped(table.concat(list, ", ")) end

local function bar(share) return share > 0 and ('<span style="width:%.0f%%"></span>'):format(share * 100) or "" end

local function known(value) return value and escaped(value) or '<span class="bad">unknown</span>' end

local function some(value) return value and escaped(value) or '<span class="none">none</span>' end

-- ---- Of several workers ------------------------------------------------------------------------

-- The rows of all workers, each with the number of its worker.
local function rows_of(list, name)
  local rows = {}
  for _, found in ipairs(list) do
    for _, row in ipairs(found[name] or {}) do
      local shown = { worker = found.worker }
      for key, value in pairs(row) do shown[key] = value end
      rows[#rows + 1] = shown
    end
  end
  return rows
end

local function oldest_first(rows)
  table.sort(rows, function(a, b) return a.age > b.age end)
  return rows
end

local function sum_of(list, value_of)
  local sum = 0
  for _, found in ipairs(list) do sum = sum + value_of(found) end
  return sum
end

local function counted(list, name) return sum_of(list, function(found) return status.count(found, name) end) end

local function sum_waits(list)
  local sums = {}
  for _, found in ipairs(list) do
    for i, wait in ipairs(found.waits) do
      sums[i] = sums[i] or { below = wait.below, count = 0 }
      sums[i].count = sums[i].count + wait.count
    end
  end
  return sums
end

local function histogram(list)
  local rows, before, granted = {}, 0, sum_of(list, function(found) return found.granted end)
  for i, wait in ipairs(sum_waits(list)) do
    local count = wait.count - before
    rows[i] = { below = wait.below and "up to " .. duration(wait.below):gsub("%.0 s$", " s") or "longer", count = count,
      share = count / math.max(granted, 1) }
    before = wait.count
  end
  return table_of("Waits until granted", rows, { { "time", "below" }, { "number", "count", class = "number" },
    { "", "share", class = "bar", show = bar } }, granted)
end

local function failures(failed)
  local parts = {}
  for code, number in pairs(failed) do parts[#parts + 1] = ("%d %s"):format(number, escaped(code)) end
  table.sort(parts, function(a, b) return a:match("%a.*") < b:match("%a.*") end)
  return #parts > 0 and table.concat(parts, ", ") or "none"
end

local function bad_unless_0(value) return ('<span%s>%d</span>'):format(value > 0 and ' class="bad"' or "", value) end

local function sums(list)
  local failed, of = {}, {}
  for _, found in ipairs(list) do
    for code, number in pairs(found.failed) do failed[code] = (failed[code] or 0) + number end
  end
  for _, name in ipairs { "granted", "released", "lost" } do of[name] = sum_of(list, function(found) return found[name] end) end
  return ("<p>%d granted, %d released, %s lost; ended without: %s</p>\n"):format(of.granted, of.released,
    bad_unless_0(of.lost), failures(failed))
end

local NUMBERS = { "granted", "released" }

local function workers(list)
  if not (list[1] and list[1].worker) then return "" end
  local rows, now = {}, list[1].at
  for _, found in ipairs(list) do now = math.max(now, found.at) end
  for i, found in ipairs(list) do
    rows[i] = { worker = found.worker, pid = found.pid, ago = now - found.at, lost = found.lost, failed = found.failed,
      holds = status.count(found, "holds"), waiting = status.count(found, "waiting") }
    for _, name in ipairs(NUMBERS) do rows[i][name] = found[name] end
  end
  return table_of("Workers", rows, { { "worker", "worker" }, { "process", "pid" }, { "seen ago", "ago", class = "number", show = duration },
    { "held", "holds", class = "number" }, { "waiting", "waiting", class = "number" }, { "granted", "granted", class = "number" },
    { "released", "released", class = "number" }, { "lost", "lost", class = "number", show = bad_unless_0 },
    { "ended without", "failed", show = failures } })
end

local PATH = { "path", "path", class = "path" }
local AGE = { "age", "age", class = "number", show = duration }

-- These columns, behind one that tells the worker where there are several.
local function with_worker(list, columns)
  if list[1] and list[1].worker then table.insert(columns, 1, { "worker", "worker" }) end
  return columns
end

local function noted(notes)
  local lines = {}
  for i, note in ipairs(notes or {}) do lines[i] = ('<p class="none">%s</p>\n'):format(escaped(note)) end
  return table.concat(lines)
end

local function copies(list)
  return table_of("Copies", rows_of(list, "trees"), with_worker(list, { PATH, { "znodes", "znodes", class = "number" },
    { "age", "age", class = "number", show = function(age) return age and duration(age) or '<span class="bad">not loaded</span>' end },
    { "missing because", "problem" } }), counted(list, "trees"))
end

-- html(list [, where [, notes]]): of these statuses; those of workers of nginx have a `worker`. where: a line that tells the process.
function M.html(list, where, notes)
  return table.concat { HEAD, "<p>", escaped(where or list[1].host), "; looks again every 5 s</p>\n", noted(notes), sums(list),
    workers(list),
    table_of("Sessions", rows_of(list, "sessions"), with_worker(list, { { "state", "state", show = state },
      { "id", "id", show = some }, { "server", "server", show = some }, { "timeout", "timeout", class = "number", show = duration } })),
    table_of("Held", oldest_first(rows_of(list, "holds")), with_worker(list, { { "what", "kind" }, PATH, AGE,
      { "waiting here", "waiters", class = "number" }, { "token", "token" } }), counted(list, "holds")),
    table_of("Waiting", oldest_first(rows_of(list, "waiting")), with_worker(list, { { "for", "kind" }, PATH, AGE }),
      counted(list, "waiting")),
    table_of("Queues", rows_of(list, "queues"), with_worker(list, { PATH, { "length", "length", class = "number", show = known },
      { "our places", "places", class = "path", show = places } })),
    table_of("Takes part", rows_of(list, "objects"), with_worker(list, { { "what", "kind" }, PATH, { "state", "state" } }),
      counted(list, "objects")),
    copies(list), histogram(list), "</body></html>\n" }
end

core.own(debug.getinfo(1, "S").source)
return M
