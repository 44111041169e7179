-- The requests that publishers and subscribers share: making a topic, reading its head, and several reads in flight.

local core = require "zkrecipes.core"
local layout = require "zkrecipes.recipes.topic.layout"
local limits = require "zkrecipes.limit"
local requests = require "zkrecipes.lost_answers"
local wait = require "zkrecipes.host.wait"

local M = {}

local ROUNDS = 6 -- attempts to make a topic

-- ---- The head ----------------------------------------------------------------------------------

local function damaged(path, what)
  return nil, ("session:get %s: %s; delete the topic, or use another path"):format(layout.head(path), what), "conflict"
end

-- head_of(session, data, stat): { last =, first =, version =, born = (its czxid), time = (of the servers, in seconds), told = (when we
-- learned that) }; nil: the data are not those of a head.
function M.head_of(session, data, stat)
  local head = layout.decode_head(data)
  if not head then return nil end
  head.version, head.born, head.time = stat.version, stat.czxid, stat.mtime / 1000
  head.told = core.host(limits.real(session)).adapter.now()
  return head
end

-- The head as this session's server has it; or nil, message, code.
function M.head(session, path)
  local data, stat, code = requests.sure(session.get, session, layout.head(path))
  if code then return nil, stat, code end
  local head = M.head_of(session, data, stat)
  if head then return head end
  return damaged(path, "the znode holds no topic")
end

-- The head as the leader has it now, or later; or nil, message, code.
function M.present_head(session, path)
  local ok, message, code = requests.sure(session.sync, session, layout.head(path))
  if not ok then return nil, message, code end
  return M.head(session, path)
end

-- The head comes last, so all is there when it is.
local function make_once(session, path)
  local made, message, code = requests.sure(session.create, session, path .. "/subscribers", "", { parents = true })
  if not made and code ~= "node_exists" then return nil, message, code end
  return requests.sure(session.multi, session, {
    { "create", path .. "/messages", "" },
    { "create", layout.bucket(path, 1), "" },
    { "create", path .. "/ids", "" },
    { "create", layout.head(path), layout.encode_head(0, 1) },
  })
end

local function make(session, path)
  local made, message, code
  for _ = 1, ROUNDS do
    made, message, code = make_once(session, path)
    if made or code == "node_exists" then return true end
    if code ~= "no_node" then break end -- otherwise the parent has just been deleted
  end
  return nil, message, code
end

-- The head of the topic, which is made if it does not exist; or nil, message, code.
function M.open(session, path)
  local head, message, code = M.head(session, path)
  if code ~= "no_node" then return head, message, code end
  local made
  made, message, code = make(session, path)
  if not made then return nil, message, code end
  head, message, code = M.head(session, path)
  if code == "no_node" then return damaged(path, "the znode is missing, but a part of the topic exists") end
  return head, message, code
end

-- ---- Several reads in flight -------------------------------------------------------------------

local start_get = core.classes.session.start.get

local Reads = {}
Reads.__index = Reads

-- A line of reads: ask(path) sends one, take() gives the answer to the oldest, drop() forgets all.
function M.reads(session) return setmetatable({ session = session, first = 1, last = 0 }, Reads) end

function Reads:ask(path)
  local slot, host, code = start_get(self.session, path)
  self.last = self.last + 1
  self[self.last] = slot and wait.expect(host, slot) or { refused = host, code = code }
end

function Reads:take()
  local record = self[self.first]
  self[self.first] = nil
  self.first = self.first + 1
  if record.code then return nil, record.refused, record.code end
  return wait.await(record.host, record.slot, record)
end

function Reads:drop()
  for i = self.first, self.last do
    if not self[i].code then self[i]:give_up() end
    self[i] = nil
  end
  self.first, self.last = 1, 0
end

core.own(debug.getinfo(1, "S").source)
return M
