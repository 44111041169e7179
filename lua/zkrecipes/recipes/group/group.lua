-- Group membership. Composes presences and a watched copy of the directory of their znodes.
--
-- 1. `join` keeps an ephemeral znode, named after the member's id (src/recipes/presence).
-- 2. `members` lists the copy of the directory, in the order in which the znodes were made.
-- 3. `changes` tells the copy's differences. With a grace, the end of a member is held back that long.
--
-- What can go wrong: a member loses its session: its znode is deleted and created again. Within the grace this is one change. Two members
-- have the same id: the second waits until the first has left. The presence and the copy handle all other failures.

local check = require "zkrecipes.check"
local child = require "zkrecipes.path".child
local classes = require "zkrecipes.classes"
local core = require "zkrecipes.core"
local escape = require "zkrecipes.escape"
local failure = require "zkrecipes.failure"
local random = require "zkrecipes.random"

local session_class = core.classes.session

local Member = { __name = "zkrecipes.member" }
local Changes = { __name = "zkrecipes.group_changes" }
local Group = { __name = "zkrecipes.group" }

local function name_of(path) return path:match "([^/]*)$" end

-- The id of the znode's name; names that escape did not make stay as they are.
local function id_of(path)
  local name = name_of(path)
  if name == "=" then return "" end
  return (name:gsub("=(%x%x)", function(hex) return string.char(tonumber(hex, 16)) end))
end

-- ---- Members -----------------------------------------------------------------------------------

Member.__index = Member

-- member:ready([timeout]), member:update([data [, timeout]]), member:leave([timeout]), member:state()
function Member:ready(timeout) return self.presence:ready(timeout) end
function Member:update(data, timeout) return self.presence:update(data, timeout) end
function Member:leave(timeout) return self.presence:leave(timeout) end
function Member:state() return self.presence:state() end

failure.name(Member, "member")
check.selves("member", Member, Member)

-- ---- Changes -----------------------------------------------------------------------------------

Changes.__index = Changes

local KINDS = { added = "joined", changed = "changed", removed = "left" }

local function shown(change, kind)
  return { kind = kind or KINDS[change.kind], id = id_of(change.path), data = change.data, token = change.stat and change.stat.czxid,
    before = change.before and change.before.data }
end

-- The first end of a member that was held back, if its grace is over. It may have come back in this moment; then that is told next.
local function ended(changes)
  local first = changes.held[1]
  if first.due > changes.now() or select(2, changes.group.tree:get(first.change.path)) then return nil end
  return shown(table.remove(changes.held, 1).change)
end

-- Cancels the pending end of a member that has come back.
local function held(changes, path)
  for i, each in ipairs(changes.held) do
    if each.change.path == path then return table.remove(changes.held, i).change end
  end
end

-- The change that this difference of the copy means for the reader; nil: none yet.
local function judge(changes, change)
  if change.path == changes.path then return nil end -- the directory itself
  if change.kind == "removed" and changes.grace > 0 then
    table.insert(changes.held, { change = change, due = changes.now() + changes.grace })
    return nil
  end
  local before = change.kind == "added" and held(changes, change.path)
  if not before then return shown(change) end
  local told = shown(change, "changed")
  told.before = before.before.data
  return told
end

-- Waits until there is a difference, but not longer than until the next end is due; the second result: until that.
local function await(changes, deadline)
  local due = changes.held[1] and changes.held[1].due
  local is_due = due and (not deadline or due <= deadline)
  local limit = is_due and due or deadline
  return is_due, changes.reader:next(limit and math.max(limit - changes.now(), 0))
end

local QUIET = { timeout = true, connection_loss = true }

-- group_changes:next([timeout]): the next change. The end of a member is reported only if no difference of the copy is left: one may
-- show that the member has come back.
function Changes:next(timeout)
  check.seconds(timeout, 1, "next", true)
  local deadline = timeout and self.now() + timeout
  while true do
    local is_due, change, message, code = await(self, deadline)
    local told
    if change then told = judge(self, change) elseif is_due and QUIET[code] then told = ended(self) end
    if told then return told end
    if not change and not (is_due and QUIET[code]) then return nil, message, code end
  end
end

-- group_changes:close()
function Changes:close() return self.reader:close() end

failure.name(Changes, "group_changes")
check.selves("group_changes", Changes, Changes)
Changes.__call = function(changes) return changes:next() end
Changes.__close = function(changes) changes:close() end

-- ---- Groups ------------------------------------------------------------------------------------

Group.__index = Group

-- group:join([data [, { id = }]]) -> member
function Group:join(data, options)
  if data ~= nil and type(data) ~= "string" then check.bad(1, "join", "string or nil expected, got " .. type(data)) end
  local id = check.options(options, { id = "string" }, 2, "join").id or random.hex(8)
  local name, message, code = escape(id)
  if not name then return nil, message, code end
  local path = child(self.path, name)
  local presence, problem, why = self.session:presence(path, data)
  if not presence then return nil, problem, why end
  return setmetatable({ id = id, path = path, presence = presence }, Member)
end

-- group:ready([timeout])
function Group:ready(timeout) return self.tree:ready(timeout) end

-- group:members(): in the order in which their znodes were made.
function Group:members()
  local list = {}
  for path, data, stat in self.tree:pairs() do
    if path ~= self.path then list[#list + 1] = { id = id_of(path), data = data, token = stat.czxid } end
  end
  table.sort(list, function(a, b) return a.token < b.token end)
  return list
end

-- group:await(n [, timeout]): the members, as soon as there are n or more.
function Group:await(n, timeout)
  check.count(n, 2147483647, 1, "await")
  check.seconds(timeout, 2, "await", true)
  return self.tree:await(function(tree)
    local names = tree:children()
    return #(names or {}) >= n and self:members()
  end, timeout)
end

-- group:age(): of the copy.
function Group:age() return self.tree:age() end

-- group:changes()
function Group:changes()
  local reader, message, code = self.tree:changes()
  if not reader then return nil, message, code end
  local changes = setmetatable({ reader = reader, group = self, path = self.path, grace = self.grace, held = {},
    now = core.host(self.session).adapter.now }, Changes)
  return changes, nil, nil, changes
end

-- group:close(): the copy; members stay.
function Group:close() return self.tree:close() end

failure.name(Group, "group")
check.selves("group", Group, Group)

-- ---- The session's method ----------------------------------------------------------------------

local Session = {}

-- session:group(path [, { grace = }])
function Session:group(path, options)
  check.below_root(path, 1, "group")
  local grace = check.options(options, { grace = "number" }, 2, "group").grace or 0
  check.seconds(grace, 2, "group")
  local tree, message, code = self:tree(path, { depth = 1 })
  if not tree then return nil, message, code end
  return setmetatable({ session = self, path = path, grace = grace, tree = tree }, Group)
end

classes.extend(session_class, Session)

core.own(debug.getinfo(1, "S").source)
return Group
