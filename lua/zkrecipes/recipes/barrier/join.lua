-- A member of a round (double_cyclic.lua) from its beginning until it takes part, or gives up.
--
-- member: { session, id = of the session in which it is one, path, size, tag; waits, takes_part = its znodes; leaves = true for
-- a double barrier; what = the method that was called, limit = its time limit, requests = the session under that limit, valid() =
-- whether it has a reason to wait for an answer }
--
-- When the limit passes, the member gives up. Once that is certain, the caller gets `timeout` and the number of members that waited,
-- this one included. If no server answers at once, the member gives up in the background, and the caller is told that the round may have
-- begun.

local check = require "zkrecipes.check"
local child = require "zkrecipes.path".child
local core = require "zkrecipes.core"
local limits = require "zkrecipes.limit"
local activity = require "zkrecipes.status.activity"
local requests = require "zkrecipes.lost_answers"
local tasks = require "zkrecipes.host.tasks"

local M = {}

local GRACE = 0.05 -- seconds for giving up, when the limit has passed

local insist, surely = requests.insist, requests.sure_while

-- If false, a member that enters gives up: the servers have deleted its znodes, or will.
local function same_id(member) return member.session.id == member.id end

local function lost(member)
  return nil, ("%s %s: the session was lost while the member waited; the round may have begun"):format(member.what,
    member.path), "lost"
end

-- Creates both znodes, in the member's session only: in the next one they would belong to no member. True; or nil, message, code.
local function announce(member)
  local session = member.requests
  local parts = {
    { "create", member.waits, "", { ephemeral = true } },
    { "create", member.takes_part, "", { ephemeral = true } },
  }
  local made, message, code
  repeat
    if code == "no_node" then
      local dir, problem, why = surely(member, session.create, session, member.path, "", { parents = true })
      if not dir and why ~= "node_exists" then return nil, problem, why end
    end
    made, message, code = surely(member, limits.multi_in, session, parts, member.id)
    if code == "lost" then return lost(member) end
  until code ~= "no_node"
  if made or code == "node_exists" then return true end
  return nil, message, code
end

-- A tag begins with the n of its member; nil: that of an earlier version does not.
local function size_in(tag) return tonumber(tag:match("^n(%d+)%-")) end

