-- The worker that is the writer (writer.lua) watches, and writes what it sees into the dictionary.
--
-- 1. It waits until no other process writes. If the dictionary shows a copy, it lets its server catch up with the leader (sync).
--    So what it reads is at least as new as what was ever shown: no older state replaces a newer one, and no zxid needs to be compared.
-- 2. It makes a tree. `levels` has the paths whose entries may differ from the tree: what the tree's reader tells of, with the parents, and
--    at the beginning all paths that have an entry (the process before may have been killed in the middle).
-- 3. It writes them in steps of STEP entries, without a wait inside of a step: the deepest first, then it deletes. See copy.lua.
-- 4. When nothing is left to be written, the dictionary is what the tree is, and as old: the status says so. Until then the age grows.
--
-- What can go wrong: the dictionary is full: the old entry stays, and the new one is tried again. There is a later writer: `begin` tells,
-- and this process writes no more. The worker is about to end: it leaves. The copy of a file is never written
-- over a copy that is shown.

local check = require "zkrecipes.check"
local clock = require "zkrecipes.openresty.shared.clock"
local copy = require "zkrecipes.openresty.shared.copy"
local core = require "zkrecipes.core"
local parent_of = require "zkrecipes.path".parent
local writers = require "zkrecipes.openresty.shared.writer"

local M = {}

local BEAT, SOON = 0.5, 0.02 -- seconds between two statuses; until the next try when another process still writes
local STEP = 200             -- entries
local LOOK = 0.5             -- seconds between two looks at the present writer

local take = core.classes.changes.inner.take

-- ---- What is dirty -----------------------------------------------------------------------------

local function depth_of(path)
  if path == "/" then return 0 end
  return select(2, path:gsub("/", ""))
end

local function mark(watch, path)
  local depth = depth_of(path)
  local level = watch.levels[depth] or {}
  watch.levels[depth], level[path] = level, true
  watch.deepest = math.max(watch.deepest, depth)
end

local function mark_with_parent(watch, path)
  mark(watch, path)
  if path ~= watch.shared.path then mark(watch, parent_of(path)) end
end

