-- The recipes' parts that are written in Lua. Each is loaded when a session makes an object of that recipe first.

local classes = require "zkrecipes.classes"
local core = require "zkrecipes.core"
local late = require "zkrecipes.late"

local M = {}

-- The session's method that makes the object > the file that adds it, or adds to it.
local FILES = {
  config = "config.config",
  election = "election.election",
  group = "group.group",
  ids = "counter.ids",
  lock = "lock.lock",
  multilock = "multilock.multilock",
  partitioner = "partitioner.partitioner",
  presence = "presence.presence",
  queue = "queue.queue",
  registry = "registry.registry",
  rwlock = "rwlock.rwlock",
  semaphore = "semaphore.semaphore",
  snowflake = "worker_id.snowflake",
  topic = "topic.topic",
  tree = "tree.tree",
  two_phase = "two_phase.two_phase",
}

-- Files that only some objects of a recipe need.
local MORE = { "lock.cohort", "lock.revocable" }

local loaders = {}

local function loader(file)
  return function() return late.load("recipes." .. file) end
end

for name, file in pairs(FILES) do
  loaders[#loaders + 1] = classes.defer("session", name, loader(file))
end
for _, file in ipairs(MORE) do loaders[#loaders + 1] = loader(file) end

-- load_all(): true; or nil and a message. lua-cjson too, if it is there; a registry without it says so itself.
function M.load_all()
  for _, load in ipairs(loaders) do
    local ok, problem = load()
    if not ok then return nil, problem end
  end
  late.load("recipes.registry.json").load()
  return true
end

core.own(debug.getinfo(1, "S").source)
return M
