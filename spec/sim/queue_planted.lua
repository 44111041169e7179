-- Plants bugs into copies of the queue's sources, and sees that its histories catch each:
--
--     queue_planted.lua FOLDER [NAME]        where the copies go; only the bugs whose names begin so
--
-- A bug is { name, file, old, new }; `old` must be there exactly once.

local BUGS = {
  { "ack without the version of its claim", "item", '{ "delete", layout.item_path(place), state.version }',
    '{ "delete", layout.item_path(place) }' },
  { "claims outlive their session", "claim", '{ "create", claim, entry.claimant, { ephemeral = true } },',
    '{ "create", claim, entry.claimant },' },
  { "a claim whose answer is lost is left behind", "claim", "return look_for_claim(desk, place, entry, claim, unsure)",
    "return nil, places.GONE" },
  { "a claim of a session that is over is given", "claim", "if done and id and store.session.id == id then", "if done then" },
  { "a lost answer of an ack counts as done", "item",
    'if code ~= "connection_loss" then state.unsure = unsure end', 'if code == "connection_loss" then return true end' },
  { "a lost answer of a put counts as done", "store", "if found then return true end", "do return true end" },
  { "buckets are deleted before they are sealed", "fetch", "elseif sealed then", "else" },
  { "the dead are not noticed", "idle_lock", ', store.path .. "/consumers" })', " })" },
  { "lanes are listed before they are watched", "idle_lock", [[
  local ok, problem, why = watch_paths(desk, { store.path .. "/lanes", store.later.bell, store.path .. "/consumers" })
  if not ok then return nil, problem, why end
  local lanes, message, code = store:list_lanes()
]], [[
  local lanes, message, code = store:list_lanes()
  local ok, problem, why = watch_paths(desk, { store.path .. "/lanes", store.later.bell, store.path .. "/consumers" })
  if not ok then return nil, problem, why end
]] },
  { "no look after the watches are set", "idle_lock", "  desk.watching = true\n  desk:happened()", "  desk.watching = true" },
  { "what is poison goes round for ever", "claim", [[
  if entry.attempts >= desk.max_attempts then return bury(desk, place, entry, version) end
  local store, claim]], "  local store, claim" },
  { "items sorted by name, not by number", "fetch", "return order[a] < order[b]", "return a < b" },
  { "a move forgets to delete", "place", '  extra[#extra + 1] = { "delete", path, version }\n', "" },
  { "take and bury do not look for claims", "place",
    'return { { "create", path, "", { ephemeral = true } }, { "delete", path } }', "return {}" },
  { "what cannot be read is looked at again and again", "consumers", "        fetch.leave_out(desk, place)\n", "" },
  { "an ack does not remember that its answer may be lost", "item",
    "local unsure = state.unsure\n  state.unsure = true", "local unsure = nil\n  state.unsure = true" },
  { "two processes use the same tags", "store", '("%s_%d_%d"):format(self.id, self.number, self.tags)',
    '("%s_%d_%d"):format("x", self.number, self.tags)' },
  { "a take whose answer is lost counts as done", "claim",
    "if store:settle() and store.session:exists(path) and store.session.id == id then return nil, places.GONE end",
    "if store:settle() then return items.new(desk, place, entry, version) end" },
  { "after a take whose answer is lost another session tells", "claim",
    "store.session:exists(path) and store.session.id == id then", "store.session:exists(path) then" },
  { "a take gives what has had all its attempts", "claim", [[
  if entry.attempts >= desk.max_attempts then return bury(desk, place, entry, version) end
  local store, path]], "  local store, path" },
  { "remove does not look for claims", "queue", "parts = queue.store, places.unclaimed(queue.desk, place)",
    "parts = queue.store, {}" },
  { "remove looks only once where it is", "queue", "if stat.mzxid == before then return false end",
    "if before then return false end" },
  { "remove does not count what it removes", "queue",
    '  parts[#parts + 1] = { "set", place.lane.out, "" }\n', "" },
  { "redrive does not count attempts anew", "queue", "entry.attempts = 0\n", "\n" },
  { "what is moved is not counted", "place", '  extra[#extra + 1] = { "set", place.lane.out, "" }\n', "" },
  { "a producer thinks that all the room is his", "put", "math.min(math.floor(left / 10), 100) - room", "left - room" },
  { "put_all does not look how much room there is", "put", "local room = math.min(left, count)",
    "local room = left > 0 and count or 0" },
  { "a simple take does not care who deletes", "simple", [[
      local done
      done, problem, why = queue.session:delete(child(queue, name))
      if done then return data or "" end]], [[
      queue.session:delete(child(queue, name))
      return data or ""]] },
  { "a simple put is done again when its answer is lost", "simple", "  if path then return true end\n", [[
  if code == "connection_loss" then return put(queue, data) end
  if path then return true end
]] },
  { "an id is forgotten too early", "ids", "now - stat.mtime < REMEMBER * 1000", "now - stat.mtime < REMEMBER * 500" },
  { "an id is never forgotten", "ids", "  return false, said, stat\n", "  return true\n" },
  { "an old id is put anew by all who come at once", "ids",
    'if mark then return { { "delete", layout.item_path(mark) } } end', "if mark then return {} end" },
  { "marks are removed too early", "ids", "  if stat.ctime > limit then return false end\n", "" },
  { "marks are never removed", "ids", "tasks.spawn(host, { daemon = true, quiet = true }, remove_marks, store)", "" },
  { "marks are removed without their ids", "ids",
    'return { { "delete", path }, { "delete", (layout.id_path(store.path, entry.id)) } }', 'return { { "delete", path } }' },
  { "an item with an id is done without a mark", "ids", "if not entry.id then return false end", "do return false end" },
  { "an id does not follow its item when that is moved", "place", "if entry.id then list.ids, list.known = { moved }, true end", "" },
  { "a mark in a bucket that is sealed is no reason to ask again", "ids",
    "  return mark and store:is_behind(store.done, mark.bucket)", "  return mark and false" },
}

