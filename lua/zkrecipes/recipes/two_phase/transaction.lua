-- The steps that coordinators and participants share: reading, deciding, waiting for the decision, tidying. See two_phase.lua.
--
-- A transaction is { place =, record =, stat = }. `session` may be under a time limit (limit.lua).

local classes = require "zkrecipes.classes"
local core = require "zkrecipes.core"
local coroutines = require "zkrecipes.host.coroutines"
local limits = require "zkrecipes.limit"
local paths = require "zkrecipes.path"
local records = require "zkrecipes.recipes.two_phase.record"

local M = {}

local session_class, tree_class = core.classes.session, core.classes.tree
local count = tree_class.inner.count
local changed = classes.waiting(tree_class.inner.changed)

local COMMITTED, ABORTED = "committed", "aborted"
local ATTEMPTS = 6 -- lost answers of one decision

-- ---- Reading -----------------------------------------------------------------------------------

local function unreadable(place)
  return nil, ("session:get %s: the znode %s holds no transaction; delete it, or use another id"):format(place.path, place.path), "conflict"
end

-- The transaction as this session's server has it; or nil, message, code.
function M.get(session, place)
  local data, stat, code = session:get(place.path)
  if code then return nil, stat, code end
  local record = records.decode(data)
  if not record then return unreadable(place) end
  return { place = place, record = record, stat = stat }
end

-- As `get`; `no_node` is certain: a server that is behind may not have the znode yet.
function M.read(session, place)
  local tx, message, code = M.get(session, place)
  if code ~= "no_node" then return tx, message, code end
  local ok, problem, why = session:sync(place.path)
  if not ok then return nil, problem, why end
  return M.get(session, place)
end

