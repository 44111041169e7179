-- zkr import: creates the znodes of an export. Writes nothing if a line is wrong or if a znode exists already:
--
-- 1. It reads all lines.
-- 2. It lets the servers check what only they can: each ACL, and data that may be too large.
-- 3. It asks which znodes exist.
-- 4. It creates the znodes, level by level.

local acls = require "zkrecipes.cli.acl"
local arguments = require "zkrecipes.cli.arguments"
local clean = require "zkrecipes.cli.clean"
local exit = require "zkrecipes.cli.exit"
local input = require "zkrecipes.cli.input"
local needs = require "zkrecipes.cli.needs"
local pool = require "zkrecipes.cli.pool"
local problem = require "zkrecipes.cli.problem"
local znode = require "zkrecipes.cli.znode"

local M = { name = "import", group = "Znodes", summary = "Create the znodes that an export has printed." }

M.examples = [[
zkr import /conf <conf.jsonl
zkr import --overwrite /conf <conf.jsonl
]]

local SHOWN = 10         -- paths of a message
local LARGE = 900000     -- bytes of data that are checked, because a request has at most a million bytes
local PROBE = "/zkr-import" -- for the root, which cannot be created
local NEVER = 0x7fffffff -- a version that no znode has
local WRONG = { invalid_acl = "the servers refuse its ACL", too_large = "its data are too large for a request" }

function M.define(parser)
  arguments.path(parser, "Where to put the znode that was exported. Missing parents are created.")
  parser:flag("--overwrite", "Overwrite the data (and the ACL) of znodes that exist. Without it nothing is imported then.")
end

-- What base64 cannot be leaves other data, or none.
local function is_encoded(fields)
  local encoded = fields.data_base64
  return encoded == nil or type(encoded) == "string" and needs "mime".b64(znode.data_of(fields)) == encoded
end

local function is_text(value) return value == nil or type(value) == "string" end

local function is_line(fields)
  return type(fields) == "table" and type(fields.path) == "string" and fields.path:sub(1, 1) == "/" and is_text(fields.data)
    and is_encoded(fields) and (fields.acl == nil or type(fields.acl) == "table")
end

-- The input may be another's.
local function refuse(context, number, why)
  context:fail(exit.USAGE, ("line %d of the input: %s"):format(number, clean(why)))
end

local function read_line(context, line, number)
  local read, fields = pcall(context.json.decode, line)
  if not read or not is_line(fields) then refuse(context, number, "not a line of `zkr export`") end
  fields.number = number
  if fields.acl then
    local acl, wrong = acls.read(fields.acl)
    if not acl then refuse(context, number, wrong) end
    fields.shown_acl, fields.acl = table.concat(fields.acl, "\n"), acl
  end
  return fields
end

-- The root has none.
local function depth_of(path) return path == "/" and 0 or select(2, path:gsub("/", "")) end

-- The znodes by levels, so that the parents exist.
local function read_all(context, root)
  local levels, number, seen = {}, 0, {}
  for line in input.all(context):gmatch "[^\n]+" do
    number = number + 1
    local fields = read_line(context, line, number)
    local first, level = seen[fields.path], depth_of(fields.path) + 1
    if first then refuse(context, number, ("%s is in line %d already"):format(fields.path, first)) end
    seen[fields.path] = number
    fields.path = fields.path == "/" and root or (root == "/" and "" or root) .. fields.path
    for i = #levels + 1, level do levels[i] = {} end
    table.insert(levels[level], fields)
  end
  return levels, number
end

-- Lets the servers check the znode by a transaction that fails in the end, so it writes nothing.
local function try(context, fields)
  local path = fields.path == "/" and PROBE or fields.path
  local session = context:session()
  local called, raised, _, code = pcall(session.multi, session,
    { { "create", path, znode.data_of(fields), { acl = fields.acl } }, { "check", path, NEVER } })
  if not called then refuse(context, fields.number, problem.misuse(raised) or error(raised, 0)) end
  if WRONG[code] then refuse(context, fields.number, WRONG[code]) end
end

-- Each ACL is tried once.
local function try_all(context, levels)
  local tried, list = {}, {}
  for _, level in ipairs(levels) do
    for _, fields in ipairs(level) do
      local acl = fields.shown_acl
      if acl and not tried[acl] or #(znode.data_of(fields) or "") > LARGE then list[#list + 1] = fields end
      if acl then tried[acl] = true end
    end
  end
  pool(context.zk, list, function(fields) try(context, fields) end)
end

-- The root always exists: it counts only if there is something to write.
local function counts(fields) return fields.path ~= "/" or fields.data or fields.data_base64 end

local function existing(context, levels)
  local session, paths = context:session(), {}
  for _, level in ipairs(levels) do
    pool(context.zk, level, function(fields)
      fields.exists = context:check(fields.path, session:exists(fields.path))
      if fields.exists and counts(fields) then paths[#paths + 1] = fields.path end
    end)
  end
  table.sort(paths)
  return paths
end

local function write(context, fields)
  local session, path, data = context:session(), fields.path, znode.data_of(fields)
  if not fields.exists then
    return context:check(path, session:create(path, data, { parents = true, acl = fields.acl }))
  end
  if counts(fields) then context:check(path, session:set(path, data)) end
  if fields.acl then context:check(path, session:set_acl(path, fields.acl)) end
end

function M.run(context, given)
  local levels, count = read_all(context, given.path)
  try_all(context, levels)
  local paths = existing(context, levels)
  if #paths > 0 and not given.overwrite then
    context:fail(exit.NO, ("nothing was imported, because %d znodes exist: %s%s; --overwrite overwrites them"):format(#paths,
      table.concat(paths, ", ", 1, math.min(#paths, SHOWN)), #paths > SHOWN and " ..." or ""))
  end
  for _, level in ipairs(levels) do
    pool(context.zk, level, function(fields) write(context, fields) end)
  end
  context:note(("%d znodes were imported"):format(count))
end

return M
