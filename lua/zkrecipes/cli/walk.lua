-- Visits a znode and all znodes below it, parents first, in the order of names. Siblings are read many at once; of a directory with many
-- children only some are in memory at a time. A znode that is deleted meanwhile is left out.

local pool = require "zkrecipes.cli.pool"

local BATCH = 256

local function child_path(parent, name)
  return (parent == "/" and "" or parent) .. "/" .. name
end

-- Returns the node, nil if it is gone. A node that may not be read has no stat, and a `code`.
local function read(walk, path)
  local data, names, stat, code
  if walk.with_data then data, stat, code = walk.session:get(path) end
  if code == nil then names, stat, code = walk.session:children(path) end
  if code == "no_node" then return nil end
  if code == "no_auth" then return { path = path, names = {}, code = code } end
  walk.context:check(path, names, stat, code)
  table.sort(names)
  return { path = path, data = data, stat = stat, names = names }
end

local function descend(walk, node, depth)
  if depth >= walk.depth then return end
  for from = 1, #node.names, BATCH do
    local batch = table.move(node.names, from, math.min(from + BATCH - 1, #node.names), 1, {})
    local children = pool(walk.context.zk, batch, function(name) return read(walk, child_path(node.path, name)) end)
    for i, name in ipairs(batch) do
      local child = children[i]
      if child then
        child.name, child.depth, child.last, child.parent = name, depth + 1, from + i - 1 == #node.names, node
        walk.visit(child)
        descend(walk, child, depth + 1)
      end
    end
  end
end

-- visit(node): path, name, depth, parent, last (it is the last child), names (of its children), stat, data, code.
-- options: depth (levels below the root; default: all), with_data.
return function(context, path, options, visit)
  local walk = { context = context, session = context:session(), depth = options.depth or math.huge, with_data = options.with_data,
    visit = visit }
  local root = read(walk, path)
  if not root then context:check(path, nil, "", "no_node") end
  root.name, root.depth, root.last = path, 0, true
  visit(root)
  descend(walk, root, 0)
end
