-- The locks and elections of the torture run: every kind has acquire(limit) and cancel(), and gives holds with token, path, valid, set and
-- release.

-- The limit of the pool changes from time to time, to one of these.
local M = { LIMITS = { 4, 5, 6 }, PERMITS = { 1, 2, 3 } }

local MAKE = {}

function MAKE.fair(session, path) return session:lock(path) end

function MAKE.unfair(session, path) return session:lock(path, { fair = false }) end

-- The write side of a read/write lock.
function MAKE.writer(session, path) return session:rwlock(path):writer() end

-- A semaphore with one permit.
function MAKE.permit(session, path) return session:semaphore(path, 1) end

-- A semaphore with several permits, whose limit changes while others hold and wait. The run makes it.
function MAKE.pool(session, path, random)
  local semaphore = session:semaphore(path)
  return { acquire = function(_, limit)
    local resized, message, code = true, nil, nil
    if random:chance(0.05) then resized, message, code = semaphore:resize(random:pick(M.LIMITS)) end
    if not resized then return nil, message, code end
    return semaphore:acquire(limit, random:pick(M.PERMITS))
  end, cancel = function() semaphore:cancel() end }
end

-- Each turn of a cohort is a hold of its own, with the same token. A count distinguishes the turns, and grows as tokens do.
function MAKE.cohort(session, path)
  local lock = session:lock(path, { cohort = true })
  local token, turns
  return { acquire = function(_, limit)
    local turn, message, code = lock:acquire(limit)
    if not turn then return nil, message, code end
    turns = turn.token == token and turns + 1 or 1
    token = turn.token
    turn.token = ("%s.%03d"):format(token, turns)
    return turn
  end, cancel = function() lock:cancel() end }
end

-- Acquired twice, so it must be released twice.
local Twice = {}
Twice.__index = Twice

function Twice:valid() return self.hold:valid() end
function Twice:set(...) return self.hold:set(...) end
function Twice:release() return self.hold:release() and self.hold:release() end

function MAKE.reentrant(session, path)
  local lock = session:lock(path, { reentrant = true })
  return { acquire = function(_, limit)
    local hold, message, code = lock:acquire(limit)
    if not hold then return nil, message, code end
    local again
    again, message, code = lock:acquire(0)
    if again then return setmetatable({ hold = hold, token = hold.token, path = hold.path }, Twice) end
    hold:release()
    return nil, message, code
  end, cancel = function() lock:cancel() end }
end

-- ---- Elections ---------------------------------------------------------------------------------

local Term = {}
Term.__index = Term

function Term:valid() return self.term:valid() end
function Term:set(...) return self.term:set(...) end

-- Sometimes resigns to a waiting candidate, if that succeeds in time.
function Term:release()
  local candidates = self.random:chance(0.2) and self.election:candidates() or {}
  local successor = #candidates > 1 and self.random:pick(candidates)
  if successor and successor.path ~= self.path then self.term:resign(successor, 0.5) end
  return self.term:resign()
end

local function campaign(election, limit, random)
  local term, message, code = election:campaign(limit)
  if not term then return nil, message, code end
  return setmetatable({ election = election, random = random, term = term, token = term.token, path = term.path }, Term)
end

function MAKE.term(session, path, random)
  local election = session:election(path)
  return { acquire = function(_, limit) return campaign(election, limit, random) end, cancel = function() election:cancel() end }
end

-- By rank; the rank of a process changes from time to time.
function MAKE.ranked(session, path, random)
  local election = session:election(path, { rank = math.floor(random:between(0, 4)) })
  return { acquire = function(_, limit)
    if random:chance(0.1) then election:update_rank(math.floor(random:between(0, 4))) end
    return campaign(election, limit, random)
  end, cancel = function() election:cancel() end }
end

-- ---- Two at once -------------------------------------------------------------------------------

-- A multilock sometimes acquires these two at once; the log has its hold as a hold of one of them.
local PAIR = { "fair", "writer" }

local Both = {}
Both.__index = Both

function Both:valid() return self.all:valid() end
function Both:set(...) return self.all:set(...) end
function Both:release() return self.all:release() end

local function take_both(session, locks, index, limit)
  local all, message, code = session:multilock { locks[PAIR[1]], locks[PAIR[2]] }:acquire(limit)
  if not all then return nil, message, code end
  local told = all.holds[index]
  return setmetatable({ all = all, token = told.token, path = told.path }, Both)
end

-- ---- For a worker ------------------------------------------------------------------------------

---@param which string "fair", "unfair", "writer", "permit", "pool", "cohort", "reentrant", "term" or "ranked"
function M.make(session, which, random) return MAKE[which](session, "/locks/" .. which, random) end

---Waits for one of the locks. → hold, or nil, message, code
function M.take(session, locks, which, limit, random)
  for index, name in ipairs(PAIR) do
    if which == name and random:chance(0.2) then return take_both(session, locks, index, limit) end
  end
  return locks[which]:acquire(limit)
end

return M
