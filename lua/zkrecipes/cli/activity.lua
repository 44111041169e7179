-- What `zkr top` shows: the locks, elections, queues and groups of a subtree.

local walk = require "zkrecipes.cli.walk"

local M = {}

local function parent_of(path) return path:match "^(.+)/[^/]*$" or "/" end

local function has(names, wanted)
  for _, name in ipairs(names) do
    if name == wanted then return true end
  end
  return false
end

-- The directories with ephemeral children, and the queues. ZooKeeper's own znodes have neither.
local function find(context, path, depth)
  local directories, queues, seen = {}, {}, {}
  walk(context, path, { depth = depth }, function(node)
    if not node.stat then return end
    if has(node.names, "lanes") and has(node.names, "claims") then
      queues[#queues + 1] = node.path
      node.names = {} -- what is inside belongs to the queue
    end
    local parent = parent_of(node.path)
    if node.stat.ephemeral_owner and node.depth > 0 and not seen[parent] then
      seen[parent] = true
      directories[#directories + 1] = parent
    end
  end)
  return directories, queues
end

local function first_holder(contenders)
  for _, one in ipairs(contenders) do
    if one.holding then return one end
  end
end

-- A directory of contenders, or of other ephemeral znodes, for example of a group's members. nil: it is gone, or cannot be read.
local function directory_row(session, path)
  local contenders = session:lock(path):contenders()
  if not contenders then return nil end
  if #contenders == 0 then
    local names = session:children(path)
    return names and { path = path, kind = "group", holders = #names, waiters = 0 }
  end
  local row = { path = path, kind = "lock", holders = 0, waiters = 0 }
  for _, one in ipairs(contenders) do
    local column = one.holding and "holders" or "waiters"
    row[column] = row[column] + 1
  end
  local holder = first_holder(contenders)
  if holder then row.since, row.data = holder.since, holder.data end
  return row
end

local function queue_row(session, path)
  local size = session:queue(path):size()
  local claims = session:children(path .. "/claims")
  return size and { path = path, kind = "queue", holders = claims and #claims or 0, waiters = size }
end

-- Rows: path, kind ("lock", "queue" or "group"), holders (of a queue: claimed items), waiters (of a queue: items), since, data.
-- The busiest first.
function M.read(context, path, depth)
  local session, rows = context:session(), {}
  local directories, queues = find(context, path, depth)
  for _, directory in ipairs(directories) do rows[#rows + 1] = directory ~= "/" and directory_row(session, directory) or nil end
  for _, queue in ipairs(queues) do rows[#rows + 1] = queue_row(session, queue) end
  table.sort(rows, function(one, other)
    if one.waiters ~= other.waiters then return one.waiters > other.waiters end
    return one.path < other.path
  end)
  return rows
end

return M
