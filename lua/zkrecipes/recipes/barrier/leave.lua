-- A member of a round of a double barrier (double_cyclic.lua) leaves it, and learns how many members have died inside.
--
-- 1. The member reads its round.
-- 2. In one request it deletes its m- znode and creates an ephemeral child of the round, its mark. ZooKeeper counts the children that a
--    znode ever had, so the round tells how many members have left. A member that dies inside creates no mark.
-- 3. It waits until no m- znode of the round is left. It watches one of them at a time, and lists when that one is gone.
-- 4. The members of the round minus the members that have left are the members that have died. An m- znode never comes back, so this
--    number is final, and the same for each member.
-- 5. The member deletes its mark, then the round. ZooKeeper refuses to delete the round while another member has a mark there, so the
--    round stays until the last member has read it. If the caller's time limit passes, step 5 continues in the background.
--
-- What can go wrong: a member dies after it has left: its mark goes with its session, and the count stays; the next member that leaves a
-- round deletes this one. The answer to step 2 is lost: the request is repeated, and finds that the m- znode is gone. The member's own
-- session is lost before step 2: it counts among the dead, nothing keeps the round for it, and if the round is gone, the number is not
-- known. The program drops a barrier in which it is still inside, or after a `leave` that has failed: the finalizer deletes the m- znode,
-- so that the other members do not wait for it, then the mark, and the round if it was the last member. Without a mark it counts among
-- the dead.

local child = require "zkrecipes.path".child
local collected = require "zkrecipes.collected"
local core = require "zkrecipes.core"
local coroutines = require "zkrecipes.host.coroutines"
local joins = require "zkrecipes.recipes.barrier.join"
local requests = require "zkrecipes.lost_answers"
local tasks = require "zkrecipes.host.tasks"

local M = {}

local insist, surely = requests.insist, requests.sure_while

-- ---- The round ---------------------------------------------------------------------------------

-- cversion counts the children that were created and those that were deleted.
local function ever_created(stat) return math.floor((stat.cversion + stat.num_children) / 2) end

