-- The file of a watched copy: what a program knows while no server answers.
--
-- 1. When the tree is made, the file is read. If it is sound and of this tree, the copy shows what the file says, and is as old as that.
-- 2. When the copy was loaded from the servers, the file is replaced. From then on it is replaced every five seconds if the copy has
--    changed, and every minute if it has not, so that its age stays true.
--
-- The file has a line that names the format, a hash of all that follows, the time up to which the copy was proven (milliseconds since
-- 1970, on this machine's clock), and the copy (src/recipes/tree/pack.c).
--
-- What can go wrong: the file is damaged, or of another format: it is not used, and replaced later. It is of another tree, is no file of
-- a tree at all, or belongs to another user: it is neither used nor replaced. It cannot be written: the old file stays. Each of these is a
-- line in the session's log. The clock was set back below the file's time: how old the file is, is unknown.

local core = require "zkrecipes.core"
local dispatch = require "zkrecipes.host.dispatch"
local tasks = require "zkrecipes.host.tasks"
local wait = require "zkrecipes.host.wait"

local M = {}

local inner = core.classes.tree.inner

local KIND, FORMAT = "zkrecipes tree ", "1"
local CHANGED, UNCHANGED = 5, 60 -- seconds between two writes
local AGE_MAX = 1e9              -- seconds

-- The tree keeps its file: { path, tree_path, clock, host, session; count = changes of the copy that are in it, proven = up to when that
-- copy was proven (as adapter.now()); task = what keeps it; problem = why it was not written the last time, closed = it must not be
-- written }.

local function log(file, level, text, ...)
  dispatch.tell(file.host, level, ("tree %s: "):format(file.tree_path) .. text:format(...), file.session)
end

-- ---- The text ----------------------------------------------------------------------------------

local function encode(copy, proven_ms)
  local rest = ("%.0f\n%s"):format(proven_ms, copy)
  return ("%s%s\n%s\n%s"):format(KIND, FORMAT, core.hash(rest), rest)
end

-- Returns the copy and the time of its proof; or nil, why it cannot be used, and whether it may be replaced.
local function decode(text)
  if text:sub(1, #KIND) ~= KIND then return nil, "it is no file of a tree", false end
  local format, hash, from = text:match("^([^\n]*)\n(%x+)\n()", #KIND + 1)
  if format and format ~= FORMAT then return nil, "it is of another version", true end
  local rest = from and text:sub(from)
  if not rest or #hash ~= 16 or core.hash(rest) ~= hash then return nil, "it is damaged", true end
  local proven_ms, at = rest:match "^(%-?%d+)\n()"
  if not at or #proven_ms > 15 then return nil, "it is damaged", true end
  return rest:sub(at), tonumber(proven_ms)
end

-- ---- Reading -----------------------------------------------------------------------------------

-- Seconds since the proof; nil: unknown.
local function age_of(file, proven_ms)
  local age = (file.clock() - proven_ms) / 1000
  if proven_ms >= 0 and age >= 0 and age <= AGE_MAX then return age end
end

local REASONS = { another = "it is of another tree", damaged = "it is damaged", no_memory = "memory is exhausted" }

-- Returns true; or nil, why the file is not used, and whether it may be replaced.
local function restore(tree, file, text)
  local copy, proven_ms, replaceable = decode(text)
  if not copy then return nil, proven_ms, replaceable end
  local why = inner.restore(tree, copy, age_of(file, proven_ms))
  if why then return nil, REASONS[why], why ~= "another" end
  return true
end

-- Shows what the file says, if there is a file.
local function read(tree, file)
  local text, problem = core.read_file(file.path)
  if problem then
    file.closed = true
    log(file, "error", "%s; it is not written either", problem)
  elseif text then
    local done, why, replaceable = restore(tree, file, text)
    if done then return end
    file.closed = not replaceable
    log(file, replaceable and "warning" or "error", "%s is not used: %s%s", file.path, why,
      replaceable and "" or "; it is not replaced either")
  end
end

-- ---- Writing -----------------------------------------------------------------------------------

-- Up to when the copy is proven, if it should be written.
local function due(tree, file)
  if file.closed or tree.source ~= "server" then return nil end
  local proven = file.host.adapter.now() - inner.proof_age(tree)
  if inner.count(tree) ~= file.count or proven - file.proven >= UNCHANGED then return proven end
end

local function note(file, problem)
  if problem and problem ~= file.problem then log(file, "error", "%s; the file stays as it was", problem) end
  file.problem = problem
end

-- Replaces the file, if there is something new to be said.
local function write(tree, file)
  local proven, count = due(tree, file), inner.count(tree)
  if not proven then return end
  local copy, message = inner.pack(tree)
  if not copy then return note(file, message) end
  local age_ms = (file.host.adapter.now() - proven) * 1000
  local done, problem = core.replace_file(file.path, encode(copy, math.floor(file.clock() - age_ms)))
  note(file, problem)
  if done then file.count, file.proven = count, proven end
end

-- Does not keep the tree: `trees` is weak.
local function keep(file, trees)
  while true do
    local tree = trees[1]
    if not tree or not inner.follows(tree) then return end
    write(tree, file)
    tree = nil -- luacheck: ignore
    wait.pause(file.host, wait.record(), CHANGED)
  end
end

-- ---- For tree.lua ------------------------------------------------------------------------------

-- Gives the tree this file, when it was just made.
function M.open(session, tree, path)
  local host = core.host(session)
  local file = { path = path, tree_path = tree.path, session = session, host = host, clock = host.wall_ms or core.wall_ms, count = -1,
    proven = 0 }
  core.keep(tree, "file", file)
  read(tree, file)
  file.task = tasks.behind(host, { quiet = true }, keep, file, setmetatable({ tree }, { __mode = "v" }))
end

-- Writes what is not in the file yet, for a program that ends soon.
function M.save(tree)
  local file = core.kept(tree, "file")
  if file and inner.follows(tree) then write(tree, file) end
end

-- The tree is to be closed.
function M.close(tree)
  M.save(tree)
  local file = core.kept(tree, "file")
  if file then file.task:cancel() end
end

core.own(debug.getinfo(1, "S").source)
return M
