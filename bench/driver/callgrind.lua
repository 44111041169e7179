-- Instructions that our own C code executes, by valgrind's callgrind: the cost of every line whose source is in src/,
-- without what it calls elsewhere. The format is described in valgrind's manual, "Callgrind Format Specification".

local measure = require "bench.driver.measure"

local M = {}

-- Names are written once, as "(7) name", and then called by their number.
local function name_of(names, text)
  local number, name = text:match("^(%b())%s*(.*)$")
  if not number then return text end
  if name ~= "" then names[number] = name end
  return names[number]
end

local function is_ours(file)
  return file and file:match("^src/") ~= nil or file and file:match("/src/%l+/[%w_]+%.[ch]$") ~= nil and not file:match("^/usr/")
end

local function own_cost(path)
  local names, sum, counts, skip = {}, 0, false, false
  for line in io.lines(path) do
    local file = line:match("^f[lie]=(.*)$")
    if file then
      counts = is_ours(name_of(names, file))
    elseif line:match("^calls=") then
      skip = true -- the next line is what the callee cost
    elseif line:match("^cf[il]=") then
      name_of(names, line:match("=(.*)$"))
    elseif line:match("^[%d+*-]") then
      if counts and not skip then sum = sum + tonumber(line:match("^%S+ (%d+)")) end
      skip = false
    end
  end
  return sum
end

local function count(contestant, hosts, scenario)
  local path = os.tmpname()
  local command = contestant.command:gsub("lua5%.4 bench", "valgrind -q --tool=callgrind --callgrind-out-file=" .. path .. " lua5.4 bench")
  local figures, why = measure.run({ command = command }, hosts, scenario)
  local cost = figures and own_cost(path)
  os.remove(path)
  return cost or error("callgrind: " .. why, 0)
end

---Instructions per operation: what many cost more than few, `each` operations per unit.
function M.per_operation(contestant, hosts, form, few, many, each)
  local more = count(contestant, hosts, form:format(many)) - count(contestant, hosts, form:format(few))
  return more / ((many - few) * (each or 1))
end

return M
