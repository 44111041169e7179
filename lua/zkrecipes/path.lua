-- Paths of znodes, as users write them.

local core = require "zkrecipes.core"

local M = {}

-- The path of this child of a znode, which may be the root.
function M.child(parent, name) return (parent == "/" and "" or parent) .. "/" .. name end

-- The path above a znode's, which is not the root.
function M.parent(path) return path:match("^(.+)/[^/]*$") or "/" end

-- The last part of a path.
function M.name(path) return path:match("[^/]*$") end

core.own(debug.getinfo(1, "S").source)
return M
