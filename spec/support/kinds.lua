-- Every kind of lock and election, behind the same functions: make[name](session, path).acquire(limit), and release(hold).

local M = {}

local function kind(object, method)
  return { object = object, acquire = function(limit) return object[method](object, limit) end }
end

M.names = { "fair", "unfair", "cohort", "reentrant", "reader", "writer", "permit", "term", "unfair_term", "ranked", "several" }

M.make = {}

function M.make.fair(session, path) return kind(session:lock(path), "acquire") end

function M.make.unfair(session, path) return kind(session:lock(path, { fair = false }), "acquire") end

function M.make.cohort(session, path) return kind(session:lock(path, { cohort = true }), "acquire") end

function M.make.reentrant(session, path) return kind(session:lock(path, { reentrant = true }), "acquire") end

function M.make.writer(session, path) return kind(session:rwlock(path), "write") end

-- Every second contender reads; the others conflict with it.
function M.make.reader(session, path)
  local rw, reads = session:rwlock(path), true
  return { object = rw, acquire = function(limit)
    reads = not reads
    return (reads and rw.read or rw.write)(rw, limit)
  end }
end

function M.make.permit(session, path) return kind(session:semaphore(path, 1), "acquire") end

function M.make.term(session, path) return kind(session:election(path), "campaign") end

function M.make.unfair_term(session, path) return kind(session:election(path, { fair = false }), "campaign") end

function M.make.ranked(session, path) return kind(session:election(path, { rank = 1 }), "campaign") end

-- A multilock.
function M.make.several(session, path)
  return kind(session:multilock { session:lock(path .. "/a"), session:rwlock(path .. "/b"):writer() }, "acquire")
end

function M.release(hold) return (hold.release or hold.resign)(hold) end

return M
