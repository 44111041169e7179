-- What the specs of a tree's file share: a folder, files, copies without a server.

local zk = require "zkrecipes"
local core = require "zkrecipes.core"
local env = require "spec.support.env"

local M = { LIMIT = 200 }

local NOWHERE = "127.0.0.1:1"

function M.shell(command, ...)
  local text = command:format(...)
  assert(os.execute(text), text)
end

-- Returns a new folder, and a function that returns the log of sessions opened with `log`.
function M.place()
  local folder = os.tmpname()
  os.remove(folder)
  M.shell("mkdir -m 700 %s", folder)
  local lines = {}
  local function log(level, text) lines[#lines + 1] = level .. " " .. text end
  local function said(pattern)
    local count = 0
    for _, line in ipairs(lines) do
      if line:find(pattern) then count = count + 1 end
    end
    return count
  end
  return folder .. "/tree", log, said, function() M.shell("rm -rf %s", folder) end
end

function M.read(path)
  local file = io.open(path, "rb")
  if not file then return nil end
  local text = file:read("*a")
  file:close()
  return text
end

function M.write(path, text)
  local file = assert(io.open(path, "wb"))
  file:write(text)
  file:close()
end

-- The text of the file with another time, format or header.
function M.forged(text, change)
  local rest = text:match "^[^\n]*\n%x+\n(.*)$"
  rest = change(rest)
  return "zkrecipes tree 1\n" .. core.hash(rest) .. "\n" .. rest
end

function M.to_server(tree) return assert(tree:await(function() return tree.source == "server" end, M.LIMIT)) end

-- Returns a namespace with a tree in it, and the file of a copy of that tree.
function M.prepared(file, options)
  local namespace = env.namespace()
  local session = env.session { namespace = namespace }
  for _, path in ipairs { "/c", "/c/b", "/c/a", "/c/a/x", "/c/a.b" } do assert(session:create(path, path)) end
  assert(session:create("/c/null", nil))
  assert(session:create("/c/bytes", "\0\1\255\n"))
  local given = { file = file }
  for key, value in pairs(options or {}) do given[key] = value end
  local tree = assert(session:tree("/c", given))
  assert(tree.source == nil)
  assert(tree:ready(M.LIMIT))
  assert(tree.source == "server")
  tree:close()
  return session, namespace
end

-- A session for which there is no server.
function M.alone(namespace, log) return zk.session { hosts = NOWHERE, namespace = namespace, log = log } end

function M.content(tree)
  local list = {}
  for path, data, stat in tree:pairs() do list[#list + 1] = { path, data, stat } end
  return list
end

return M
