-- What the functions of the API take, read from lua/zkrecipes/meta: the names of the arguments, the fields of the tables of options, and
-- whether they wait. A new recipe there is called with suitable values without a change here.

local M = { module = {} }
local methods, fields_of = {}, {} -- "doublebarrier" > its methods; and its fields

local function read(name)
  local file = assert(io.open("lua/zkrecipes/meta/" .. name .. ".lua"))
  local text = file:read("*a")
  file:close()
  return text
end

local function files()
  local pipe, found = io.popen("ls lua/zkrecipes/meta"), {}
  for line in pipe:lines() do found[#found + 1] = line:match("^(.+)%.lua$") end
  pipe:close()
  return found
end

-- { name > type } of "a?: string, b?: boolean".
local function fields(text)
  local found = {}
  for name, kind in text:gmatch("([%w_]+)%??:%s*([^,}]+)") do found[name] = kind:match("^(.-)%s*$") end
  return found
end

local classes = {} -- "zkrecipes.SessionOptions" > its fields

local function read_classes(text)
  local current
  for line in text:gmatch("[^\n]*\n") do
    local class = line:match("^%-%-%-@class ([%w_.]+)")
    local name, kind = line:match("^%-%-%-@field ([%w_]+)%?? (.*)\n")
    if class then
      current = {}
      classes[class] = current
    elseif name and current then
      current[name] = kind:match("^fun") and "function" or kind:match("^%S+")
    elseif not line:match("^%-%-%-") then
      current = nil
    end
  end
end

local function words(text)
  local found = {}
  for word in text:gmatch("[%w_.]+") do found[#found + 1] = word end
  return found
end

-- "---@param options? X", in the lines above a function.
local function options_in(doc)
  local inline = doc:match("@param options%?? (%b{})")
  if inline then return fields(inline) end
  return classes[doc:match("@param options%?? ([%w_.]+)") or ""]
end

local function read_functions(text)
  local doc = ""
  for line in text:gmatch("[^\n]*\n") do
    local owner, name, arguments = line:match("^function ([%w_]+)[.:]([%w_]+)(%b())")
    if line:match("^%-%-%-") then
      doc = doc .. line
    else
      if owner then
        owner = owner:lower()
        methods[owner] = methods[owner] or {}
        local into = owner == "zk" and M.module or methods[owner]
        into[name] = { arguments = words(arguments), options = options_in(doc), waits = doc:find("@async", 1, true) ~= nil }
      end
      doc = ""
    end
  end
end

local names = files()
for i = 1, #names do read_classes(read(names[i])) end
for i = 1, #names do read_functions(read(names[i])) end

for class, found in pairs(classes) do fields_of[class:match("[%w_]+$"):lower()] = found end

-- The class of this name in the reference: "zkrecipes.double_barrier" is its DoubleBarrier.
local function called(name) return (name:match("[%w_]+$"):gsub("_", "")) end

---@return table methods name > signature; fields name > type
function M.of(name) return methods[called(name)] or {}, fields_of[called(name)] or {} end

return M
