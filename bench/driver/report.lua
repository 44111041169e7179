-- The report: Markdown and a picture.

local M = {}

-- ---- Figures -----------------------------------------------------------------------------------

---@param samples number[]
function M.summary(samples)
  if #samples == 0 then return nil end
  local sorted = table.move(samples, 1, #samples, 1, {})
  table.sort(sorted)
  local middle = #sorted // 2
  local median = #sorted % 2 == 1 and sorted[middle + 1] or (sorted[middle] + sorted[middle + 1]) / 2
  return { median = median, min = sorted[1], max = sorted[#sorted], rounds = #sorted }
end

-- Rounds to three significant digits.
local function short(x)
  local size = math.abs(x)
  return (size >= 100 and "%.0f" or size >= 10 and "%.1f" or "%.2f"):format(x)
end

-- ---- Markdown ----------------------------------------------------------------------------------

local function line(cells) return "| " .. table.concat(cells, " | ") .. " |" end

local function header(first, contestants, more)
  local names, rule = { first }, { "---" }
  for _, one in ipairs(contestants) do names[#names + 1], rule[#rule + 1] = one.title, "--:" end
  for _, name in ipairs(more or {}) do names[#names + 1], rule[#rule + 1] = name, "--:" end
  return line(names) .. "\n" .. line(rule)
end

local function spread(figure)
  if not figure then return "-" end
  if figure.rounds == 1 then return short(figure.median) end
  return ("%s (%s to %s)"):format(short(figure.median), short(figure.min), short(figure.max))
end

-- The ratio of b to a.
local function ratio(a, b)
  return a and b and a.median > 0 and b.median > 0 and short(b.median / a.median) or "-"
end

local function value(row, id) return row.of[id] and row.of[id].value end

local function timing_row(row, contestants)
  local cells = { row.title .. ", " .. row.unit }
  for _, one in ipairs(contestants) do cells[#cells + 1] = spread(value(row, one.id)) end
  if row.kind == "failover" then -- the session timeout has the same granularity for all
    return line(table.move({ "-", "-", "-", "-" }, 1, 4, #cells + 1, cells))
  end
  local ours, jit = value(row, "lua5.4"), value(row, "luajit")
  for _, floor in ipairs { "floor", "floor2" } do
    cells[#cells + 1] = ratio(value(row, floor), ours) .. " / " .. ratio(value(row, floor), jit)
  end
  cells[#cells + 1] = ratio(ours, value(row, "curator"))
  cells[#cells + 1] = ratio(ours, value(row, "kazoo"))
  return line(cells)
end

local function figures_row(row, contestants, names, form)
  local cells = { row.title }
  for _, one in ipairs(contestants) do
    local parts = {}
    for _, name in ipairs(names) do
      local figure = row.of[one.id] and row.of[one.id][name]
      parts[#parts + 1] = figure and form:format(figure.median)
    end
    cells[#cells + 1] = #parts > 0 and table.concat(parts, " / ") or "-"
  end
  return line(cells)
end

local function section(lines, title, head, rows, render)
  if #rows == 0 then return end
  lines[#lines + 1] = (title and "### " .. title .. "\n\n" or "") .. head
  for _, row in ipairs(rows) do lines[#lines + 1] = render(row) end
  lines[#lines + 1] = ""
end

local function having(rows, test)
  local found = {}
  for _, row in ipairs(rows) do
    if test(row) then found[#found + 1] = row end
  end
  return found
end

local function has_cpu(row)
  for _, figures in pairs(row.of) do
    if figures.cpu then return true end
  end
end

-- Only times, for the short form.
function M.markdown(result, brief)
  local lines, who = { result.text .. "\n" }, result.contestants
  section(lines, not brief and "Time and memory", header("median (least to most)", who,
    { "times the floor, Lua 5.4 / LuaJIT", "times two threads", "Curator / ours", "kazoo / ours" }),
    having(result.rows, function(row) return row.kind ~= "counts" end), function(row) return timing_row(row, who) end)
  if brief then return table.concat(lines, "\n") end
  section(lines, "CPU of the host's process, microseconds per operation", header("median", who), having(result.rows, has_cpu),
    function(row) return figures_row(row, who, { "cpu" }, "%.0f") end)
  section(lines, "On the wire, per operation: requests / bytes sent / bytes received", header("", who),
    having(result.rows, function(row) return row.kind == "counts" or row.kind == "consumers" end),
    function(row) return figures_row(row, who, { "requests", "bytes_up", "bytes_down" }, "%.1f") end)
  return table.concat(lines, "\n")
end

-- ---- The picture -------------------------------------------------------------------------------

-- A bar chart of the rows in microseconds, one group per row.
local PICTURE = [[
set terminal svg size 1500,600 font 'sans-serif,12' background rgb 'white'
set output '%s'
set title 'Microseconds per operation (less is better; median, least and most of the rounds)'
set style data histogram
set style histogram errorbars gap 1.5 lw 1
set style fill solid 0.85 border -1
set bars 0.4
set logscale y
set ylabel 'microseconds, logarithmic'
set grid ytics lc rgb '#dddddd'
set key outside top center horizontal maxrows 1 samplen 1
set xtics rotate by -20
set yrange [10:*]
set rmargin 12
$figures << END
%s
END
plot %s
]]

-- The contestants that have a figure in one of the rows.
local function drawn(contestants, rows)
  return having(contestants, function(one)
    return #having(rows, function(row) return value(row, one.id) end) > 0
  end)
end

function M.picture(result, file)
  local rows = having(result.rows, function(row) return row.unit == "us" and row.kind ~= "counts" and not row.id:match("^queue") end)
  if #rows == 0 then return end
  local data, plots, who = {}, {}, drawn(result.contestants, rows)
  for _, row in ipairs(rows) do
    local cells = { ('"%s"'):format(row.id:gsub("_", " ")) }
    for _, one in ipairs(who) do
      local figure = value(row, one.id)
      cells[#cells + 1] = figure and ("%g %g %g"):format(figure.median, figure.min, figure.max) or "NaN NaN NaN"
    end
    data[#data + 1] = table.concat(cells, " ")
  end
  for i, one in ipairs(who) do
    local column = 3 * i - 1
    plots[i] = ("$figures using %d:%d:%d%s title '%s'"):format(column, column + 1, column + 2, i == 1 and ":xtic(1)" or "", one.title)
  end
  local pipe <close> = io.popen("gnuplot", "w")
  pipe:write(PICTURE:format(file, table.concat(data, "\n"), table.concat(plots, ", ")))
end

return M