local folder, only = ...
folder = folder or "build/planted-queue"

local function read(path)
  local file = assert(io.open(path, "rb"))
  local text = file:read("*a")
  file:close()
  return text
end

local function plant(bug, number)
  local into = folder .. "/" .. number
  os.execute(("rm -rf %s && mkdir -p %s && cp -r lua/zkrecipes %s"):format(into, into, into))
  local path = ("/zkrecipes/recipes/queue/%s.lua"):format(bug[2])
  local text = read("lua" .. path)
  local from, to = text:find(bug[3], 1, true)
  if not from then return nil, "what it replaces is not there" end
  if text:find(bug[3], to + 1, true) then return nil, "what it replaces is there twice" end
  local file = assert(io.open(into .. path, "wb"))
  file:write(text:sub(1, from - 1), bug[4], text:sub(to + 1))
  file:close()
  return into
end

local function try(bug, number)
  local into, problem = plant(bug, number)
  if not into then return false, problem end
  local pipe = io.popen(("LUA_PATH='%s/?.lua;%s/?/init.lua;'\"$LUA_PATH\" timeout 1800 %s spec/sim/queue_histories.lua 5000 2>&1; echo $?")
    :format(into, into, arg[-1]))
  local said = pipe:read("*a")
  pipe:close()
  return said:match "(%d+)%s*$" == "1" and said:find "^after", said:match "^[^\n]*"
end

local passed, failed = 0, 0
for number, bug in ipairs(BUGS) do
  if not only or bug[1]:find(only, 1, true) == 1 then
    local caught, said = try(bug, number)
    print(("%-46s %s"):format(bug[1], (caught and "" or "NOT CAUGHT: ") .. said:sub(1, 90)))
    if caught then passed = passed + 1 else failed = failed + 1 end
  end
end
print(("%d passed, %d failed"):format(passed, failed))
os.exit(failed == 0)
