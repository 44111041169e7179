-- The JSON of Curator's service discovery, read and written.
--
--     json.load()               true; or nil and what to install: only a registry needs lua-cjson
--     json.read(data)           what the data of an instance's znode say; or nil and why they do not say it
--     json.write(record, fields)   the data of this record, whose meta is JSON text; fields: the other members, name > JSON text
--     json.fields(data)         these others, of data that `read` has accepted
--     json.is_text(text)        true if this is the JSON text of one value
--     json.null()               lua-cjson's null
--
-- A record has id, address, port, ssl_port, meta (Curator's payload), weight, enabled, registered (seconds since 1970), type ("DYNAMIC").
-- All other members of the object are foreign: they are kept as texts, because a decoder could change them (large numbers, empty lists).
--
-- Curator ignores members that it does not know. So the weight is a member of its own, and the payload is left to the user.

local check = require "zkrecipes.check"
local core = require "zkrecipes.core"

local M = {}

local PORT_MAX = 65535
local WEIGHT_MAX = 1e9 -- sums of weights must stay exact enough to be compared

local cjson -- an instance of lua-cjson with settings of its own

function M.load()
  if cjson then return true end
  local ok, found = pcall(require, "cjson")
  if not ok then return nil, "lua-cjson is missing (Debian: apt-get install lua-cjson; elsewhere: luarocks install lua-cjson)" end
  cjson = found.new()
  cjson.decode_invalid_numbers(false)
  return true
end

function M.null() return cjson.null end

-- encode and decode: the result; or nil and what is wrong. The texts of lua-cjson have no place in them.
local function protected(name, value)
  local ok, result = pcall(cjson[name], value)
  if ok then return result end
  return nil, check.text(result)
end

function M.encode(value) return protected("encode", value) end

-- lua-cjson takes control characters in strings, JSON does not. The first gsub takes the quotes out of strings.
function M.is_text(text)
  if protected("decode", text) == nil then return false end
  for inside in text:gsub("\\.", ""):gmatch '"([^"]*)"' do
    if inside:find "[%z\1-\31]" then return false end
  end
  return true
end

-- ---- Members as texts --------------------------------------------------------------------------

-- The position behind the string that begins here. The text is JSON, so the string ends.
local function behind_string(text, at)
  at = at + 1
  while true do
    at = text:find('["\\]', at)
    if text:sub(at, at) == '"' then return at + 1 end
    at = at + 2
  end
end

-- The position behind the value that begins here.
local function behind_value(text, at)
  local depth = 0
  repeat
    local char = text:sub(at, at)
    if char == '"' then
      at = behind_string(text, at)
    elseif char:find "[%[{]" then
      depth, at = depth + 1, at + 1
    elseif char:find "[%]}]" then
      depth, at = depth - 1, at + 1
    elseif char:find "[%s,:]" then
      at = at + 1
    else
      at = text:find("[%s,:%]}]", at) -- a number or a word
    end
  until depth == 0
  return at
end

-- Name > JSON text of each member of the object.
local function members(text)
  local list, at = {}, text:find("{", 1, true) + 1
  while true do
    at = text:find('["}]', at)
    if text:sub(at, at) == "}" then return list end
    local behind = behind_string(text, at)
    local name = cjson.decode("[" .. text:sub(at, behind - 1) .. "]")[1]
    at = text:find("[^%s:]", behind)
    behind = behind_value(text, at)
    list[name] = text:sub(at, behind - 1)
    at = behind
  end
end

-- What a record has. uriSpec is kept as it is.
local OURS = { name = true, id = true, address = true, port = true, sslPort = true, payload = true, registrationTimeUTC = true,
  serviceType = true, enabled = true, weight = true }

function M.is_ours(name) return OURS[name] == true end

function M.fields(data)
  local list = members(data)
  for name in pairs(OURS) do list[name] = nil end
  return list
end

-- ---- Reading -----------------------------------------------------------------------------------

-- The member's value, or nil if it is left out or null.
local function member(object, name)
  local value = object[name]
  if value == cjson.null then return nil end
  return value
end

local function is_port(value) return type(value) == "number" and value % 1 == 0 and value >= 0 and value <= PORT_MAX end

M.is_port = is_port

-- Each check returns what is wrong, or nil.
local function wrong_string(object, name)
  local value = member(object, name)
  if value == nil or value == "" then return ("it has no '%s'"):format(name) end
  if type(value) ~= "string" then return ("its '%s' is a %s, not a string"):format(name, type(value)) end
end

local function wrong_port(object, name)
  local value = member(object, name)
  if value ~= nil and not is_port(value) then return ("its '%s' is no port"):format(name) end
end

local function wrong_type(object, name, wanted)
  local value = member(object, name)
  if value ~= nil and type(value) ~= wanted then return ("its '%s' is a %s, not a %s"):format(name, type(value), wanted) end
end

local function wrong(object)
  return wrong_string(object, "id") or wrong_string(object, "address") or wrong_port(object, "port") or wrong_port(object, "sslPort")
    or wrong_type(object, "enabled", "boolean") or wrong_type(object, "registrationTimeUTC", "number")
    or wrong_type(object, "serviceType", "string")
end

-- A weight, also if it is written as a string: Spring's metadata are strings.
local function positive(value)
  value = tonumber(value ~= cjson.null and type(value) ~= "table" and type(value) ~= "boolean" and value or nil)
  return value and value > 0 and value <= WEIGHT_MAX and value or nil
end

-- True if it can be the weight of an instance.
function M.is_weight(value) return type(value) == "number" and positive(value) ~= nil end

-- The weight may be the member of ours, or be in the payload of a program that has no such member.
local function weight_of(object)
  local payload = object.payload
  local own = type(payload) == "table" and payload or {}
  local metadata = type(own.metadata) == "table" and own.metadata or {}
  return positive(object.weight) or positive(own.weight) or positive(metadata.weight) or 1
end

local function whole(number) return number and math.floor(number) end

function M.read(data)
  if data == nil or data == "" then return nil, "it has no data" end
  local object, problem = protected("decode", data)
  if object == nil then return nil, "its data are no JSON: " .. problem end
  if type(object) ~= "table" then return nil, "its JSON is no object" end
  local why = wrong(object)
  if why then return nil, why end
  local registered = member(object, "registrationTimeUTC")
  return { id = object.id, address = object.address, port = whole(member(object, "port")), ssl_port = whole(member(object, "sslPort")),
    meta = member(object, "payload"), weight = weight_of(object), enabled = member(object, "enabled") ~= false,
    registered = registered and registered / 1000, type = member(object, "serviceType") or "DYNAMIC" }
end

-- ---- Writing -----------------------------------------------------------------------------------

local function text_of(value) return value == nil and "null" or cjson.encode(value) end

-- In Curator's order; the foreign members by name.
function M.write(record, fields)
  local parts = {}
  local function add(name, text) parts[#parts + 1] = cjson.encode(name) .. ":" .. text end
  add("name", text_of(record.name))
  add("id", text_of(record.id))
  add("address", text_of(record.address))
  add("port", text_of(record.port))
  add("sslPort", text_of(record.ssl_port))
  add("payload", record.meta or "null")
  add("registrationTimeUTC", ("%.0f"):format(record.registered * 1000))
  add("serviceType", text_of(record.type))
  add("uriSpec", fields.uriSpec or "null")
  if not record.enabled then add("enabled", "false") end -- an old Curator does not know it
  if record.weight ~= 1 then add("weight", text_of(record.weight)) end
  local names = {}
  for name in pairs(fields) do
    if name ~= "uriSpec" then names[#names + 1] = name end
  end
  table.sort(names)
  for _, name in ipairs(names) do add(name, fields[name]) end
  return "{" .. table.concat(parts, ",") .. "}"
end

core.own(debug.getinfo(1, "S").source)
return M
