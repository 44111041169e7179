-- The status as a page for a browser: plain tables, no scripts, nothing loaded from elsewhere. In a narrow window long paths
-- are broken, and a table that is still too wide scrolls by itself.

local core = require "zkrecipes.core"

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

local function histogram(status)
  local rows, before = {}, 0
  for i, wait in ipairs(status.waits) do
    local count = wait.count - before
    rows[i] = { below = wait.below and "up to " .. duration(wait.below):gsub("%.0 s$", " s") or "longer", count = count,
      share = count / math.max(status.granted, 1) }
    before = wait.count
  end
  return table_of("Waits until granted", rows, { { "time", "below" }, { "number", "count", class = "number" },
    { "", "share", class = "bar", show = bar } }, status.granted)
end

local function sums(status)
  local failed = {}
  for code, number in pairs(status.failed) do failed[#failed + 1] = ("%d %s"):format(number, escaped(code)) end
  table.sort(failed, function(a, b) return a:match("%a.*") < b:match("%a.*") end)
  return ("<p>%d granted, %d released, <span%s>%d lost</span>; ended without: %s</p>\n"):format(status.granted, status.released,
    status.lost > 0 and ' class="bad"' or "", status.lost, #failed > 0 and table.concat(failed, ", ") or "none")
end

local PATH = { "path", "path", class = "path" }
local AGE = { "age", "age", class = "number", show = duration }

-- html(status [, where]): where: a line that tells the process.
function M.html(status, where)
  return table.concat { HEAD, "<p>", escaped(where or status.host), "; looks again every 5 s</p>\n", sums(status),
    table_of("Sessions", status.sessions, { { "state", "state", show = state }, { "id", "id", show = some },
      { "server", "server", show = some }, { "timeout", "timeout", class = "number", show = duration } }),
    table_of("Held", status.holds, { { "what", "kind" }, PATH, AGE, { "waiting here", "waiters", class = "number" },
      { "token", "token" } }),
    table_of("Waiting", status.waiting, { { "for", "kind" }, PATH, AGE }),
    table_of("Queues", status.queues or {}, { PATH, { "length", "length", class = "number", show = known },
      { "our places", "places", class = "path", show = places } }),
    histogram(status), "</body></html>\n" }
end

core.own(debug.getinfo(1, "S").source)
return M