-- The participants that have no mark of this kind ("yes", "done"), in their order; or nil, message, code.
function M.without(session, tx, kind)
  local names, message, code = session:children(tx.place.path)
  if not names then return nil, message, code end
  local there, missing = {}, {}
  for _, name in ipairs(names) do there[paths.child(tx.place.path, name)] = true end
  for _, name in ipairs(tx.record.names) do
    if not there[records.mark(tx.place, tx.record.tag, kind, name)] then missing[#missing + 1] = name end
  end
  return missing, names
end

-- ---- Deciding ----------------------------------------------------------------------------------

local function write(session, tx, record)
  local parts = {}
  for _, name in ipairs(record.state == COMMITTED and record.names or {}) do
    parts[#parts + 1] = { "check", records.mark(tx.place, record.tag, "yes", name) }
  end
  parts[#parts + 1] = { "set", tx.place.path, records.encode(record), 0 }
  return session:multi(parts)
end

-- A decision on another version could be the second one: the znode may have held the first one meanwhile.
local function rewritten(path, version)
  return nil, ("session:multi %s: another client has written the open transaction again (version %d), so it cannot be decided; "
    .. "delete the znode, and those below it"):format(path, version), "conflict"
end

-- Decides, unless that is done. The record with the decision, of any client; false: it cannot be committed, votes are missing; or nil,
-- message, code.
function M.decide(session, tx, state, why)
  local record, last = records.decided(tx.record, state, why), nil
  for _ = 1, ATTEMPTS do
    local done, message, code = write(session, tx, record)
    if done then return record end
    last = message
    if code ~= "bad_version" and code ~= "no_node" and code ~= "connection_loss" then return nil, message, code end
    local found, problem, reason = M.read(session, tx.place)
    if not found then return nil, problem, reason end
    if found.record.state ~= "open" then return found.record end
    if found.stat.version ~= 0 then return rewritten(tx.place.path, found.stat.version) end
    if code == "no_node" then return false end
  end
  return nil, last, "connection_loss"
end

-- The time for votes is over: commits if all have voted, otherwise aborts. As `decide`, but never false.
function M.conclude(session, tx)
  local missing, message, code = M.without(session, tx, "yes")
  if not missing then
    if code ~= "no_node" then return nil, message, code end
    local found, problem, reason = M.read(session, tx.place)
    return found and found.record, problem, reason
  end
  if #missing == 0 then
    local record, problem, reason = M.decide(session, tx, COMMITTED)
    if record ~= false then return record, problem, reason end
  end
  return M.decide(session, tx, ABORTED, "no vote came in time from " .. table.concat(records.unescaped(missing), ", "))
end

-- ---- Waiting for the decision ------------------------------------------------------------------

local ALL, GONE = {}, {} -- as many votes as participants; no znode

-- What the copy shows: the decided record, ALL, or nil; GONE: the znode is not there. known: what is no news.
local function seen_in(tree, tx, known)
  local data, stat = tree:get()
  local news = not stat and GONE
  if stat then
    local record = records.decode(data)
    if record and record.state ~= "open" then return record end
    news = stat.num_children >= #tx.record.names and ALL
  end
  return news and not known[news] and news or nil
end

-- Waits until the copy shows something, or there is no time left.
local function await_news(tree, tx, known, left)
  local ok, message, code = tree_class.core.ready(tree, left())
  while ok do
    local seen = count(tree)
    local news = seen_in(tree, tx, known)
    if news then return news end
    ok, message, code = changed(tree, seen, left())
  end
  return nil, message, code
end

local LATE = { timeout = true, connection_loss = true }

-- The copy's server may be behind: the decided record; false: it is open; or nil, message, code.
local function look_again(session, tx)
  local found, message, code = M.read(session, tx.place)
  if not found then return nil, message, code end
  return found.record.state ~= "open" and found.record
end

local EARLY = "session:get %s: votes may still come for %g seconds; call run again with the same arguments"

local function too_late(session, tx, left, wait)
  if wait() >= left() then return M.conclude(session, tx) end
  return nil, EARLY:format(tx.place.path, math.ceil(left())), "timeout"
end

local function follow(session, tx, left, wait, tree)
  local known = {}
  while true do
    local news, message, code = await_news(tree, tx, known, wait)
    local record = news
    if not news and LATE[code] then return too_late(session, tx, left, wait) end
    if not news then return nil, message, code end
    if news == ALL then record, message, code = M.decide(session, tx, COMMITTED) end
    if news == GONE then record, message, code = look_again(session, tx) end
    if record ~= false then return record, message, code end
    known[news] = true
  end
end

-- Waits for the decision; makes it if all have voted, or when no time is left. left(): the seconds for which votes may come; wait(): those
-- that it may wait, if they may be less; then it may return `timeout`. The record; or nil, message, code.
function M.settle(session, tx, left, wait)
  if tx.record.state ~= "open" then return tx.record end
  local tree, message, code = session_class.core.tree(limits.real(session), tx.place.path, 0)
  if not tree then return nil, message, code end
  local function close() tree_class.core.close(tree) end
  local record
  record, message, code = coroutines.guarded(close, follow, session, tx, left, wait or left, tree)
  close()
  return record, message, code
end

-- ---- Tidying -----------------------------------------------------------------------------------

local leave_outcome

-- The votes first: all that is below the transaction is too large for one request. True, false; or nil, message, code.
local function leave_in_two(session, tx, marks, given_up)
  local parts, rest = { { "check", tx.place.path, 1 } }, {}
  for _, name in ipairs(marks) do
    if name:find "^yes%." then parts[#parts + 1] = { "delete", paths.child(tx.place.path, name) } else rest[#rest + 1] = name end
  end
  if #parts == 1 then return nil, "session:multi " .. tx.place.path .. ": what is left of the transaction is too large", "too_large" end
  local done, message, code = session:multi(parts)
  if done then return leave_outcome(session, tx, rest, given_up) end
  if code == "no_node" or code == "bad_version" then return false end -- another one does the same
  return nil, message, code
end

-- marks: the znodes below the transaction. given_up: the participants without a mark. Creating their marks fails if they have them by now.
function leave_outcome(session, tx, marks, given_up)
  local parts = {}
  for _, name in ipairs(given_up) do
    local mark = records.mark(tx.place, tx.record.tag, "done", name)
    parts[#parts + 1] = { "create", mark, "" }
    parts[#parts + 1] = { "delete", mark }
  end
  for _, name in ipairs(marks) do parts[#parts + 1] = { "delete", paths.child(tx.place.path, name) } end
  parts[#parts + 1] = { "set", tx.place.path, records.encode(records.tidied(tx.record)), 1 }
  local done, message, code = session:multi(parts)
  if done then return true end
  if code == "too_large" then return leave_in_two(session, tx, marks, given_up) end
  if code == "no_node" or code == "bad_version" or code == "node_exists" then return false end
  return nil, message, code
end

-- True if the transaction is in an inbox of these participants; or nil, message, code.
local function is_awaited(session, tx, names)
  for _, name in ipairs(names) do
    local stat, message, code = session:exists(records.entry(tx.place, tx.record.tag, name))
    if stat == nil then return nil, message, code end
    if stat then return true end
  end
  return false
end

-- Leaves the outcome only, if all have their marks. True if this call has done it; false; or nil, message, code.
function M.tidy(session, tx)
  local missing, marks, code = M.without(session, tx, "done")
  if code == "no_node" or missing and #missing > 0 then return false end
  if not missing then return nil, marks, code end
  return leave_outcome(session, tx, marks, missing)
end

-- As `tidy`, but does not wait for a participant whose inbox was deleted by hand.
function M.tidy_what_is_left(session, tx)
  local missing, marks, code = M.without(session, tx, "done")
  if code == "no_node" then return false end
  if not missing then return nil, marks, code end
  local awaited, message, why = is_awaited(session, tx, missing)
  if awaited == nil then return nil, message, why end
  if awaited then return false end
  return leave_outcome(session, tx, marks, missing)
end

-- Deletes what tidy has left. As `tidy`.
function M.forget(session, place)
  local done, message, code = session:delete(place.path, 2)
  if done then return true end
  if code == "no_node" or code == "bad_version" then return false end
  return nil, message, code
end

core.own(debug.getinfo(1, "S").source)
return M
