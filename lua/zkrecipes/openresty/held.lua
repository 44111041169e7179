-- What a request holds, and what a task holds that works for a request: what its code was granted and nobody has released yet.
--
-- 1. The log phase of the request calls `release`.
-- 2. A task keeps what it holds while it runs, also when its request has ended: its function works under it.
-- 3. When a task ends, however it ends, what it still holds goes to what started it: a task, or the request. If that has ended too, it goes
--    to what started that one. If the request has ended by `release`, it is released.
--
-- A request keeps its holds alive: if the collector ran between the end of a killed handler and the log phase, it would remove a hold from
-- a weak table at once, but release it only some time later. A task does not, because it may run for as long as the worker: the
-- collector releases what a task drops, or has held when nginx ended it.

local core = require "zkrecipes.core"

local M = {}

local WEAK = { __mode = "k" }

local function no_holds() return setmetatable({}, WEAK) end

-- holds: hold > true, or how to give it back; where: hold > the subrequest that got it; kept: hold > true if the request keeps it alive.
function M.of_request() return { holds = no_holds(), where = no_holds(), kept = {}, over = false } end

-- held, or, if that is over, the first of its starters that is not; the request's in any case.
local function living(held)
  while held.over and held.starter do held = held.starter end
  return held
end

-- starter: of the code that starts the task; sub: the subrequest, if it is one.
function M.of_task(starter, sub)
  starter = living(starter)
  if starter.starter then starter.starter = living(starter.starter) end -- or tasks that start each other would be kept, one by one
  return { holds = no_holds(), starter = starter, sub = starter.sub or sub, over = false }
end

-- The hold refers to the table by itself: Lua 5.1 would never collect it if a weak table did that.
local function set_held(hold, held)
  if type(hold) == "userdata" then core.keep(hold, "held", held) else rawset(hold, "held", held) end
end

local function held_with(hold)
  if type(hold) == "userdata" then return core.kept(hold, "held") end
  return rawget(hold, "held")
end

local function add(held, hold, give_back, sub, keeps)
  held.holds[hold] = give_back
  if held.kept then held.where[hold], held.kept[hold] = sub, keeps or nil end
  set_held(hold, held)
end

-- give_back(hold): releases it; nil: call its release or resign.
function M.add(held, hold, give_back, sub)
  held = living(held)
  if not held.over then add(held, hold, give_back or true, sub, true) end
end

-- It is released, or belongs to its holder no longer.
function M.remove(hold)
  local held = held_with(hold)
  if not held then return end
  held.holds[hold] = nil
  if held.kept then held.where[hold], held.kept[hold] = nil, nil end
end

-- ---- Releasing ---------------------------------------------------------------------------------

local function give_up(holds, hold)
  local give_back = holds[hold]
  if not give_back then return end -- it was released together with another hold
  if give_back ~= true then
    M.remove(hold)
    return give_back(hold)
  end
  local let_go = hold.release or hold.resign
  repeat let_go(hold) until not holds[hold] or not hold:valid() -- a reentrant hold counts its releases
end

-- Releases what the request holds; sub: only what this subrequest has got, because its main request continues. If ngx.ctx was replaced,
-- the collector may have released a hold a moment ago; then it raises here.
function M.release(held, sub)
  local list = {}
  for hold in pairs(held.holds) do
    if not sub or held.where[hold] == sub then list[#list + 1] = hold end
  end
  for i = 1, #list do pcall(give_up, held.holds, list[i]) end
end

-- The task has ended. killed: by nginx, so nobody gets its results.
function M.end_task(held, killed)
  held.over = true
  local heir = living(held)
  for hold, give_back in pairs(held.holds) do
    held.holds[hold] = nil
    add(heir, hold, give_back, held.sub, not killed)
  end
  if heir.over then M.release(heir) end
end

core.own(debug.getinfo(1, "S").source)
return M
