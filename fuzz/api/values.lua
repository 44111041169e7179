-- Values to call with: those that fit an argument of this name, and wild ones.

local zk = require "zkrecipes"

local M = { PURPOSE = "raised on purpose" }

local inf = math.huge
local nan = inf - inf

M.raised = setmetatable({}, { __tostring = function() return M.PURPOSE end })

local megabyte = ("x"):rep(1100000)

-- ---- Strings -----------------------------------------------------------------------------------

local PATHS = { "/a", "/b", "/a/b", "/a/c", "/lock", "/lock/x", "/.a", "/d/e/f/g", "/q-", "/" }
local BAD_PATHS = { "", "a", "//", "/a/", "/a//b", "/a/../b", "/.", "/a\0b", "/\255", "/\1", "/\240\159\152\128", "/a b%s%n",
  "/" .. ("n"):rep(300), "/" .. ("deep/"):rep(50) .. "x" }
local STRINGS = { "", "x", "0", "1", "-1", "1e400", "nan", "\0", "a\0b", "\255\254", "%s%n%d", "open", "creator", "read", "rwcda",
  "digest", "world", "auth", "user:password", "127.0.0.1:1", "function", "\r\n", "closed", "builtin", "../x", ("y"):rep(5000) }
local HOSTS = { "127.0.0.1:1", "[::1]:1", "127.0.0.1:1/chroot", "", ",", "a:0", "a:99999", "[", "[::1", "127.0.0.1:1/", "a b",
  "127.0.0.1:1,127.0.0.1:2", ("h"):rep(300), "a\0b", "127.0.0.1:1//" }

function M.path(dice)
  if dice:one_in(12) then return dice:pick(BAD_PATHS) end
  if dice:one_in(400) then return "/" .. megabyte end
  return dice:pick(PATHS)
end

function M.data(dice)
  if dice:one_in(60) then return megabyte end
  if dice:one_in(4) then return nil end
  return dice:one_in(3) and dice:pick(STRINGS) or ("d"):rep(dice:below(200))
end

local function any_string(dice) return dice:one_in(300) and megabyte or dice:pick(STRINGS) end

function M.id(dice) return dice:one_in(8) and any_string(dice) or dice:pick { "first", "second", "third" } end
function M.format(dice) return dice:one_in(8) and any_string(dice) or "simple" end
function M.prefix(dice) return dice:one_in(8) and any_string(dice) or "name-" end
function M.scheme(dice) return dice:one_in(2) and "digest" or any_string(dice) end
function M.credential(dice) return dice:one_in(2) and "user:password" or any_string(dice) end

-- ---- Numbers -----------------------------------------------------------------------------------

local NUMBERS = { 0, -0.0, 1, -1, 2, 0.5, 1.5, -1.5, 127, 2 ^ 31 - 1, 2 ^ 31, -2 ^ 31, -2 ^ 31 - 1, 2 ^ 32, 2 ^ 53, 2 ^ 63, -2 ^ 63,
  2 ^ 64, 1e9, 1e9 + 1, 1e18, 1e300, 5e-324, 1e-7, inf, -inf, nan, 2147483648001 }

function M.version(dice)
  if dice:one_in(2) then return nil end
  return dice:one_in(3) and dice:below(4) or dice:one_in(2) and -1 or dice:pick(NUMBERS)
end

-- Numbers of members, items or permits.
local function few(dice) return dice:one_in(8) and dice:pick(NUMBERS) or dice:below(3) + 1 end

M.count, M.size, M.limit, M.permits, M.capacity, M.attempts, M.quorum = few, few, few, few, few, few, few

function M.priority(dice) return dice:one_in(8) and dice:pick(NUMBERS) or dice:below(3) end

function M.number(dice) return dice:one_in(4) and dice:pick(NUMBERS) or dice:below(4) - 1 end
M.expected = M.number

function M.seen(dice) return dice:one_in(4) and dice:pick(NUMBERS) or dice:below(12) end

function M.timeout(dice)
  if dice:one_in(15) then return nil end
  if dice:one_in(4) then return 0 end
  if dice:one_in(12) then return dice:pick(NUMBERS) end
  return dice:below(40) / 1000
end

M.seconds, M.delay = M.timeout, M.timeout

-- ---- Functions ---------------------------------------------------------------------------------

-- `call(dice)` makes one more random call; its caller provides it.
function M.fn(dice)
  local kind, inner, call = dice:below(9), dice:fork(), M.call
  if kind == 0 then return function() error(M.PURPOSE) end end
  if kind == 1 then return function() error(M.raised) end end
  if kind == 2 then return function() collectgarbage() return nil, 1 end end
  if kind == 3 then return function() zk.sleep(inner:below(10) / 1000) return "slept" end end
  if kind == 4 then return setmetatable({}, { __call = function(_, ...) return ... end }) end
  if kind == 5 then return function(...) return ... end end
  return function()
    for _ = 1, inner:below(3) do call(inner) end
    return "called"
  end
end

function M.fns(dice)
  local list = {}
  for i = 1, dice:below(4) do list[i] = dice:one_in(20) and M.wild(dice) or M.fn(dice) end
  return list
end

-- ---- Tables ------------------------------------------------------------------------------------

local function raise() error(M.PURPOSE, 0) end

-- Tables with hostile metatables.
local function evil(dice)
  local meta, cycle = {}, {}
  cycle[1], cycle.path, cycle.acl = cycle, cycle, cycle
  if dice:one_in(4) then return cycle end
  if dice:one_in(2) then meta.__index = raise end
  if dice:one_in(2) then meta.__newindex = raise end
  if dice:one_in(3) then meta.__len = dice:pick { raise, function() return "5" end, function() return 1e9 end } end
  if dice:one_in(3) then meta.__pairs = raise end
  if dice:one_in(3) then meta.__tostring = dice:pick { raise, function() return 5 end } end
  if dice:one_in(3) then meta.__metatable = false end
  if dice:one_in(3) then meta.__eq = raise end
  if dice:one_in(3) then meta.__name = dice:pick { "zkrecipes.lock", "x", 5 } end
  return setmetatable(dice:one_in(2) and {} or { "a", "b" }, meta)
