-- The status as a page for a browser: plain tables, no scripts, nothing loaded from elsewhere.

local core = require "zkrecipes.core"

local M = {}

local HEAD = [[<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta http-equiv="refresh" content="5"><title>zkrecipes</title><style>
body { font: 15px/1.4 system-ui, sans-serif; margin: 2em auto; max-width: 60em; padding: 0 1em; color: #222; }
h1 { font-size: 1.4em } h2 { font-size: 1.1em; margin: 1.6em 0 .4em }
table { border-collapse: collapse; width: 100% } th, td { text-align: left; padding: .25em .8em .25em 0; border-bottom: 1px solid #ddd }
td.number, th.number { text-align: right } .bad { color: #b00; font-weight: bold } .none { color: #777 }
.bar { background: #59c; height: .8em; display: inline-block }
</style></head><body><h1>zkrecipes</h1>
]]

local ENTITIES = { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", ['"'] = "&quot;", ["'"] = "&#39;" }

local function escaped(value) return (tostring(value):gsub("[&<>\"']", ENTITIES)) end

local function duration(seconds)
  if seconds < 1 then return ("%.0f ms"):format(seconds * 1000) end
  if seconds < 120 then return ("%.1f s"):format(seconds) end
  if seconds < 7200 then return ("%.0f min"):format(seconds / 60) end
  return ("%.1f h"):format(seconds / 3600)
end

local function cell(value, column)
  if column.show then return column.show(value) end
  return escaped(value == nil and "" or value)
end

-- columns: { title, key, number = true, show = function(value) gives HTML }.
local function table_of(title, rows, columns)
  local out = { ("<h2>%s (%d)</h2>\n"):format(title, #rows) }
  if #rows == 0 then return out[1] .. '<p class="none">none</p>\n' end
  out[#out + 1] = "<table><tr>"
  for _, column in ipairs(columns) do
    out[#out + 1] = ("<th%s>%s</th>"):format(column.number and ' class="number"' or "", column[1])
  end
  for _, row in ipairs(rows) do
    out[#out + 1] = "</tr>\n<tr>"
    for _, column in ipairs(columns) do
      out[#out + 1] = ("<td%s>%s</td>"):format(column.number and ' class="number"' or "", cell(row[column[2]], column))
    end
  end
  out[#out + 1] = "</tr></table>\n"
  return table.concat(out)
end

local function state(value)
  return ("<span%s>%s</span>"):format(value == "connected" and "" or ' class="bad"', escaped(value))
end

local function places(list) return escaped(table.concat(list, ", ")) end

local function histogram(status)
  local rows, before = {}, 0
  for i, wait in ipairs(status.waits) do
    local share = status.granted > 0 and (wait.count - before) / status.granted or 0
    rows[i] = { below = wait.below and "up to " .. duration(wait.below) or "longer", count = wait.count - before, share = share }
    before = wait.count
  end
  return table_of("Waits until granted", rows, { { "time", "below" }, { "number", "count", number = true },
    { "", "share", show = function(share) return ('<span class="bar" style="width:%.0fem"></span>'):format(share * 30) end } })
end

local function sums(status)
  local failed = {}
  for code, number in pairs(status.failed) do failed[#failed + 1] = ("%s %d"):format(escaped(code), number) end
  table.sort(failed)
  return ("<p>%s granted, %s released, <span%s>%d lost</span>; without success: %s</p>\n"):format(status.granted, status.released,
    status.lost > 0 and ' class="bad"' or "", status.lost, #failed > 0 and table.concat(failed, ", ") or "none")
end

-- html(status [, where]): where: a line that tells the process.
function M.html(status, where)
  local age = { "age", "age", number = true, show = duration }
  return table.concat { HEAD, "<p>", escaped(where or status.host), "</p>\n", sums(status),
    table_of("Sessions", status.sessions, { { "state", "state", show = state }, { "id", "id" }, { "server", "server" } }),
    table_of("Held", status.holds, { { "what", "kind" }, { "path", "path" }, { "token", "token" }, age,
      { "waiting here", "waiters", number = true } }),
    table_of("Waiting", status.waiting, { { "for", "kind" }, { "path", "path" }, age }),
    table_of("Queues", status.queues or {}, { { "path", "path" }, { "length", "length", number = true },
      { "our places", "places", show = places } }),
    histogram(status), "</body></html>\n" }
end

core.own(debug.getinfo(1, "S").source)
return M