-- The tags of the waiting members, ordered by name, which is the same for all members; and the tags of those that wait for another n.
local function waiting(member)
  local names, message, code = surely(member, member.requests.children, member.requests, member.path)
  if not names then return nil, message, code end
  local found, others = {}, {}
  for i = 1, #names do
    local tag = names[i]:match("^w%-(.+)$")
    local list = tag and ((size_in(tag) or member.size) == member.size and found or others)
    if tag then list[#list + 1] = tag end
  end
  table.sort(found)
  return found, others
end

-- The least czxid of the waiting members that are still there and older than `limit` (nil: no limit); false: there is none; or nil,
-- message, code. It reads all of them.
local function oldest(member, tags, limit)
  local session, least = member.requests, nil
  for i = 1, #tags do
    local stat, message, code = surely(member, session.exists, session, child(member.path, "w-" .. tags[i]))
    if stat == nil then return nil, message, code end
    if stat and (not least or stat.czxid < least) then least = stat.czxid end
    if least and limit and least < limit then return least end
  end
  return not limit and least or false
end

-- The member that has waited longest decides the barrier's n. True if ours agrees; or nil, message, code.
local function agree(member, found, others)
  local other, message, code = oldest(member, others)
  if other == nil then return nil, message, code end
  local earlier = true
  if other then earlier, message, code = oldest(member, found, other) end
  if earlier == nil then return nil, message, code end
  if earlier then return true end
  return nil, ("%s %s: other members wait for %d, not for %d; all must pass the same n"):format(member.what, member.path,
    size_in(others[1]), member.size), "conflict"
end

-- Begins a round with the first n.
local function begin(member, found)
  local parts, list = {}, table.concat(found, "\n", 1, member.size)
  for i = 1, member.size do parts[i] = { "delete", child(member.path, "w-" .. found[i]) } end
  if member.leaves then
    parts[#parts + 1] = { "create", child(member.path, "round-" .. requests.tag(member.session, member.id)), list }
  end
  return member.requests:multi(parts)
end

-- Begins rounds until fewer than n wait.
local function count(member)
  while true do
    local found, message, code = waiting(member)
    if not found then return nil, message, code end
    member.came = #found
    if #found < member.size then return agree(member, found, message) end
    local done
    done, message, code = surely(member, begin, member, found)
    if not done and code ~= "no_node" then return nil, message, code end
  end
end

local function leaving(member) return { { "delete", member.waits }, { "delete", member.takes_part } } end

-- Gives up; true when the round had begun before that.
local function withdraw(member)
  local session = member.requests
  local done, message, code = surely(member, session.multi, session, leaving(member))
  if done then return false end
  if not same_id(member) then return lost(member) end
  if code ~= "no_node" then return nil, message, code end
  -- Without m- no round has removed w-: an attempt whose answer was lost has, or it was never made, or the session ended.
  local there
  there, message, code = surely(member, session.exists, session, member.takes_part)
  if not same_id(member) then return lost(member) end
  if there == nil then return nil, message, code end
  return there ~= false
end

-- The caller is gone: deletes the member's znodes, which a new session may have created.
local function abandon(member)
  local session = member.session
  local _, _, code = insist(session, session.multi, session, leaving(member))
  if code ~= "no_node" then return end
  insist(session, session.delete, session, member.waits)
  insist(session, session.delete, session, member.takes_part)
end

function M.behind(session, fn, ...)
  return tasks.behind(core.host(session), {}, fn, ...)
end

-- Seconds to wait for another member's znode; 0 for a timeout of 0, which only checks once.
function M.patience(limit)
  if limit.try then return 0 end
  return limit:rest()
end

-- Waits until w- is gone. The end of our own session removes it as well, and the server may say so before it says
-- that the session has ended; then m- is gone, too.
local function begun(member)
  local session = member.requests
  local gone, message, code = session:await_gone(member.waits, M.patience(member.limit))
  if not gone then return nil, message, code end
  local there
  there, message, code = surely(member, session.exists, session, member.takes_part)
  if there == false then return lost(member) end
  return there and true, message, code
end

-- A limit for the requests that remain when the member's own limit has passed.
function M.grace(member)
  return limits.new(member.session, member.limit.try and GRACE or math.max(member.limit.left(), GRACE))
end

-- The results of a member that has given up, which waiting for the others has failed with this message and code. A try has counted just
-- now; otherwise the member counts again.
local function gave_up(member, ...)
  local _, message, code = member.limit:told(...)
  if code ~= "timeout" then return nil, message, code end
  local others = not member.limit.try and waiting(member)
  local came = math.min(others and #others + 1 or member.came or 1, member.size) -- more may wait for the next round
  return nil, ("%d of %d came"):format(came, member.size), code, came
end

-- As withdraw, when it has failed with this message and code: at the end of its limit without waiting for long.
local function give_up(member, message, code)
  local limit = member.limit
  if limit.deadline then
    limit = M.grace(member)
    member.requests = limit.session
  end
  local began, problem, why
  if not limit.deadline or member.session.state == "connected" then began, problem, why = withdraw(member) end
  if began then return true end
  if began == false then return gave_up(member, nil, message, code) end
  M.behind(member.session, abandon, member)
  if why == "lost" or why == "closed" then return nil, problem, why end
  return nil, message .. "; the round may have begun", limit.deadline and "connection_loss" or why
end

local function enter(member)
  local ok, message, code = announce(member)
  if ok then ok, message, code = count(member) end
  if ok then ok, message, code = begun(member) end
  if code == "closed" then return nil, message, code end
  if not same_id(member) then
    M.behind(member.session, abandon, member)
    return lost(member)
  end
  if ok then return true end
  return give_up(member, message, code)
end

local function new_member(limit, id, path, size, what, leaves)
  local session = limit.real
  local tag = ("n%d-%s"):format(size, requests.tag(session, id))
  return { session = session, limit = limit, requests = limit.session, id = id, path = path, size = size, what = what,
    leaves = leaves, tag = tag, waits = child(path, "w-" .. tag), takes_part = child(path, "m-" .. tag), valid = same_id }
end

local function abandon_behind(member) M.behind(member.session, abandon, member) end

-- join(barrier, timeout, what, leaves): the member, which is in a round; or nil, message, code, and with `timeout` how many came.
function M.join(barrier, timeout, what, leaves)
  check.seconds(timeout, 1, what:match(":(.*)"), true)
  local session = barrier.session
  local limit = limits.new(session, timeout)
  if limit.try and limits.away(session) then return limits.unconnected(session, what .. " " .. barrier.path) end
  local id, message, code = requests.connected(session, limit:rest())
  if not id then return nil, message, code end
  local member = new_member(limit, id, barrier.path, barrier.size, what, leaves)
  local ok, came
  ok, message, code, came = activity.during(core.host(session), barrier, abandon_behind, enter, member)
  if not ok then return nil, message, code, came end
  return member
end

core.own(debug.getinfo(1, "S").source)
return M
