-- An instance that this process has registered: a presence whose data are Curator's JSON.

local check = require "zkrecipes.check"
local core = require "zkrecipes.core"
local failure = require "zkrecipes.failure"
local json = require "zkrecipes.recipes.registry.json"
local random = require "zkrecipes.random"

local Registration = {}
Registration.__index = Registration
Registration.__name = "zkrecipes.registration"

local M = {}

-- ---- What the user gives -----------------------------------------------------------------------

local function check_text(value) return type(value) == "string" and value ~= "" or "string expected that is not empty" end
local function check_port(value) return json.is_port(value) or "whole number from 0 to 65535 expected" end
local function check_flag(value) return type(value) == "boolean" or "boolean expected" end

local function check_weight(value) return json.is_weight(value) or "number above 0, and at most 1e9, expected" end

local function check_meta(value)
  local text, problem = json.encode(value)
  return text ~= nil or "it has no JSON: " .. problem
end

local function check_text_of_json(value) return type(value) == "string" and json.is_text(value) or "JSON text expected" end

local function check_fields(value)
  if type(value) ~= "table" then return "table expected" end
  for name, text in next, value do
    if type(name) ~= "string" or json.is_ours(name) then return ("'%s' is no foreign name"):format(check.shown(name)) end
    if type(text) ~= "string" or not json.is_text(text) then return ("JSON text expected for '%s'"):format(check.shown(name)) end
  end
  return true
end

local KNOWN = { id = check_text, address = check_text, port = check_port, ssl_port = check_port, weight = check_weight,
  meta = check_meta, meta_json = check_text_of_json, enabled = check_flag, fields = check_fields }
local DEFAULTS = { weight = 1, enabled = true, fields = {} }
local FIXED = { id = true }
local NEEDED = { address = true }

-- lua-cjson's null takes a member away.
local function check_one(key, value, argument, name)
  if not KNOWN[key] then check.unknown(key, KNOWN, argument, name) end
  local is_null = value == json.null() and not NEEDED[key] and not FIXED[key]
  local problem = is_null or KNOWN[key](value)
  if problem ~= true then check.bad(argument, name, ("option '%s': %s, got %s"):format(key, problem, check.shown(value))) end
end

local function copied(value)
  local list = {}
  for name, text in pairs(value) do list[name] = text end
  return list
end

-- Tables are copied: the user may change them later.
local COPIES = { fields = copied, meta = json.encode }

-- Puts what is given into the record. Its meta is a text, as meta_json.
local function merge(record, given)
  for key, value in next, given do
    if value == json.null() then value = DEFAULTS[key] end
    if value ~= nil and COPIES[key] then value = COPIES[key](value) end
    record[key == "meta_json" and "meta" or key] = value
  end
  return record
end

local function checked(given, argument, name)
  check.plain(given, argument, name, "table")
  for key, value in next, given do check_one(key, value, argument, name) end
  if given.meta ~= nil and given.meta_json ~= nil then check.bad(argument, name, "options 'meta' and 'meta_json': give one") end
end

-- The text of a UUID, as Curator's ids.
local function random_id()
  return (random.hex(16):gsub("^(%x%x%x%x%x%x%x%x)(%x%x%x%x).(%x%x%x).(%x%x%x)(%x*)$", "%1-%2-4%3-8%4-%5"))
end

-- The record of a new instance.
function M.record(name, given)
  checked(given, 2, "register")
  if given.address == nil then check.bad(2, "register", "option 'address' is missing") end
  local record = { name = name, id = random_id(), weight = 1, enabled = true, fields = {}, type = "DYNAMIC",
    registered = os.time() }
  return merge(record, given)
end

-- ---- The class ---------------------------------------------------------------------------------

local function data_of(record) return json.write(record, record.fields) end

-- An ephemeral znode at the path, with the record's JSON; or nil, message, code.
function M.make(session, path, record)
  local presence, message, code = session:presence(path, data_of(record))
  if not presence then return nil, message, code end
  return setmetatable({ id = record.id, name = record.name, path = path, presence = presence, record = record }, Registration)
end

-- registration:ready([timeout]), registration:leave([timeout]), registration:state()
function Registration:ready(timeout) return self.presence:ready(timeout) end
function Registration:leave(timeout) return self.presence:leave(timeout) end
function Registration:state() return self.presence:state() end

-- registration:update(changes [, timeout]): what is not in `changes` stays.
function Registration:update(changes, timeout)
  checked(changes, 1, "update")
  if changes.id ~= nil and changes.id ~= self.id then check.bad(1, "update", "an id cannot be changed") end
  check.seconds(timeout, 2, "update", true)
  local before, record = self.record, merge(copied(self.record), changes)
  self.record = record
  local ok, message, code = self.presence:update(data_of(record), timeout)
  if code == "too_large" and self.record == record then self.record = before end -- the presence has not taken it
  return ok, message, code
end

failure.name(Registration, "registration")
check.selves("registration", Registration, Registration)

core.own(debug.getinfo(1, "S").source)
return M
