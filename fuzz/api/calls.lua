-- Makes one random call after the other: chooses the function, the object, the arguments and the way; and judges the results.

local core = require "zkrecipes.core"
local rules = require "fuzz.api.rules"
local targets = require "fuzz.api.targets"
local values = require "fuzz.api.values"
local zk = require "zkrecipes"

local unpack = table.unpack or unpack -- luacheck: ignore 113 143
local close_coroutine = coroutine.close -- luacheck: ignore 143

local M = { calls = 0, counts = {}, good = {}, depth = 0 }

local KEPT = 8      -- objects of each kind
local STUCK = 100   -- seconds after which a canceled call counts as one that hangs
local DEEPEST = 3   -- calls in callbacks of calls

for _, target in ipairs(targets.list) do M.counts[target.label], M.good[target.label] = 0, 0 end

-- ---- The record --------------------------------------------------------------------------------

local function short(value)
  local kind = type(value)
  if kind == "string" then
    return #value > 40 and ("(%q... %d bytes)"):format(value:sub(1, 20), #value) or ("%q"):format(value)
  end
  if kind == "number" then return ("%.17g"):format(value) end
  if kind ~= "table" then return kind == "userdata" and tostring(value) or kind == "boolean" and tostring(value) or kind end
  return targets.metas[debug.getmetatable(value)] or debug.getmetatable(value) and "{ with a metatable }" or "{ " .. #value .. " }"
end

local function describe(target, list)
  local words = {}
  for i = 1, list.n do words[i] = short(list[i]) end
  return ("%s (%s)"):format(target.label, table.concat(words, ", "))
end

local function note(text) M.trace:write((text:gsub("[^\32-\126]", "?")), "\n") end
M.note = note

-- Ends the program. The last lines of the record show the violation.
function M.wrong(what, detail)
  note("WRONG: " .. what .. ": " .. tostring(detail))
  M.trace:flush()
  os.exit(1)
end

-- ---- The objects -------------------------------------------------------------------------------

local pool

function M.clear(dice)
  pool = {}
  M.dice, M.sessions = dice, {} -- keeps a session until its round has closed it, because an abandoned coroutine may wait in it
end

