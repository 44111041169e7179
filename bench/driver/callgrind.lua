-- Counts the instructions that our own C code executes, by valgrind's callgrind: the cost of every function whose source is in src/,
-- without the functions that it calls elsewhere. The format is described in valgrind's manual, "Callgrind Format Specification".

local measure = require "bench.driver.measure"

local M = {}

-- Names are written once, as "(7) name", and later referred to by their number.
local function name_of(names, text)
  local number, name = text:match("^(%b())%s*(.*)$")
  if not number then return text end
  if name ~= "" then names[number] = name end
  return names[number]
end

-- "core", "lua", ... of a file of ours; the binding of the simulator belongs to it.
local function folder_of(file)
  local folder, name = file:match("%f[^/\0]src/(%l+)/([%w_/]+)%.[ch]$")
  if not folder or file:match("^/usr/") then return nil end
  return name:match("^sim") and "sim" or folder
end

-- Folder > instructions, and function > how often it was called.
local function own_cost(path)
  local names, functions, cost, calls, folder, skip = {}, {}, {}, {}, nil, false
  for line in io.lines(path) do
    local file = line:match("^fl=(.*)$")
    if file then
      folder = folder_of(name_of(names, file))
    elseif line:match("^f[ie]=") then
      name_of(names, line:match("=(.*)$")) -- an inlined function counts for its caller
    elseif line:match("^fn=") then
      name_of(functions, line:match("=(.*)$"))
    elseif line:match("^cfn=") then
      calls.last = name_of(functions, line:match("=(.*)$"))
    elseif line:match("^calls=") then
      calls[calls.last] = (calls[calls.last] or 0) + tonumber(line:match("%d+"))
      skip = true -- the next line is what the callee cost
    elseif line:match("^cf[il]=") then
      name_of(names, line:match("=(.*)$"))
    elseif line:match("^[%d+*-]") then
      if folder and not skip then cost[folder] = (cost[folder] or 0) + tonumber(line:match("^%S+ (%d+)")) end
      skip = false
    end
  end
  return cost, calls
end

-- Instructions in these folders of src/, and calls of this function.
local function count(contestant, hosts, scenario, folders, name)
  local path = os.tmpname()
  local command = contestant.command:gsub("lua5%.4 bench", "valgrind -q --tool=callgrind --callgrind-out-file=" .. path .. " lua5.4 bench")
  local figures, why = measure.run({ command = command }, hosts, scenario)
  if not figures then error("callgrind: " .. why, 0) end
  local cost, calls = own_cost(path)
  os.remove(path)
  local sum = 0
  for _, folder in ipairs(folders) do sum = sum + (cost[folder] or 0) end
  return sum, calls[name] or 0
end

---Instructions per operation in these folders of src/: what many cost more than few, `each` operations per unit.
function M.per_operation(contestant, hosts, folders, run)
  local form, few, many, each = run[1], run[2], run[3], run[4] or 1
  local less, more = count(contestant, hosts, form:format(few), folders), count(contestant, hosts, form:format(many), folders)
  return (more - less) / ((many - few) * each)
end

-- Calls of the function `name` per operation.
function M.calls_per_operation(contestant, hosts, run, name)
  local form, few, many = run[1], run[2], run[3]
  local _, less = count(contestant, hosts, form:format(few), {}, name)
  local _, more = count(contestant, hosts, form:format(many), {}, name)
  return (more - less) / (many - few)
end

-- Instructions in these folders per call of the function `turn`. The rest of an operation costs as much as `own` of them.
function M.per_turn(contestant, hosts, folders, run, turn, own)
  local form, few, many = run[1], run[2], run[3]
  local less, turns_of_few = count(contestant, hosts, form:format(few), folders, turn)
  local more, turns_of_many = count(contestant, hosts, form:format(many), folders, turn)
  return (more - less) / (turns_of_many - turns_of_few + (many - few) * own)
end

return M