local function tags_in(data)
  local tags = {}
  for tag in data:gmatch("[^\n]+") do tags[#tags + 1] = tag end
  return tags
end

local function position(tags, tag)
  for i = 1, #tags do
    if tags[i] == tag then return i end
  end
end

-- { tags =, left =, children = } of this round; false: it is gone; or nil, message, code.
local function read_round(member, path)
  local data, stat, code = surely(member, member.requests.get, member.requests, path)
  if code == "no_node" then return false end
  if code then return nil, stat, code end
  return { tags = tags_in(data or ""), left = ever_created(stat), children = stat.num_children }
end

-- Finds the round of the member, and sets member.round to its path. As read_round.
local function find_round(member, names)
  for i = 1, #names do
    if names[i]:find("^round%-") then
      local path = child(member.path, names[i])
      local round, message, code = read_round(member, path)
      if round == nil then return nil, message, code end
      if round and position(round.tags, member.tag) then
        member.round = path
        return round
      end
    end
  end
  return false
end

-- Lists, then reads the round, so that it counts each member whose m- znode the listing misses. As read_round, with names =.
local function list_and_read(member)
  local session = member.requests
  local names, message, code = surely(member, session.children, session, member.path)
  if not names then return nil, message, code end
  local round
  if member.round then
    round, message, code = read_round(member, member.round)
  else
    round, message, code = find_round(member, names)
  end
  if round then round.names = names end
  return round, message, code
end

-- Does list_and_read within one session, because a new session may be at a server that is behind.
local function look(member)
  local session = member.requests
  local id, round, message, code
  repeat
    id = session.id
    if id ~= member.id then surely(member, session.sync, session, member.path) end
    round, message, code = list_and_read(member)
  until round == nil or id and session.id == id
  return round, message, code
end

local function set_of(names)
  local set = {}
  for i = 1, #names do set[names[i]] = true end
  return set
end

-- The paths of the round's m- znodes in the listing, without the member's own. Each member gets a different one first.
local function stragglers(member, tags, names)
  local there, at, paths = set_of(names), position(tags, member.tag) or 0, {}
  for i = 1, #tags do
    local tag = tags[(at + i - 1) % #tags + 1]
    if tag ~= member.tag and there["m-" .. tag] then paths[#paths + 1] = child(member.path, "m-" .. tag) end
  end
  return paths
end

-- ---- In the background -------------------------------------------------------------------------

-- Deletes a round if no member is inside according to the listing, and none has still to read it.
local function sweep_one(member, path, names)
  local round = read_round(member, path)
  if round and #round.tags > 0 and round.children == 0 and #stragglers(member, round.tags, names) == 0 then
    insist(member.session, member.session.delete, member.session, path)
  end
end

local function sweep(member, names)
  for i = 1, #names do
    if names[i]:find("^round%-") then sweep_one(member, child(member.path, names[i]), names) end
  end
end

local function delete_mark(member)
  member.requests = member.session
  if member.mark then insist(member.session, member.session.delete, member.session, member.mark) end
end

-- The member's round is over: deletes it, and other rounds in the listing that no member is left to delete.
local function forget(member, names)
  delete_mark(member)
  if member.round then insist(member.session, member.session.delete, member.session, member.round) end
  local others = {}
  for i = 1, #names do
    if child(member.path, names[i]) ~= member.round then others[#others + 1] = names[i] end
  end
  sweep(member, others)
end

-- The program has dropped the barrier, perhaps after a `leave` that did not end. Other members may still be inside. The m- znode goes
-- first: without it, no late request that leaves can make the mark.
local function forget_early(member)
  local session = member.session
  insist(session, session.delete, session, member.takes_part)
  delete_mark(member)
  local names = insist(session, session.children, session, member.path)
  if names then sweep(member, names) end
end

-- Quiet, because the session may be collected with the barrier, perhaps while forget_early runs: then its methods raise, and the znodes
-- end with the session.
local function dropped(member)
  local host = core.host(member.session)
  if not host.engine:forked() then tasks.later(host, tasks.behind, host, { quiet = true }, forget_early, member) end
end

-- The member, which has entered. If the program drops it before it has left, its znodes are deleted.
function M.guarded(member)
  member.guard = collected.guard(dropped, member)
  return member
end

-- Notes first that the member has left: if the coroutine is closed while it waits here, a later call returns the number.
local function finish(member, dead, names)
  member.over, member.dead = true, dead
  member.guard:disarm()
  local task, limit = joins.behind(member.session, forget, member, names), member.limit
  coroutines.pcall(task.wait, task, limit.left()) -- a member that is canceled here has left nevertheless
end

-- ---- Leaving -----------------------------------------------------------------------------------

-- Deletes the m- znode and creates the mark. Returns true; false if the m- znode or the round was gone; or nil, message, code.
local function depart(member)
  local session = member.requests
  member.mark = child(member.round, member.tag)
  local done, message, code = surely(member, session.multi, session,
    { { "delete", member.takes_part }, { "create", member.mark, "", { ephemeral = true } } })
  if not done and code ~= "no_node" then return nil, message, code end
  member.departed = true
  return done and true or false
end

-- The round is gone, though the member has not read it. True; or nil, message, code.
local function leave_nothing(member)
  local session = member.requests
  local done, message, code = surely(member, session.delete, session, member.takes_part)
  if not done and code ~= "no_node" then return nil, message, code end
  finish(member, nil, {})
  return true
end

-- The round, if the member has left it; false: it is gone; or nil, message, code.
local function leave_round(member)
  local round, message, code = look(member)
  if not round or member.departed then return round, message, code end
  local done
  done, message, code = depart(member)
  if done == nil then return nil, message, code end
  if not done then return look(member) end
  round.left = round.left + 1
  return round
end

local function always() return true end

-- The results when waiting for the others has failed with this message and code; `others` were inside when the member looked last.
local function still_inside(member, round, others, message, code)
  if code ~= "timeout" then return nil, message, code end
  local names = not member.limit.try and joins.grace(member).session:children(member.path)
  local inside = math.max(#(names and stragglers(member, round.tags, names) or others), 1)
  return nil, ("%d of %d %s still inside"):format(inside, #round.tags, inside == 1 and "is" or "are"), code
end

-- Waits until one of the others is gone. True; or nil, message, code.
local function await(member, round, others)
  local gone, message, code = member.requests:await_gone(others[1], joins.patience(member.limit))
  if gone or code == "lost" then return true end
  return still_inside(member, round, others, message, code)
end

-- Leaves, or waits for one of the others. True; or nil, message, code.
local function go_on(member)
  local round, message, code = leave_round(member)
  if round == nil then return nil, message, code end
  if not round then return leave_nothing(member) end
  local others = stragglers(member, round.tags, round.names)
  if #others > 0 then return await(member, round, others) end
  finish(member, #round.tags - round.left, round.names)
  return true
end

-- True, and how many members have died inside (nil: that is not known); or nil, message, code. limit: see limit.lua.
function M.leave(member, limit)
  member.limit, member.requests, member.valid = limit, limit.session, always
  while not member.over do
    local ok, message, code = go_on(member)
    if not ok then return nil, message, code end
  end
  return true, member.dead
end

core.own(debug.getinfo(1, "S").source)
return M
