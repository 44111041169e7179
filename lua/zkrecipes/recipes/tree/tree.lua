-- The part of watched copies that is written in Lua: options, the iterators, and waits that run the user's code or consist of several.

local check = require "zkrecipes.check"
local classes = require "zkrecipes.classes"
local core = require "zkrecipes.core"
local failure = require "zkrecipes.failure"
local files = require "zkrecipes.recipes.tree.file"
local options_of = require "zkrecipes.recipes.tree.options".check
local activity = require "zkrecipes.status.activity"

local session_class, tree_class, changes_class = core.classes.session, core.classes.tree, core.classes.changes
local Session, Tree, Changes = {}, {}, {}

local changed = classes.waiting(tree_class.inner.changed)
local await_change = classes.waiting(changes_class.inner.await)

-- ---- Making ------------------------------------------------------------------------------------

-- session:tree(path [, options])
function Session:tree(path, options)
  check.path(path, 1, "tree")
  options = options_of(path, options, {}, "tree", 2)
  local tree, message, code = session_class.core.tree(self, path, options.depth, options.patterns)
  if not tree then return nil, message, code end
  activity.copies(core.host(self), tree)
  if options.file then files.open(self, tree, options.file) end
  return tree
end

-- tree:ready([timeout])
function Tree:ready(timeout)
  local ok, message, code = tree_class.core.ready(self, timeout)
  if ok then files.save(self) end
  return ok, message, code
end

function Tree:close()
  files.close(self)
  return tree_class.core.close(self)
end

function tree_class.meta.__close(tree) tree:close() end

-- ---- Waiting -----------------------------------------------------------------------------------

-- Returns a function: the seconds that are left, or nil without a limit.
local function limit_of(object, timeout)
  local now = core.host(object).adapter.now
  local deadline = timeout and now() + timeout
  return function() return deadline and math.max(deadline - now(), 0) end
end

-- tree:await(fn [, timeout]): the first true value that fn(tree) returns; it is called when the copy is loaded and after each change.
function Tree:await(fn, timeout)
  check.fn(fn, 1, "await")
  check.seconds(timeout, 2, "await", true)
  local left = limit_of(self, timeout)
  local ok, message, code = tree_class.core.ready(self, left())
  while ok do
    local seen = tree_class.inner.count(self)
    local value = fn(self)
    if value then return value end
    ok, message, code = changed(self, seen, left())
  end
  return failure.told("tree:await", self.path, nil, message, code)
end

-- changes:next([timeout]): the next change.
function Changes:next(timeout)
  check.seconds(timeout, 1, "next", true)
  local left = limit_of(self, timeout)
  local ok, message, code
  repeat
    ok, message, code = await_change(self, left())
    local change
    if ok then change, message, code = changes_class.inner.take(self) end
    if change then return change end
  until not ok or code
  return failure.told("changes:next", self.path, nil, message, code)
end

function changes_class.meta.__call(changes) return changes:next() end

-- ---- Reading -----------------------------------------------------------------------------------

local after = tree_class.inner.after

-- for path, data, stat in tree:pairs() do ... end: the copy, as it is at each step.
function Tree:pairs() return after, self, nil end

-- tree:changes(): an object, and what makes `for` close it. It keeps the tree, which would be closed when it is collected.
function Tree:changes()
  local changes, message, code = tree_class.core.changes(self)
  if not changes then return nil, message, code end
  core.keep(changes, "tree", self)
  return changes, nil, nil, changes
end

classes.extend(session_class, Session)
classes.extend(tree_class, Tree)
classes.extend(changes_class, Changes)

core.own(debug.getinfo(1, "S").source)
