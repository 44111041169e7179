-- Double and cyclic barriers: n members go on together.
--
-- 1. A member makes two ephemeral znodes in one request: w-<tag>, it waits, and m-<tag>, it takes part.
-- 2. It lists the directory. Whoever sees n that wait begins a round with the first n of them: in one request it
--    deletes their w- znodes and makes round-<tag>, whose data are their tags. All or none: when one of them has
--    given up, or another member was faster, nothing is done, and it lists again.
-- 3. Its own w- znode is gone: the member is in a round. That is the only thing each member watches.
-- 4. A cyclic barrier: done, it deletes its m- znode. A double barrier: leave deletes the m- znode, then waits until
--    those of all others of its round are gone: it watches one of them at a time; the last one deletes the round, and
--    others of which nobody is left.
--
-- Members beyond n wait for the next round.
--
-- What can go wrong: the time limit passes: the member deletes its w- znode; it was gone already: then it is in a
-- round, and says so. A member dies: its znodes go with its session. The session is lost while one waits: `lost`;
-- whether the round had begun is not known then.

local check = require "zkrecipes.check"
local core = require "zkrecipes.core"
local coroutines = require "zkrecipes.coroutines"
local gate = require "zkrecipes.gate"
local tasks = require "zkrecipes.tasks"

local M = {}

local Session = core.classes.session.methods
local sure = gate.sure

local SIZE_MAX = 5000 -- of a round: its request must fit

local function now(session) return core.host(session).adapter.now() end

-- Never 0: with that await_gone would look, for as long as there is no connection.
local function left_of(session, deadline) return deadline and math.max(deadline - now(session), 1e-6) end

-- Calls until the outcome is known, or the member has no reason to wait for it any longer.
local function surely(member, call, ...)
  local value, message, code
  repeat value, message, code = call(...) until code ~= "connection_loss" or member:gives_up()
  return value, message, code
end

-- ---- Joining -----------------------------------------------------------------------------------

-- Why a member that enters gives up: the znodes that it has made are, or will be, gone.
local function session_ended(member) return member.session.id ~= member.id end

local function lost(member)
  return nil, ("%s %s: the session was lost while it waited; the round may have begun"):format(member.what,
    member.path), "lost"
end

-- True when the next request is sent in the member's session: one that had to wait would be sent in the next one, too,
-- and make a member of nobody.
local function same_session(member)
  local session = member.session
  while session.id == member.id do
    if session.state == "connected" then return true end
    local connected, message, code = session:connected()
    if not connected then return nil, message, code end
  end
  return lost(member)
end

-- Both znodes, or nil, message, code.
local function announce(member)
  local session = member.session
  local parts = {
    { "create", member.waits, "", { ephemeral = true } },
    { "create", member.takes_part, "", { ephemeral = true } },
  }
  local made, message, code
  repeat
    if code == "no_node" then
      local dir, problem, why = session:create(member.path, "", { parents = true })
      if not dir and why ~= "node_exists" and why ~= "connection_loss" then return nil, problem, why end
    end
    made, message, code = same_session(member)
    if not made then return nil, message, code end
    made, message, code = session:multi(parts)
  until code ~= "no_node" and code ~= "connection_loss"
  if made or code == "node_exists" then return true end
  return nil, message, code
end