end

local PERMS = { "rwcda", "r", "cd", "", "x", "rr", { "read", "write" }, { "nothing" }, {}, 5, "r\0w" }

function M.acl(dice)
  if dice:one_in(2) then return dice:pick { "open", "creator", "read", "open", "open", "none" } end
  local list = {}
  for i = 1, dice:below(3) + 1 do
    list[i] = { perms = dice:pick(PERMS), scheme = dice:pick { "world", "auth", "digest", "ip", "" },
      id = dice:pick { "anyone", "", "user:xyz", "127.0.0.1", "a\0b" } }
  end
  return list
end

local WORDS = { "create", "set", "delete", "check" }

function M.parts(dice)
  local list = {}
  for i = 1, dice:one_in(50) and 300 or dice:below(5) do
    local word = dice:one_in(20) and any_string(dice) or dice:pick(WORDS)
    local part = { word, M.path(dice) }
    if word == "create" then
      part[3], part[4] = M.data(dice), dice:one_in(2) and { sequential = dice:one_in(2), ephemeral = dice:one_in(2) } or nil
    else
      part[3] = word == "set" and M.data(dice) or dice:one_in(4) and M.version(dice) or nil
    end
    list[i] = dice:one_in(30) and M.wild(dice) or part
  end
  return list
end

-- A list of items to put.
function M.list(dice)
  local list = {}
  for i = 1, dice:below(4) do
    list[i] = dice:one_in(2) and "item" or { data = M.data(dice), priority = dice:one_in(3) and M.priority(dice) or nil,
      delay = dice:one_in(3) and M.delay(dice) or nil, id = dice:one_in(3) and M.id(dice) or nil }
    if dice:one_in(30) then list[i] = M.wild(dice) end
  end
  return list
end

function M.locks(dice)
  local list = {}
  for i = 1, dice:below(3) + 1 do
    list[i] = M.object(dice, dice:pick { "lock", "side", "semaphore" })
    if dice:one_in(20) then list[i] = M.wild(dice) end
  end
  return list
end

function M.auths(dice)
  local list = {}
  for i = 1, dice:below(3) do list[i] = { scheme = M.scheme(dice), credential = M.credential(dice) } end
  return list
end

-- The filter of a tree. Most filters do not fit the tree's path.
function M.filter(dice)
  local list = {}
  for i = 1, dice:below(3) do
    list[i] = dice:one_in(4) and M.path(dice) or dice:pick { "/a/*", "/a/b*", "/*/x", "/*" }
    if dice:one_in(20) then list[i] = M.wild(dice) end
  end
  return list
end

-- The file of a tree: one of two, for all calls, so that no other file is written (see fuzz/api.lua).
M.files = { os.tmpname(), os.tmpname() }
for _, name in ipairs(M.files) do os.remove(name) end

function M.file(dice) return dice:one_in(8) and any_string(dice) or dice:pick(M.files) end

-- The codec of a configuration: one for strings, or random functions.
function M.codec(dice)
  if dice:one_in(4) then return { encode = M.fn(dice), decode = M.fn(dice) } end
  return { encode = tostring, decode = function(data) return data ~= "" and data or nil, "empty" end }
end

function M.hosts(dice)
  if dice:one_in(4) then return { dice:pick(HOSTS), dice:one_in(2) and dice:pick(HOSTS) or nil } end
  return dice:one_in(2) and M.server or dice:pick(HOSTS)
end

-- By the type that the reference gives to a field of a table of options.
local function of_type(dice, name, kind)
  if name == "ttl" or name == "timeout" then return dice:pick { 0.001, 0.4, 1, 5, 60, 0, -1, inf, nan, 1e9 } end
  if name == "namespace" then return M.path(dice) end
  if M[name] then return M[name](dice) end
  if kind == "boolean" then return dice:one_in(2) end
  if kind == "number" or kind == "integer" then return dice:pick(NUMBERS) end
  if kind == "function" then return M.fn(dice) end
  if kind == "zkrecipes.Acl" then return M.acl(dice) end
  if kind == "zkrecipes.Auth[]" then return M.auths(dice) end
  return any_string(dice)
end

function M.options(dice, known)
  if not known or dice:one_in(6) then return nil end
  local names, options = {}, {}
  for name in pairs(known) do names[#names + 1] = name end
  table.sort(names)
  for _, name in ipairs(names) do
    if dice:one_in(3) then
      options[name] = dice:one_in(20) and M.wild(dice) or of_type(dice, name, known[name])
    end
  end
  if dice:one_in(30) then options[any_string(dice)] = true end
  if dice:one_in(30) then options[dice:below(5)] = true end
  return dice:one_in(30) and setmetatable(options, { __index = raise }) or options
end

-- ---- Anything ----------------------------------------------------------------------------------

function M.wild(dice)
  local kind = dice:below(12)
  if kind == 0 then return nil end
  if kind == 1 then return dice:one_in(2) end
  if kind <= 3 then return dice:pick(NUMBERS) end
  if kind <= 5 then return any_string(dice) end
  if kind == 6 then return evil(dice) end
  if kind == 7 then return {} end
  if kind == 8 then return M.fn(dice) end
  if kind == 9 then return dice:pick { io.stdout, coroutine.create(raise), zk, M.raised, zk.canceled } end
  if kind == 10 then return M.object and M.object(dice) end
  return M.path(dice)
end

return M
