-- The harnesses: which recipes each one runs, and its command.
--
--     engine    the recipes in C, right over the simulated ZooKeeper: the fastest, and every allocation may fail
--     worlds    the recipes in Lua, and barriers: coroutines in a simulated world
--     queue     the queue, in the same worlds
--     lease     one holder and one waiter: no two valid holders
--
-- All of them take --seeds, --from, --seed and --first. A harness with several recipes also takes --recipe. Without --seeds, each recipe
-- runs its own number of histories.

local M = {
  { name = "engine", recipes = { "lock", "unfair", "rwlock", "semaphore", "election", "worker_id" }, program = "histories", small = true },
  { name = "worlds", recipes = { "barrier", "latch", "counter", "cyclic", "double", "reentrant", "revocable", "requested", "cohort",
    "multilock", "mixed", "election", "unfair_election", "ranked", "timer", "foreign", "snowflake", "tree", "presence", "group", "config",
    "registry", "two_phase", "partitioner", "topic" },
    script = "spec/histories/worlds/main.lua" },
  { name = "queue", recipes = { "queue" }, script = "spec/histories/queue/histories.lua" },
  { name = "lease", recipes = { "lease" }, program = "lease_histories" },
}

local function holds(list, wanted)
  for _, name in ipairs(list) do
    if name == wanted then return true end
  end
  return false
end

-- True if the words (nil: all) name this harness.
function M.is_chosen(harness, words) return not words or (" " .. words .. " "):find(" " .. harness.name .. " ", 1, true) ~= nil end

-- True if the harness has histories of this recipe (nil: any recipe).
function M.has(harness, recipe) return not recipe or holds(harness.recipes, recipe) end

return M
