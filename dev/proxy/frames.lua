-- ZooKeeper's wire protocol, as far as a proxy must know it: frames after a length of four bytes. The first frame each way opens the
-- session. After that a request begins with xid and opcode, an answer with xid, zxid and error.

local M = {}

M.NAMES = { [-11] = "closeSession", [1] = "create", [2] = "delete", [3] = "exists", [4] = "getData", [5] = "setData",
  [6] = "getACL", [7] = "setACL", [8] = "getChildren", [9] = "sync", [11] = "ping", [12] = "getChildren2",
  [13] = "check", [14] = "multi", [15] = "create2", [16] = "reconfig", [17] = "checkWatches", [18] = "removeWatches",
  [19] = "createContainer", [20] = "deleteContainer", [21] = "createTTL", [22] = "multiRead", [100] = "auth",
  [101] = "setWatches", [102] = "sasl", [103] = "getEphemerals", [104] = "getAllChildrenNumber",
  [105] = "setWatches2", [106] = "addWatch", [107] = "whoAmI" }

M.EVENT = -1 -- the xid of a watch event

-- What the client sends without a call of the user. (removeWatches: a second after nothing has needed the watch any more.)
local BY_ITSELF = { connect = true, ping = true, heartbeat = true, removeWatches = true }

---Is it one that `*` in a fault and the sum `requests` mean?
function M.by_call(name) return not BY_ITSELF[name] end

-- Longer than any frame of a reasonable test: this is not a ZooKeeper client, but for example a four-letter word.
local TOO_LONG = 64 * 1024 * 1024

---Where the frame at `at` ends.
---@return integer|nil last position of its last byte; nil while it is incomplete
---@return boolean? raw true when these are no frames at all
function M.last(data, at)
  if #data - at + 1 < 4 then return nil end
  local length = string.unpack(">I4", data, at)
  if length > TOO_LONG then return nil, true end
  local last = at + 3 + length
  return last <= #data and last or nil
end

local PATHLESS = { ping = true, multi = true, multiRead = true, closeSession = true, auth = true, sasl = true,
  setWatches = true, setWatches2 = true, reconfig = true, whoAmI = true }

local function path_of(data, at, last)
  if at + 3 > last then return "" end
  local length = string.unpack(">i4", data, at)
  if length < 0 or at + 3 + length > last then return "" end
  return data:sub(at + 4, at + 3 + length)
end

-- Parses a request. A sync of "/" is the heartbeat of the lease and gets a name of its own.
---@return integer xid
---@return string name
---@return string path
function M.request(data, at, last)
  if last - at + 1 < 12 then return 0, "broken", "" end
  local xid, op = string.unpack(">i4i4", data, at + 4)
  local name = M.NAMES[op] or ("op" .. op)
  local path = PATHLESS[name] and "" or path_of(data, at + 12, last)
  if name == "sync" and path == "/" then name = "heartbeat" end
  return xid, name, path
end

---@return integer xid of an answer
function M.reply(data, at, last)
  return last - at + 1 < 8 and 0 or (string.unpack(">i4", data, at + 4))
end

---@return string session id from the first answer
function M.session(data, at, last)
  return last - at + 1 < 20 and "" or ("%016x"):format((string.unpack(">i8", data, at + 12)))
end

-- Returns a client's greeting as if it had no session: the server begins a new one.
function M.without_session(data)
  return data:sub(1, 20) .. ("\0"):rep(8) .. data:sub(29)
end

return M
