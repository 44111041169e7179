-- How a shared tree lies in the dictionary, and how it is read. Each key begins with the tree's prefix:
--
--   =PATH      a znode: a line with its flag and its stat, a line with the names of its children, and its data
--   #status    whether the copy was loaded; up to when it is proven; a problem
--
-- A znode is one entry, so a reader sees data, stat and children of one write. The writer (watch.lua) writes children before their parent,
-- and a parent before it deletes a child. So if a parent names a child that has no entry, there was no room for the child
-- (or it was deleted, and there was no room for its parent's new list).
--
-- A process may be killed while nginx copies its bytes. If the new text has the length of the old one, nginx overwrites that in place, and
-- a part of it would be new. So two texts of an entry that follow each other never have one length: nginx makes a new entry, and shows it
-- when all its bytes are there.

local clock = require "zkrecipes.openresty.shared.clock"
local core = require "zkrecipes.core"
local znode_path = require "zkrecipes.path"

local M = {}

-- In the order of the line. The first three are hexadecimal, the owner too, the others are integers.
local FIELDS = { "czxid", "mzxid", "pzxid", "ephemeral_owner", "ctime", "mtime", "version", "cversion", "aversion", "data_length",
  "num_children" }
local HEXADECIMAL = 4

-- ---- Entries -----------------------------------------------------------------------------------

local function field_text(stat, i)
  local value = stat[FIELDS[i]]
  if value == nil then return "-" end
  return i <= HEXADECIMAL and value or ("%.0f"):format(value)
end

-- names: of its children. problem: "no_auth" or nil. before: the text of the entry that it will replace, or nil.
function M.encode(data, stat, problem, names, before)
  local line = { problem and "p" or data and "d" or "n" }
  for i = 1, #FIELDS do line[i + 1] = field_text(stat, i) end
  local head, list = table.concat(line, " "), table.concat(names, "/")
  local text = head .. "\n" .. list .. "\n" .. (data or "")
  if not before or text == before or #text ~= #before then return text end
  return head .. "\n" .. list .. "/\n" .. (data or "") -- `names_in` does not see the slash
end

local function stat_of(line)
  local stat, i = {}, 0
  for word in line:gmatch("%S+") do
    if i > 0 and word ~= "-" then stat[FIELDS[i]] = i <= HEXADECIMAL and word or tonumber(word) end
    i = i + 1
  end
  return stat
end

-- The first line and the names, as texts, and where the data begin. ZooKeeper allows no line break in a name.
local function parts(text) return text:match("^([^\n]*)\n([^\n]*)\n()") end

local function names_in(text)
  local names = {}
  for name in text:gmatch("[^/]+") do names[#names + 1] = name end
  return names
end

-- ---- Reading -----------------------------------------------------------------------------------

function M.key(prefix, path) return prefix .. "=" .. path end

local function entry(shared, path) return shared.dict:get(shared.prefix .. "=" .. path) end

-- A parent that is there names it, but it has no entry.
local function is_missing(shared, path)
  if path == shared.path then return false end
  local parent, name = znode_path.parent(path), znode_path.name(path)
  local text = entry(shared, parent)
  if not text then return false end
  local _, names = parts(text)
  return ("/" .. names .. "/"):find("/" .. name .. "/", 1, true) ~= nil
end

-- The text of a znode's entry; or nil; or nil and "no_memory".
function M.find(shared, path)
  if not M.loaded(shared) then return nil end
  local text = entry(shared, path)
  if text or not is_missing(shared, path) then return text end
  text = entry(shared, path) -- it may have been added between the two
  if text then return text end
  return nil, "no_memory"
end

-- Data, stat, problem.
function M.get(shared, path)
  local text, missing = M.find(shared, path)
  if not text then return nil, nil, missing end
  local line, _, at = parts(text)
  local flag = line:sub(1, 1)
  return flag == "d" and text:sub(at) or nil, stat_of(line), flag == "p" and "no_auth" or nil
end

-- The sorted names; or nil; or nil and "no_memory".
function M.children(shared, path)
  local text, missing = M.find(shared, path)
  if not text then return nil, missing end
  local _, names = parts(text)
  return names_in(names)
end

-- Steps through the copy: parents before children. Keeps a stack of the names that are left on each level.
local function step(walk)
  while #walk > 0 do
    local path = table.remove(walk)
    local data, stat, problem = M.get(walk.shared, path)
    if stat or problem then
      local names = stat and M.children(walk.shared, path) or {}
      for i = #names, 1, -1 do walk[#walk + 1] = znode_path.child(path, names[i]) end
      return path, data, stat, problem
    end
  end
end

function M.pairs(shared) return step, { shared = shared, shared.path } end

-- ---- The status --------------------------------------------------------------------------------

local NEVER = 0

-- All texts have one length, so that the dictionary replaces them in place: that needs no memory.
function M.status_text(loaded, proven, problem)
  return ("%d %016.3f %-20.20s"):format(loaded and 1 or 0, proven or NEVER, problem or "")
end

-- { loaded =, proven =, problem = }; proven: a time of the clock, or nil.
function M.status(shared)
  local loaded, proven, problem = (shared.dict:get(shared.prefix .. "#status") or ""):match("^(%d) ([%d.]+) (%S*)")
  proven = tonumber(proven) or NEVER
  return { loaded = loaded == "1", proven = proven > NEVER and proven or nil, problem = problem ~= "" and problem or nil }
end

-- True; or nil, if the dictionary is full.
function M.set_status(shared, status)
  return shared.dict:safe_set(shared.prefix .. "#status", M.status_text(status.loaded, status.proven, status.problem))
end

-- Nothing is shown before the whole copy was written once; then it always is.
function M.loaded(shared)
  if not shared.loaded then shared.loaded = M.status(shared).loaded end
  return shared.loaded
end

function M.age(shared)
  local status = M.status(shared)
  if not status.loaded or not status.proven then return math.huge end
  return math.max(clock.now() - status.proven, 0)
end

core.own(debug.getinfo(1, "S").source)
return M
