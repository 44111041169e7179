-- What elections and their terms can do beyond the core: values with a mark of readiness, sleeping until the
-- term is lost, observing. lead.lua has what runs a function while one leads.
--
-- The data of a candidate's node are its value; once the leader has said that it is ready, READY stands behind
-- it, so that others learn both in one read, and those who never say so leave the data as they are.

local check = require "zkrecipes.check"
local core = require "zkrecipes.core"
local coroutines = require "zkrecipes.coroutines"
local lead = require "zkrecipes.lead"
local wait = require "zkrecipes.wait"

local READY = "\0ready"

local class = core.classes.election
local Election, Term = class.methods, core.classes.term.methods

-- ---- Values ------------------------------------------------------------------------------------

local function is_marked(data) return data ~= nil and data:sub(-#READY) == READY end

-- What the core tells of a node, with `value` and `ready` instead of its data.
local function decode(node)
  local data = node.data
  node.data, node.ready = nil, is_marked(data)
  node.value = node.ready and data:sub(1, -#READY - 1) or data
  return node
end

local function check_value(value, argument, name)
  if type(value) ~= "string" then check.bad(argument, name, "string expected, got " .. type(value)) end
  if is_marked(value) then check.bad(argument, name, "a value must not end with the mark of readiness, \"\\0ready\"") end
end

local make = core.classes.session.methods.election

-- session:election(path [, options])
function core.classes.session.methods:election(path, options)
  if type(options) == "table" and type(options.value) == "string" then check_value(options.value, 2, "election") end
  return make(self, path, options)
end

-- ---- Terms -------------------------------------------------------------------------------------

-- Term > { value =, ready = } for what its node is to say, and `resigned`.
local says = setmetatable({}, { __mode = "k" })

local campaign = Election.campaign

function Election:campaign(timeout)
  local term, message, code = campaign(self, timeout)
  if term then says[term] = { value = self.value, ready = false } end
  return term, message, code
end

-- Written again when the answer was lost: twice does no harm, and it is always the latest that is written.
local function tell(term)
  local say = says[term]
  local stat, message, code
  repeat
    stat, message, code = term:set(term.path, say.value .. (say.ready and READY or ""))
  until stat or code ~= "connection_loss" or not term:valid()
  if stat then return true end
  return nil, message, code
end

-- term:proclaim(value): what others see from now on.
function Term:proclaim(value)
  check_value(value, 1, "proclaim")
  says[self].value = value
  return tell(self)
end

-- term:ready(): what there was to do at the start is done.
function Term:ready()
  says[self].ready = true
  return tell(self)
end

-- A term that is over wakes its sleepers with an answer once, also in a task that is stopped because of it: the
-- function's first chance to end by itself. Task > the term it was told of.
local told = setmetatable({}, { __mode = "k" })

-- True when this task is canceled and has had its chance, or was canceled for another reason.
local function must_stop(term)
  local task = wait.task_of[coroutines.running()]
  if not task or not task.canceled then return false end
  if told[task] == term or term:valid() then return true end
  told[task] = term
  return false
end

local function over(term)
  return nil, "term:sleep " .. term.path .. ": the term is over", "lost"
end

local start_lost = core.classes.term.start.lost

-- term:sleep(seconds): true; or nil, message, "lost" as soon as the term is over.
function Term:sleep(seconds)
  check.seconds(seconds, 1, "sleep")
  if must_stop(self) then error(wait.canceled, 0) end
  local slot, host, failed = start_lost(self, seconds)
  if not slot then return nil, host, failed end
  local why, message, code = wait.await(host, slot, true)
  if why == wait.canceled then
    if must_stop(self) then error(wait.canceled, 0) end
    return over(self)
  end
  if why then return over(self) end
  if code == "timeout" then return true end
  return nil, message, code
end

-- ---- Who leads ---------------------------------------------------------------------------------

local leader, next_leader, candidates = Election.leader, Election.next_leader, Election.candidates

-- election:leader(): { value, ready, token, session, since }; or nil: nobody leads.
function Election:leader()
  local node, message, code = leader(self)
  if node then return decode(node) end
  if node == false then return nil end
  return nil, message, code
end

-- One step of observe(): the leader, or false, and how many changes were seen.
function Election:next_leader(seen)
  local node, count, code = next_leader(self, seen)
  if node then node = decode(node) end
  return node, count, code
end

local PASSES = { no_memory = true, full = true, connection_loss = true, server_error = true }
local PAUSE = 0.5 -- seconds, after a failure that may pass

-- for leader in election:observe() do ... end: the present leader and every later one, false when nobody leads;
-- ends when the session is closed.
function Election:observe()
  local seen, host = 0, core.host(self)
  return function()
    local node, count, code
    repeat
      if PASSES[code] then wait.pause(host, wait.record(), PAUSE) end
      node, count, code = self:next_leader(seen)
    until node ~= nil or not PASSES[code]
    if node ~= nil then seen = count end
    return node
  end
end

-- election:candidates(): in queue order, the leader first.
function Election:candidates()
  local list, message, code = candidates(self)
  if not list then return nil, message, code end
  for i = 1, #list do
    local one = decode(list[i])
    one.leading, one.holding, one.shared = one.holding, nil, nil
  end
  return list
end

-- ---- Leading -----------------------------------------------------------------------------------

local resign = Term.resign

-- term:resign(): at once; idempotent.
function Term:resign()
  says[self].resigned = true
  return resign(self)
end

for name, method in pairs(lead.methods(function(term) return says[term].resigned end)) do Election[name] = method end

core.own(debug.getinfo(1, "S").source)
