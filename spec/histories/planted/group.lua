-- Bugs of groups. See plant.lua.

local GROUP = "lua/zkrecipes/recipes/group/group.lua"

local function bug(name, old, new, also)
  return { name = "group: " .. name, file = GROUP, harness = "worlds", run = "--recipe group --seeds 1200", old = old, new = new,
    also = also }
end

return {
  bug("there is no grace", "due = changes.now() + changes.grace", "due = changes.now()"),
  bug("one that comes back is not known any more", 'local before = change.kind == "added" and held(changes, change.path)',
    "local before = nil"),
  bug("an end is told although the member is back",
    "first.due > changes.now() or select(2, changes.group.tree:get(first.change.path))",
    "first.due > changes.now()",
    { old = "    local is_due, change, message, code = await(self, deadline)\n    local told\n",
      new = "    local told = self.held[1] and ended(self)\n    if told then return told end\n"
        .. "    local is_due, change, message, code = await(self, deadline)\n" }),
  bug("the members are in no order", "return a.token < b.token", "return a.id < b.id"),
  bug("the directory is a member", "  if change.path == changes.path then return nil end -- the directory itself\n", ""),
  bug("what was before is forgotten", "  told.before = before.before.data\n", ""),
  bug("names are told, not ids", 'return (name:gsub("=(%x%x)"', 'return (name:gsub("none(%x%x)"'),
}