local function mark_entries(watch)
  local first = copy.key(watch.shared.prefix, "")
  for _, key in ipairs(watch.shared.dict:get_keys(0)) do
    if key:sub(1, #first) == first then mark(watch, key:sub(#first + 1)) end
  end
end

-- Marks all that the reader can tell of now.
local function drain(watch)
  local change = take(watch.changes)
  while change do
    mark_with_parent(watch, change.path)
    change = take(watch.changes)
  end
end

local function is_dirty(watch) return watch.deepest >= 0 or next(watch.gone) ~= nil end

-- ---- Writing -----------------------------------------------------------------------------------

local SMALL, ROOMY = 1900, 8192 -- bytes: an entry of which several fit into a page of the dictionary; two free pages

-- False if there is no room for it; then the old entry stays. When nginx finds no room, it has deleted the old entry already; so we try
-- first whether there is room for the new one beside it.
local function put(dict, key, text)
  if #key + #text > SMALL or dict:free_space() < ROOMY then
    local trial = "#trial" .. key -- it begins like no entry
    local done = dict:safe_set(trial, text)
    dict:delete(trial)
    if not done then return false end
  end
  return dict:safe_set(key, text) == true
end

-- False if there is no room for it.
local function write(watch, path)
  local data, stat, problem = watch.tree:get(path)
  if not stat then
    watch.gone[path] = true
    return true
  end
  local key = copy.key(watch.shared.prefix, path)
  local before = watch.shared.dict:get(key)
  local text = copy.encode(data, stat, problem, watch.tree:children(path) or {}, before)
  return text == before or put(watch.shared.dict, key, text)
end

-- Takes a path of the deepest level; nil: none is dirty.
local function pop(watch)
  while watch.deepest >= 0 do
    local level = watch.levels[watch.deepest]
    local path = level and next(level)
    if path then
      level[path] = nil
      return path
    end
    watch.levels[watch.deepest] = nil
    watch.deepest = watch.deepest - 1
  end
end

local function delete_gone(watch, count)
  local path = next(watch.gone)
  while path and count > 0 do
    watch.gone[path] = nil
    if select(2, watch.tree:get(path)) then mark_with_parent(watch, path)
    else watch.shared.dict:delete(copy.key(watch.shared.prefix, path)) end
    path, count = next(watch.gone), count - 1
  end
end

-- One step. What finds no room goes to `watch.full`.
local function write_some(watch)
  for count = STEP, 1, -1 do
    local path = pop(watch)
    if not path then return delete_gone(watch, count) end
    if not write(watch, path) then watch.full[path] = true end
  end
end

local function try_full_again(watch)
  for path in pairs(watch.full) do mark(watch, path) end
  watch.full = {}
end

-- ---- The status --------------------------------------------------------------------------------

-- The copy is whole when all that the tree has loaded is written; `known`: the status before.
local function new_status(watch, known)
  local tree_age = watch.tree:age()
  local whole = not is_dirty(watch) and not next(watch.full) and tree_age < math.huge
  local problem = next(watch.full) and "no_memory" or watch.tree.problem
  if not whole then return { loaded = known.loaded, proven = known.proven, problem = problem } end
  return { loaded = true, proven = math.max(clock.now() - tree_age, 0.001), problem = problem }
end

-- The copy of a file shows nothing that is newer than what the dictionary shows.
local function may_write(watch) return watch.tree.source == "server" or watch.tree.source == "file" and not watch.was_loaded end

local LINK = "connection_loss"

-- The status while the tree has nothing that may be written.
local function waiting_status(watch, known)
  if not known.loaded and (not known.problem or known.problem == LINK) then
    known.problem = watch.session.state ~= "connected" and LINK or nil
  end
  return known
end

-- Writes one step if there is something to write. Returns true; or nil and why not, as Writer:begin.
local function step(watch)
  local done, why = watch.writer:begin()
  if not done then return nil, why end
  if may_write(watch) then
    drain(watch)
    write_some(watch)
  end
  local known = copy.status(watch.shared)
  copy.set_status(watch.shared, (may_write(watch) and new_status or waiting_status)(watch, known))
  watch.writer:finish()
  return true
end

-- ---- Watching ----------------------------------------------------------------------------------

local function zk() return require "zkrecipes" end

local function report(shared, text)
  if shared.told ~= text then ngx.log(ngx.ERR, "zkrecipes: shared_tree ", shared.path, ": ", text) end
  shared.told = text
end

-- Nothing can be watched now. All workers are told why.
local function fail(shared, writer, message, code)
  if writer:begin() then
    local known = copy.status(shared)
    copy.set_status(shared, { loaded = known.loaded, proven = known.proven, problem = code })
    writer:finish()
  end
  report(shared, message)
end

-- Waits until this process may write. Nil: there is a later writer, or the worker ends.
local function begin(shared, writer)
  while not ngx.worker.exiting() do
    local done, why = writer:begin()
    if done then
      if not shared.dict:get(shared.prefix .. "#status") then copy.set_status(shared, {}) end
      writer:finish()
      return true
    end
    if why == "over" then return nil end
    if why == "no_memory" then report(shared, "the dictionary is full") end
    zk().sleep(why == "wait" and SOON or LOOK)
  end
end

-- Lets the server catch up. Nil: as for `begin`.
local function catch_up(shared, writer, session)
  while begin(shared, writer) do
    if session:sync(shared.path, { timeout = BEAT }) then return true end
    zk().sleep(SOON)
  end
end

local function note_problem(shared, tree)
  local problem = copy.status(shared).problem
  if problem == "no_memory" then report(shared, "the dictionary is full: enlarge its lua_shared_dict")
  elseif tree.problem then report(shared, "the copy is not whole: " .. tree.problem)
  elseif not problem then shared.told = nil end
end

-- Follows the tree until this process must not write any more.
local function follow(watch)
  while not ngx.worker.exiting() do
    local done, why = step(watch)
    if why == "over" then return end
    note_problem(watch.shared, watch.tree)
    if done and is_dirty(watch) and may_write(watch) then zk().sleep(0.001)
    else
      local change, message, code = watch.changes:next(BEAT)
      if change then mark_with_parent(watch, change.path)
      elseif code ~= "timeout" and code ~= "connection_loss" then return fail(watch.shared, watch.writer, message, code) end
      try_full_again(watch)
    end
  end
end

local function make_tree(shared, session)
  local options = shared.options
  return session:tree(shared.path, { depth = options.depth, filter = options.filter, file = options.file })
end

local function watch_with(shared, writer, session)
  local was_loaded = copy.status(shared).loaded
  if was_loaded and not catch_up(shared, writer, session) then return end
  local tree, message, code = make_tree(shared, session)
  if not tree then return fail(shared, writer, message, code) end
  local watch = { shared = shared, writer = writer, session = session, tree = tree, changes = tree:changes(), was_loaded = was_loaded,
    levels = {}, deepest = -1, gone = {}, full = {} }
  mark_entries(watch)
  local ok, problem = pcall(follow, watch)
  tree:close()
  if not ok then error(problem, 0) end
end

-- A session of its own, or that of the worker.
local function watch_once(shared, writer)
  if not begin(shared, writer) then return end
  local own = shared.options.session
  local session, message, code = (own and zk().session or zk().shared)(own)
  if not session then return fail(shared, writer, message, code) end
  local ok, problem = pcall(watch_with, shared, writer, session)
  if own then session:close() end
  if not ok then error(problem, 0) end
end

local function try(shared, writer)
  local done, problem = writer:take()
  if not done then return problem and report(shared, "the dictionary is full: " .. problem) end
  local ok, failure = pcall(watch_once, shared, writer)
  writer:leave()
  if not ok and (failure == zk().canceled or ngx.worker.exiting()) then error(failure, 0) end
  if not ok then report(shared, check.text(failure)) end
end

-- Runs as long as the worker does.
function M.run(shared)
  local writer
  while not ngx.worker.exiting() do
    writer = writer or writers.new(shared.dict, shared.prefix)
    if writer then try(shared, writer)
    else report(shared, "this worker does not watch: it cannot read /proc, which tells which processes live; it tries again") end
    zk().sleep(LOOK)
  end
end

core.own(debug.getinfo(1, "S").source)
return M
