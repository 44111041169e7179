-- What is where on the servers, and what the znodes hold.
--
--   <path>/head                         the last position, and the first one that is kept
--   <path>/messages/<bucket>/<position> a message. A bucket holds 1,000 positions, so no directory becomes large
--   <path>/ids/<shard>/<id>             the position of the message that was published with this id
--   <path>/subscribers/<name>           what a named subscriber has acked
--
-- Positions begin with 1 and have no gaps.

local core = require "zkrecipes.core"
local hash = require "zkrecipes.rendezvous".hash

local M = { BUCKET = 1000, LAST = 2 ^ 53 } -- from LAST on, two positions may be the same number

local SHARDS = 100

-- ---- Paths -------------------------------------------------------------------------------------

function M.head(path) return path .. "/head" end

function M.buckets(path) return path .. "/messages" end

-- The directory of the message with this position.
function M.bucket(path, position) return ("%s/%.0f"):format(M.buckets(path), math.floor(position / M.BUCKET)) end

function M.message(path, position) return ("%s/%.0f"):format(M.bucket(path, position), position) end

-- The directory of this id. ids and names: as zk.escape gives them.
function M.shard(path, id) return ("%s/ids/%d"):format(path, hash(id) % SHARDS) end

function M.id(path, id) return M.shard(path, id) .. "/" .. id end

function M.subscriber(path, name) return path .. "/subscribers/" .. name end

-- ---- Data --------------------------------------------------------------------------------------

function M.encode_head(last, first) return ("last %.0f\nfirst %.0f\n"):format(last, first) end

-- { last =, first = }; nil: it is none. data: nil too.
function M.decode_head(data)
  local last, first = (data or ""):match "^last (%d+)\nfirst (%d+)\n$"
  last, first = tonumber(last), tonumber(first)
  return last and last < M.LAST and first <= last + 1 and { last = last, first = first } or nil
end

-- tag: of the transaction that publishes the message. id: nil: none.
function M.encode_message(tag, id, data) return ("%s\n%s\n"):format(tag, id or "") .. data end

-- Tag, id ("": none) and data; nil: it is none.
function M.decode_message(data) return (data or ""):match "^([^\n]+)\n([^\n]*)\n(.*)$" end

-- born: the czxid of the topic's head. owner: a word that one subscription has.
function M.encode_acked(position, born, owner) return ("acked %.0f\ntopic %s\nowner %s\n"):format(position, born, owner) end

function M.decode_acked(data)
  local position, born, owner = (data or ""):match "^acked (%d+)\ntopic (%x+)\nowner (%x+)\n$"
  return position and { position = tonumber(position), born = born, owner = owner }
end

core.own(debug.getinfo(1, "S").source)
return M
