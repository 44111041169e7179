-- The user's codec, called so that its errors end nothing: encode and decode give their result, or nil and what is wrong.

local check = require "zkrecipes.check"
local core = require "zkrecipes.core"
local coroutines = require "zkrecipes.host.coroutines"
local wait = require "zkrecipes.host.wait"

local M = {}

local function result(name, wanted, ok, value, problem)
  if not ok and value == wait.canceled then error(value, 0) end -- that of our caller
  if not ok then return nil, ("the codec's %s raised: %s"):format(name, check.text(value)) end
  if value == nil then return nil, ("the codec's %s failed: %s"):format(name, check.text(problem or "it gave nil")) end
  if wanted and type(value) ~= wanted then return nil, ("the codec's %s gave a %s, not a %s"):format(name, type(value), wanted) end
  return value
end

local function protected(fn, name, wanted)
  return function(value) return result(name, wanted, coroutines.pcall(fn, value)) end
end

local function same(value) return value end

-- codec: a table with `encode` and `decode`, as cjson; nil: the values are the data.
function M.of(codec)
  local encode, decode = same, same
  if codec then
    encode, decode = codec.encode, codec.decode
    check.fn(encode, 2, "config: option 'codec': encode")
    check.fn(decode, 2, "config: option 'codec': decode")
  end
  return { encode = protected(encode, "encode", "string"), decode = protected(decode, "decode") }
end

core.own(debug.getinfo(1, "S").source)
return M
