-- zk.escape(name): one safe path component from any bytes.
--
-- 1. Letters, digits, '-', '_', '.' and all of UTF-8 that ZooKeeper takes beyond ASCII stay as they are. Every other byte
--    becomes '=' and two hexadecimal digits. 2. An empty name becomes a single '='. 3. Names that mean something in a directory
--    get one more byte escaped: '.', '..' and 'zookeeper'; names that a recipe of ours, Curator or kazoo could have made.
--
-- To read '=XX' as that byte gives the name back, so no two names become one. No recipe makes a name with an '='.

local check = require "zkrecipes.check"
local core = require "zkrecipes.core"

local MOST = 1000 -- bytes of a name

-- The end of every sequential znode's name: ten digits, or fewer below zero. In a contender's name the stem is ahead of the digits, and
-- ends with this '-' or '_'.
local NUMBERED = "^(.*)([-_])(%d%d%d%d%d%d%d%d%d%d?)$"

local HEX = ("%x"):rep(16)

-- Names that begin so: tags (session and counter), Curator's and kazoo's names, the znodes of barriers, queues, snowflakes and counters.
-- The lists here name what has no stem, so no description in the core says it; `core.stems` has the rest. The numbers of workers are not
-- here: keys are often numbers.
local BEGINNINGS = { "^" .. HEX .. "[-_]", "^__", "^_c_", "^qn%-", "^w%-", "^m%-", "^round%-", "^b%-",
  "^used%-%d", "^mark%-" .. HEX }

-- What queues, latches, semaphores, workers, transactions, partitions and topics keep in their directories, and the server at the root.
local WORDS = {}
local NAMES = "zookeeper . .. seat lanes dead later claims consumers ids done in out open leases locks ready queue "
  .. "transactions participants clock parts members head messages subscribers"
for word in NAMES:gmatch "%S+" do WORDS[word] = true end

local function hex(char) return ("=%02X"):format(char:byte()) end

-- Bytes from 128 on. ZooKeeper takes no character of four bytes.
local function beyond_ascii(run)
  local parts, at = {}, 1
  while at <= #run do
    local char = run:sub(at, at + (run:byte(at) < 0xE0 and 1 or 2))
    if #char == 1 or core.path_problem("/" .. char) then
      char = run:sub(at, at)
      parts[#parts + 1] = hex(char)
    else
      parts[#parts + 1] = char
    end
    at = at + #char
  end
  return table.concat(parts)
end

local function is_reserved(name)
  if WORDS[name] then return true end
  for i = 1, #core.stems do
    if name:sub(1, #core.stems[i]) == core.stems[i] then return true end
  end
  for i = 1, #BEGINNINGS do
    if name:find(BEGINNINGS[i]) then return true end
  end
  return false
end

local function escape(name)
  if type(name) ~= "string" then check.bad(1, "escape", "string expected, got " .. type(name)) end
  if #name > MOST then
    return nil, ("zk.escape: a name of %d bytes is too long for a path; the most is %d"):format(#name, MOST), "too_large"
  end
  if name == "" then return "=" end
  local escaped = name:gsub("[^A-Za-z0-9_.\128-\255-]", hex):gsub("[\128-\255]+", beyond_ascii)
  escaped = escaped:gsub(NUMBERED, function(head, dash, digits) return head .. hex(dash) .. digits end)
  escaped = escaped:gsub("%-timer$", hex "-" .. "timer") -- the record of a timer stands beside its election
  if is_reserved(name) then escaped = hex(name) .. escaped:sub(2) end
  return escaped
end

core.own(debug.getinfo(1, "S").source)
return escape
