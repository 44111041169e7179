-- Makes a server whose tree seems to have a long history. It sets a znode's counter of children, which is the number of the next sequential
-- znode, or its counter of writes, which is its version. It sets them in the snapshot from which the server starts.
--
--   snapshot.set_counter(server, "/dir", 2147483600)             -- the next sequential child gets this number
--   snapshot.set(server, { ["/a"] = { version = 2147483647 } })  -- as after this many writes
--
-- 1. The server is killed and started, which makes it write a snapshot of its whole tree.
-- 2. It is killed again. In the newest snapshot the znode's number is replaced and the checksum is computed again. (The transactions after
--    the snapshot are replayed at the start; there are none below that znode.)
-- 3. The server is started from it.
--
-- The format is ZooKeeper's (FileSnap, SerializeUtils, DataTree), written by jute, all big-endian:
--   "ZKSN", int version, long dbid
--   int count, sessions { long id, int timeout }
--   int count, ACLs { long id, int count, { int perms, string scheme, string id } }
--   znodes { string path, buffer data, long acl, stat }, then the string "/"; the root is called ""
--   long Adler-32 of all before, string "/"; the tree's digest may follow, sealed in the same way
-- A string or buffer is an int, its length (-1: null), and its bytes.

local M = {}

-- In a znode's stat, after czxid, mzxid, ctime, mtime (longs) and version (int); 60 bytes in all.
local OFFSETS, STAT = { version = 32, counter = 36 }, 60

local function int(text, at)
  local a, b, c, d = text:byte(at, at + 3)
  local value = ((a * 256 + b) * 256 + c) * 256 + d
  return value < 2147483648 and value or value - 4294967296
end

local function bytes_of(value)
  local bytes = {}
  for i = 4, 1, -1 do
    bytes[i] = string.char(value % 256)
    value = math.floor(value / 256)
  end
  return table.concat(bytes)
end

local function skip_string(text, at)
  return at + 4 + math.max(0, int(text, at))
end

-- The position of the first znode.
local function skip_head(text)
  assert(text:sub(1, 4) == "ZKSN", "this is no snapshot")
  local at = 17
  at = at + 4 + 12 * int(text, at)
  local acls = int(text, at)
  at = at + 4
  for _ = 1, acls do
    local entries = int(text, at + 8)
    at = at + 12
    for _ = 1, entries do
      at = skip_string(text, skip_string(text, at + 4))
    end
  end
  return at
end

-- The position of the znode's stat, and of the end of all znodes.
local function find(text, path)
  local at, found = skip_head(text), nil
  while true do
    local name = text:sub(at + 4, skip_string(text, at) - 1)
    at = skip_string(text, at)
    if name == "/" then return found, at end
    at = skip_string(text, at) + 8
    if name == path then found = at end
    at = at + STAT
  end
end

local function adler32(text)
  local a, b = 1, 0
  for i = 1, #text do
    a = (a + text:byte(i)) % 65521
    b = (b + a) % 65521
  end
  return b * 65536 + a
end

local function seal(text)
  return text .. bytes_of(0) .. bytes_of(adler32(text)) .. bytes_of(1) .. "/"
end

-- The digest is left out: the server accepts a snapshot without one, and this digest would be wrong.
local function with_number(text, path, offset, number)
  local stat, done = find(text, path)
  assert(stat, "the snapshot has no znode " .. path)
  local at = stat + offset
  return seal(text:sub(1, at - 1) .. bytes_of(number) .. text:sub(at + 4, done - 1))
end

local function newest(folder)
  local pipe = assert(io.popen("ls -t '" .. folder .. "'/data/version-2/snapshot.*"))
  local path = pipe:read("*l")
  pipe:close()
  return assert(path, "the server has written no snapshot")
end

local function rewrite(path, change)
  local file = assert(io.open(path, "rb"))
  local text = change(file:read("*a"))
  file:close()
  file = assert(io.open(path, "wb"))
  file:write(text)
  file:close()
end

-- Sets numbers of znodes. Sessions and their ephemeral znodes survive, as in any restart.
---@param server zkrecipes.testing.Server a standalone one
---@param znodes table<string, { counter: integer?, version: integer? }> by path; they are there
function M.set(server, znodes)
  assert(server:restart())
  server:kill()
  rewrite(newest(server.folder), function(text)
    for path, numbers in pairs(znodes) do
      for name, number in pairs(numbers) do text = with_number(text, path, OFFSETS[name], number) end
    end
    return text
  end)
  assert(server:restart())
end

---The next sequential child of the znode will get this number.
---@param server zkrecipes.testing.Server a standalone one
---@param path string of a znode that is there
---@param counter integer up to 2147483647
function M.set_counter(server, path, counter) M.set(server, { [path] = { counter = counter } }) end

return M
