-- What the specs of zk.escape share: names, and what is wrong with an escaped one.

local zk = require "zkrecipes"
local core = require "zkrecipes.core"

local M = {}

local HEX = ("%x"):rep(16)

-- Names of znodes of recipes, Curator, kazoo and the server.
local OURS = { "^[.][.]?$", "^zookeeper$", "^_c_", "^__", "[-_]%-?%d%d%d%d%d%d%d%d%d%d?$", "^" .. HEX .. "[-_]", "^latch%-", "^qn%-",
  "^w%-", "^m%-", "^round%-", "^lock%-", "^rank%-", "^lease%-", "^b%-", "^used%-%d",
  "^mark%-" .. HEX, "%-timer$" }
local WORDS = "seat lanes dead later claims consumers ids done in out open leases locks ready queue transactions participants clock "
  .. "parts members"
for word in WORDS:gmatch "%S+" do OURS[#OURS + 1] = "^" .. word .. "$" end

M.SPECIAL = { "", ".", "..", "...", "/", "//", "a/b", "../..", "zookeeper", "Zookeeper", "=", "==", "=2F", "/=2F", "%2F", "\0", "a\0b",
  "\255", "\194\128", "\239\191\189", "\240\159\146\169", "\237\160\128", "\192\175", "\226\130", "17/x-lock-0000000000",
  "x-lock-0000000000", "lock-0000000000", "latch-0000000001", "a-rank-0000000001", "2-lease-0000000007", "qn-0000000001", "qn-1", "w-7",
  "m-7", "round-1", "b-0000000001", "__WRIT__0000000000", "__READ__0000000000", "x__lock__0000000003", "_c_1-lock-0000000000",
  "lock--2147483648", "lock--147483648", "0123456789abcdef-1", "0123456789abcdef_1_2-q-0000000001", "order-1700000000", "1700000000",
  "seat", "lanes", "dead", "later", "claims", "consumers", "ids", "in", "out", "open", "opens",
  "done", "leases", "locks", "ready", "queue", "queues", "used-0", "used-1023", "used-x", "mark-0123456789abcdef-1", "mark-up",
  "transactions", "participants", "clock", "parts", "members", "job-timer", "-timer", "timer", "timers" }

function M.back(escaped)
  if escaped == "=" then return "" end
  return (escaped:gsub("=(%x%x)", function(digits) return string.char(tonumber(digits, 16)) end))
end

-- What is wrong with the escaped name, or nil.
local function problem_of(name, escaped)
  if M.back(escaped) ~= name then return "means another name" end
  if core.path_problem("/" .. escaped) then return core.path_problem("/" .. escaped) end
  if escaped:find("/", 1, true) then return "is more than one component" end
  if #escaped > 3 * math.max(#name, 1) then return "is too long" end
  for i = 1, #OURS do
    if escaped:find(OURS[i]) then return "looks like one of ours: " .. OURS[i] end
  end
end

-- Gives the escaped name. Plain Lua: for 85,000 names busted's assertions would take a minute.
function M.check(name)
  local escaped = zk.escape(name)
  local problem = problem_of(name, escaped)
  if problem then error(("%q: %q %s"):format(name, escaped, problem), 2) end
  return escaped
end

-- Park and Miller's generator: the same names on every Lua.
local function dice(seed)
  return function(n)
    seed = seed * 16807 % 2147483647
    return seed % n + 1
  end
end

function M.random_names(seed, count)
  local roll, pieces, names = dice(seed), {}, {}
  for _, special in ipairs(M.SPECIAL) do pieces[#pieces + 1] = special end
  for byte = 0, 255 do pieces[#pieces + 1] = string.char(byte) end
  for digit = 0, 9 do pieces[#pieces + 1] = tostring(digit):rep(3) end
  for i = 1, count do
    local parts = {}
    for j = 1, roll(6) do parts[j] = pieces[roll(#pieces)] end
    names[i] = table.concat(parts)
  end
  return names
end

return M