function M.keep(kind, object)
  local list = pool[kind] or {}
  pool[kind] = list
  if kind == "session" then M.sessions[object] = true end
  list[#list < KEPT and #list + 1 or M.dice:below(KEPT) + 1] = object
end

-- The objects of a method that was added later are found by their metatables.
local function adopt(target, ...)
  for i = 1, select("#", ...) do
    local value = select(i, ...)
    local kind = (type(value) == "userdata" or type(value) == "table") and targets.metas[debug.getmetatable(value)]
    if kind then M.keep(kind, value) end
  end
  if target.name == "loop" and ... then M.keep("loop", (...)) end
  if type((...)) == "function" and not target.property then M.keep(target.name, (...)) end
end

-- An object of this kind; nil if there is none.
local function object_of(dice, kind)
  local list = pool[kind]
  return list and dice:pick(list)
end

local KINDS = { "session", "lock", "hold" }
for _, target in ipairs(targets.list) do KINDS[#KINDS + 1] = target.kind end

function values.object(dice, kind) return object_of(dice, kind or dice:pick(KINDS)) end

-- ---- One call ----------------------------------------------------------------------------------

local function judge(target, ok, ...)
  local problem
  if ok then
    problem = rules.returned(target.name, select("#", ...), ...)
    if ... ~= nil then M.good[target.label] = M.good[target.label] + 1 end
    adopt(target, ...)
  else
    problem = rules.raised(target.name, (...))
  end
  if problem then
    note("of " .. target.label .. (ok and " came: " or " raised: ") .. short((...)) .. ", " .. short((select(2, ...))))
    M.wrong(problem .. " (" .. target.label .. ")", ok and select(2, ...) or (...))
  end
  return ...
end

local function invoke(target, list)
  M.calls = M.calls + 1
  M.counts[target.label] = M.counts[target.label] + 1
  note(describe(target, list))
  return judge(target, pcall(target.call, unpack(list, 1, list.n)))
end

local function argument(dice, name, signature)
  if dice:one_in(15) then return values.wild(dice) end
  if name == "options" then return values.options(dice, signature.options) end
  if name == "type" or name == "log" then return values.wild(dice) end
  return (values[name] or values.wild)(dice)
end

local function subject(dice, target)
  if not target.property and target.kind ~= "loop" and dice:one_in(15) then return values.wild(dice), true end
  local object = object_of(dice, target.kind)
  return object, object ~= nil
end

-- gives: the arguments, with self; nil if there is no object to call it on.
local function arguments(dice, target)
  local list, names = { n = 0 }, target.signature.arguments
  if target.kind then
    local self, found = subject(dice, target)
    if not found then return nil end
    if target.property or target.field or not dice:one_in(30) then list[1], list.n = self, 1 end -- otherwise it is called with a dot
  end
  local count = dice:one_in(25) and dice:below(#names + 3) or #names
  for i = 1, target.property and 0 or count do
    list.n = list.n + 1
    list[list.n] = argument(dice, names[i] or "?", target.signature)
  end
  return list
end

-- A wait that no other call could end must not last.
local function make_short(list)
  for i = 1, list.n do
    if type(list[i]) == "number" and list[i] > 1 then list[i] = 0.05 end
  end
end

local function roll(dice)
  local target, list
  repeat
    target = dice:pick(targets.list)
    list = arguments(dice, target)
  until list
  return target, list
end

-- Called directly, for callbacks: the caller makes sure that they end.
function M.nested(dice)
  if M.depth >= DEEPEST then return end
  local target, list = roll(dice)
  if target.label == "zk.run" then return end -- in an abandoned coroutine it could go on forever
  M.depth = M.depth + 1
  make_short(list)
  invoke(target, list)
  M.depth = M.depth - 1
end
values.call = M.nested

-- ---- The ways to call --------------------------------------------------------------------------

-- In a task, which is canceled when it takes long; then it must end.
local function in_task(dice, fn)
  local task = zk.spawn(fn)
  local _, _, code = task:wait(dice:one_in(8) and 0 or dice:below(50) / 1000)
  if code ~= "timeout" then return end
  task:cancel()
  _, _, code = task:wait(STUCK)
  if code == "timeout" then M.wrong("a canceled call does not end", "") end
end

local function once(dice)
  local target, list = roll(dice)
  return function() invoke(target, list) end, list
end

-- In an abandoned coroutine.
local function abandoned(dice)
  local fn, list = once(dice)
  make_short(list)
  local co = coroutine.create(fn)
  coroutine.resume(co)
  if dice:one_in(2) and close_coroutine and coroutine.status(co) == "suspended" then close_coroutine(co) end
end

-- Its object may be collected already when the finalizer runs.
local function in_finalizer(dice)
  if not close_coroutine then return end -- before 5.4 tables have no finalizers that run in this order
  local keeper = setmetatable({}, { __gc = function(keeper) invoke(keeper.target, keeper) end })
  local session = dice:pick(pool.session)
  keeper.target, keeper.n = dice:pick(targets.pure), 1
  keeper[1] = session:lock("/collected") or session:watch("/collected")
end

local WAYS = {
  function(dice) in_task(dice, (once(dice))) end,
  function(dice) in_task(dice, (once(dice))) end,
  function(dice) in_task(dice, (once(dice))) end,
  function(dice)
    local one, other = once(dice), once(dice)
    in_task(dice, function() zk.all { one, other } end)
  end,
  function(dice)
    local one = once(dice)
    in_task(dice, function() zk.any { one, function() zk.sleep(0.01) end } end)
  end,
  abandoned,
  function(dice)
    if dice:one_in(4) then in_finalizer(dice) end
    if dice:one_in(4) then collectgarbage() else collectgarbage("step", 200) end
  end,
}

-- Makes `count` calls and those in their callbacks, in the coroutine of one worker.
function M.work(dice, count)
  for _ = 1, count do dice:pick(WAYS)(dice) end
end

-- The same on the main thread, outside of coroutines.
function M.work_on_main(dice, count)
  for _ = 1, count do
    local fn, list = once(dice)
    make_short(list)
    fn()
  end
end

-- Calls every target of this share, in order, if there is an object to call it on.
local function each_of(dice, share, shares, call)
  for i = share + 1, #targets.list, shares do
    local target = targets.list[i]
    local list = arguments(dice, target)
    if list then
      make_short(list)
      call(target, list)
    end
  end
end

-- One of `shares` parts of all targets. All parts together are complete.
function M.sweep(dice, share, shares)
  each_of(dice, share, shares, function(target, list)
    in_task(dice, function() invoke(target, list) end)
  end)
end

function M.sweep_on_main(dice, share, shares)
  each_of(dice, share, shares, invoke)
end

-- ---- The end -----------------------------------------------------------------------------------

-- Releases objects that keep other calls waiting.
function M.close_all()
  local all = {}
  for session in pairs(M.sessions) do all[#all + 1] = session end
  for i = 1, #all do
    local ok, problem = zk.pcall(all[i].close, all[i], 1)
    if not ok and problem == zk.canceled then error(problem, 0) end
  end
end

function M.live()
  local count = 0
  for _, number in pairs(core.live()) do count = count + number end
  return count
end

return M