-- The tags of those that wait, the longest waiting last among equals: by name, which all see alike.
local function waiting(member)
  local names, message, code = surely(member, member.session.children, member.session, member.path)
  if not names then return nil, message, code end
  local found = {}
  for i = 1, #names do
    local tag = names[i]:match("^w%-(.+)$")
    if tag then found[#found + 1] = tag end
  end
  table.sort(found)
  return found
end

-- Begins a round with the first n.
local function begin(member, found)
  local parts, list = {}, table.concat(found, "\n", 1, member.size)
  for i = 1, member.size do parts[i] = { "delete", member.path .. "/w-" .. found[i] } end
  if member.leaves then
    parts[#parts + 1] = { "create", member.path .. "/round-" .. gate.tag(member.session, member.id), list }
  end
  return member.session:multi(parts)
end

-- Begins rounds until fewer than n wait.
local function count(member)
  while true do
    local found, message, code = waiting(member)
    if not found then return nil, message, code end
    if #found < member.size then return true end
    local done
    done, message, code = begin(member, found)
    if not done and code ~= "no_node" and code ~= "connection_loss" then return nil, message, code end
  end
end

local function leaving(member) return { { "delete", member.waits }, { "delete", member.takes_part } } end

-- Gives up; true when the round had begun before that.
local function withdraw(member)
  local session = member.session
  local done, message, code = surely(member, session.multi, session, leaving(member))
  if done then return false end
  if session_ended(member) then return lost(member) end
  if code ~= "no_node" then return nil, message, code end
  -- Without m- no round has removed w-: an attempt whose answer was lost has, or it was never made, or the session ended.
  local there
  there, message, code = surely(member, session.exists, session, member.takes_part)
  if session_ended(member) then return lost(member) end
  if there == nil then return nil, message, code end
  return there ~= false
end

-- Nobody wants to know the outcome any more: nothing is left, though it may be a new session that has made the znodes.
local function abandon(member)
  local session = member.session
  local _, _, code = sure(session.multi, session, leaving(member))
  if code ~= "no_node" then return end
  sure(session.delete, session, member.waits)
  sure(session.delete, session, member.takes_part)
end

local function behind(session, fn, ...)
  return tasks.spawn(core.host(session), { daemon = true }, fn, ...)
end

-- Waits until w- is gone. The end of our own session removes it as well, and the server may say so before it says
-- that the session has ended; then m- is gone, too.
local function begun(member, deadline)
  local session = member.session
  local gone, message, code = session:await_gone(member.waits, left_of(session, deadline))
  if not gone then return nil, message, code end
  local there
  there, message, code = surely(member, session.exists, session, member.takes_part)
  if there == false then return lost(member) end
  return there and true, message, code
end

local function enter(member, deadline)
  local ok, message, code = announce(member)
  if ok then ok, message, code = count(member) end
  if ok then ok, message, code = begun(member, deadline) end
  if code == "closed" then return nil, message, code end
  if session_ended(member) then
    behind(member.session, abandon, member)
    return lost(member)
  end
  if ok then return true end
  local began, problem, why = withdraw(member)
  if why == "lost" then behind(member.session, abandon, member) end
  if began == nil then return nil, problem, why end
  if began then return true end
  return nil, message, code
end

local function new_member(session, id, path, size, what, leaves)
  local tag = gate.tag(session, id)
  return { session = session, id = id, path = path, size = size, what = what, leaves = leaves, tag = tag,
    waits = path .. "/w-" .. tag, takes_part = path .. "/m-" .. tag, gives_up = session_ended }
end

local function join(barrier, timeout, what, leaves)
  check.seconds(timeout, 1, what:match(":(.*)"), true)
  local session = barrier.session
  local deadline = timeout and now(session) + timeout
  local id, message, code = gate.connected(session, timeout)
  if not id then return nil, message, code end
  local member = new_member(session, id, barrier.path, barrier.size, what, leaves)
  local ok
  ok, message, code = coroutines.guarded(function() behind(session, abandon, member) end, enter, member, deadline)
  if not ok then return nil, message, code end
  return member
end

-- ---- Leaving -----------------------------------------------------------------------------------

-- What is there. A new session may be at a server that has not heard of the round yet.
local function listed(member)
  local session = member.session
  local id, names, message, code
  repeat
    id = session.id
    if id ~= member.id then surely(member, session.sync, session, member.path) end
    names, message, code = surely(member, session.children, session, member.path)
  until not names or session.id == id
  return names, message, code
end

-- The round that the member is in: its path and the tags of its members; nil when it is over.
local function round_of(member)
  local session = member.session
  local names, message, code = listed(member)
  if not names then return nil, message, code end
  for i = 1, #names do
    if names[i]:find("^round%-") then
      local path = member.path .. "/" .. names[i]
      local data, problem, why = surely(member, session.get, session, path)
      if not data and why ~= "no_node" then return nil, problem, why end
      if data and ("\n" .. data .. "\n"):find("\n" .. member.tag .. "\n", 1, true) then return path, data, names end
    end
  end
end

-- One of a round that is still there, nil: none. Each member takes another one.
local function straggler(member, data, names)
  local there, all, at = {}, {}, 1
  for i = 1, #names do there[names[i]] = true end
  for tag in data:gmatch("[^\n]+") do
    all[#all + 1] = tag
    if tag == member.tag then at = #all end
  end
  for i = 1, #all do
    local tag = all[(at + i - 1) % #all + 1]
    if there["m-" .. tag] then return member.path .. "/m-" .. tag end
  end
end

-- Deletes the rounds in which nobody is any more: the member's own, and those whose members have all died.
local function sweep(member, names)
  local session = member.session
  for i = 1, #names do
    local path = member.path .. "/" .. names[i]
    local data, done, message, code
    if names[i]:find("^round%-") then data, message, code = surely(member, session.get, session, path) end
    if data and not straggler(member, data, names) then done, message, code = surely(member, session.delete, session, path) end
    if not done and code and code ~= "no_node" then return nil, message, code end
  end
  return true
end

local function leave(member, deadline)
  local session = member.session
  function member.gives_up() return deadline ~= nil and now(session) >= deadline end
  local done, message, code = surely(member, session.delete, session, member.takes_part)
  if not done and code ~= "no_node" then return nil, message, code end
  while true do
    local round, data, names = round_of(member)
    if not round then
      if names then return nil, data, names end
      return true
    end
    local other = straggler(member, data, names)
    if not other then return sweep(member, names) end
    done, message, code = session:await_gone(other, left_of(session, deadline))
    if not done and code ~= "lost" then return nil, message, code end
  end
end

-- ---- The double barrier ------------------------------------------------------------------------

local Double = {}
Double.__index = Double
Double.__name = "zkrecipes.double_barrier"

-- session:double_barrier(path, n)
function Session:double_barrier(path, size)
  check.self(self, core.classes.session.meta, "double_barrier")
  check.below_root(path, 1, "double_barrier")
  check.count(size, SIZE_MAX, 2, "double_barrier")
  return setmetatable({ session = self, path = path, size = size }, Double)
end

function Double:enter(timeout)
  if self.member or self.entering then
    core.misuse("double_barrier:enter: it is in a round already, or enters one; leave it first")
  end
  local function stop() self.entering = nil end
  self.entering = true
  local member, message, code = coroutines.guarded(stop, join, self, timeout, "double_barrier:enter", true)
  stop()
  if not member then return nil, message, code end
  self.member = member
  return true
end

function Double:leave(timeout)
  check.seconds(timeout, 1, "leave", true)
  local member = self.member
  if not member then core.misuse("double_barrier:leave: it is in no round; enter first") end
  member.what = "double_barrier:leave"
  local done, message, code = leave(member, timeout and now(self.session) + timeout)
  if code == "connection_loss" then
    return nil, ("double_barrier:leave %s: the time limit passed; there is no connection"):format(self.path), "timeout"
  end
  if not done and code ~= "closed" then return nil, message, code end
  self.member = nil
  return done, message, code
end

-- ---- The cyclic barrier ------------------------------------------------------------------------

local Cyclic = {}
Cyclic.__index = Cyclic
Cyclic.__name = "zkrecipes.cyclic_barrier"

-- session:cyclic_barrier(path, n)
function Session:cyclic_barrier(path, size)
  check.self(self, core.classes.session.meta, "cyclic_barrier")
  check.below_root(path, 1, "cyclic_barrier")
  check.count(size, SIZE_MAX, 2, "cyclic_barrier")
  return setmetatable({ session = self, path = path, size = size }, Cyclic)
end

-- Until n have come; each n that come are one generation. Any number of coroutines may wait with one object.
function Cyclic:wait(timeout)
  local member, message, code = join(self, timeout, "cyclic_barrier:wait", false)
  if not member then return nil, message, code end
  local task = behind(self.session, sure, self.session.delete, self.session, member.takes_part)
  coroutines.pcall(task.wait, task) -- who is canceled here is through nevertheless
  return true
end

check.selves("double_barrier", Double, Double)
check.selves("cyclic_barrier", Cyclic, Cyclic)

core.own(debug.getinfo(1, "S").source)
return M
