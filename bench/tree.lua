-- make bench-tree: watched copies of 100,000 znodes in one process, in as many sessions as their watches need; without and with files.
-- It prints the time to load them, the longest stall of the host meanwhile, and their memory.

local core = require "zkrecipes.core"
local zk = require "zkrecipes"

local SESSIONS, EACH, DATA = 20, 5000, ("x"):rep(100)
local hosts, folder = os.getenv "ZK_HOSTS", os.tmpname()
os.remove(folder)
assert(os.execute("mkdir " .. folder))

local function paths_of(number) return ("/bench/%02d"):format(number), ("/bench/%02d/znode-%%05d"):format(number) end

local function plant()
  local session = zk.session { hosts = hosts }
  assert(session:create("/bench", ""))
  for number = 1, SESSIONS do
    local root, child = paths_of(number)
    assert(session:create(root, ""))
    for from = 1, EACH, 500 do
      local parts = {}
      for i = 1, 500 do parts[i] = { "create", child:format(from + i - 1), DATA } end
      assert(session:multi(parts))
    end
  end
  session:close()
end

local longest, watching = 0, true
local function watch_for_stalls()
  local last = zk.now()
  while watching do
    zk.sleep(0.001)
    local now = zk.now()
    longest, last = math.max(longest, now - last - 0.001), now
  end
end

local function is_written(trees)
  for number = 1, #trees do
    local file = io.open(folder .. "/" .. number)
    if not file then return false end
    file:close()
  end
  return true
end

-- Opens all copies, waits for them, and closes them.
local function load(name, files, at)
  local sessions, trees, before = {}, {}, core.alloc_bytes()
  local begin = zk.now()
  longest = 0
  for number = 1, SESSIONS do
    sessions[number] = zk.session { hosts = at or hosts, timeout = 30 }
    trees[number] = assert(sessions[number]:tree(paths_of(number), { file = files and folder .. "/" .. number or nil }))
  end
  local opened = zk.now() - begin
  for number = 1, SESSIONS do assert(trees[number]:ready(300)) end
  local took, znodes = zk.now() - begin, 0
  for number = 1, SESSIONS do znodes = znodes + core.classes.tree.inner.size(trees[number]) end
  while files and not at and not is_written(trees) do zk.sleep(0.01) end
  local written = zk.now() - begin
  print(("%-28s %d znodes; opened %.2f s, ready %.2f s, written %.2f s; longest stall %.0f ms; %.0f MiB"):format(name, znodes, opened, took,
    written, longest * 1000, (core.alloc_bytes() - before) / 2 ^ 20))
  for number = 1, SESSIONS do
    trees[number]:close()
    sessions[number]:close(0)
  end
end

zk.run(function()
  plant()
  local watcher = zk.spawn(watch_for_stalls)
  load("without files", false)
  load("with files", true)
  load("from files, without a server", true, "127.0.0.1:1")
  watching = false
  watcher:wait()
end)
os.execute("rm -r " .. folder)
