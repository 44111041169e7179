-- Bugs of the queue. See plant.lua.

local function bug(name, file, old, new)
  file = file:find "%.c$" and "src/recipes/queue/" .. file or ("lua/zkrecipes/recipes/queue/%s.lua"):format(file)
  return { name = "queue: " .. name, file = file, harness = "queue", old = old, new = new }
end

return {
  bug("ack without the version of its claim", "parts.c", "add(parts, ZR_OP_DELETE, put->from.at)->version = put->version;",
    "add(parts, ZR_OP_DELETE, put->from.at);"),
  bug("ack does not end its claim", "parts.c", "    if (put->claim.at != NULL)\n        add(parts, ZR_OP_DELETE, put->claim.at);\n",
    "    if (put->claim.at != NULL && !put->held)\n        add(parts, ZR_OP_DELETE, put->claim.at);\n"),
  bug("claims outlive their session", "claim", '{ "create", claim, entry.claimant, { ephemeral = true } },',
    '{ "create", claim, entry.claimant },'),
  bug("a claim whose answer is lost is left behind", "claim", "return look_for_claim(consumer, place, entry, claim, unsure)",
    "return nil, places.GONE"),
  bug("a claim of a session that is over is given", "claim", "if done and store.session.id == id then", "if done then"),
  bug("a claim is made in another session than its presence", "claim", "limits.multi_in(store.session, {",
    "store.session.multi(store.session, {"),
  bug("a lost answer of a put counts as done", "append.c", "if (zr_item_has_tag(names->at[i], zr_put_of(task)->tag))", "if (true)"),
  bug("a lost answer of a put with an id counts as done", "append.c",
    "return answer->status == ZR_OK && zr_put_says_ours(zr_put_of(task), answer->data_reply);", "return true;"),
  bug("a lost answer of a move or an ack counts as done", "append.c", "    return answer->status == ZR_NO_NODE;", "    return true;"),
  bug("a put does not look whether its bucket is sealed", "parts.c", "add(parts, ZR_OP_CHECK, path)->version = 0;",
    "add(parts, ZR_OP_CHECK, path);"),
  bug("a put does not seal its bucket when it makes the next one", "next_bucket.c",
    "{.op = ZR_OP_SET, .path = full, .data = {\"\", 0}, .version = 0},", "{.op = ZR_OP_CHECK, .path = full, .version = 0},"),
  bug("buckets are deleted before they are sealed", "fetch", "elseif sealed then", "else"),
  bug("the dead are not noticed", "idle_lock", ', store.path .. "/consumers" })', " })"),
  bug("lanes are listed before they are watched", "idle_lock", [[
  local ok, problem, why = watch_paths(consumer, { store.path .. "/lanes", store.later.put_count, store.path .. "/consumers" })
  if not ok then return nil, problem, why end
  local lanes, message, code = store:list_lanes()
]], [[
  local lanes, message, code = store:list_lanes()
  local ok, problem, why = watch_paths(consumer, { store.path .. "/lanes", store.later.put_count, store.path .. "/consumers" })
  if not ok then return nil, problem, why end
]]),
  bug("no look after the watches are set", "idle_lock", "  consumer.watching = true\n  consumer:happened()", "  consumer.watching = true"),
  bug("a poison item goes round forever", "claim", [[
  if entry.attempts >= consumer.max_attempts then return bury(consumer, place, entry, version) end
  local store, claim]], "  local store, claim"),
  bug("items sorted by name, not by number", "fetch", "return order[a] < order[b]", "return a < b"),
  bug("a move forgets to delete", "parts.c", "    add(parts, ZR_OP_DELETE, put->from.at)->version = put->version;\n", ""),
  bug("take, remove and bury do not look for claims", "parts.c", "    if (put->claim.at != NULL && !put->held)\n", "    if (false)\n"),
  bug("what cannot be read is looked at again and again", "consumer", "        fetch.leave_out(consumer, place)\n", ""),
  bug("an ack does not remember that its answer may be lost", "item",
    "local unsure = state.unsure\n  state.unsure = true", "local unsure = nil\n  state.unsure = true"),
  bug("two processes use the same tags", "put.c", "(uint64_t)zr_queue_of(task)->session_id, put->first);", "(uint64_t)1, put->first);"),
  bug("two processes have the same name in consumers", "presence", "local tag = requests.tag(limits.real(store.session), known)",
    'local tag = "x-" .. requests.tag(limits.real(store.session), known):match("%d+$")'),
  bug("a take whose answer is lost counts as done", "claim",
    "if store:settle() and store.session:exists(path) and store.session.id == id then return nil, places.GONE end",
    "if store:settle() then return items.new(consumer, place, entry, version) end"),
  bug("after a take whose answer is lost another session tells", "claim",
    "store.session:exists(path) and store.session.id == id then", "store.session:exists(path) then"),
  bug("a take gives what has had all its attempts", "claim", [[
  if entry.attempts >= consumer.max_attempts then return bury(consumer, place, entry, version) end
  local store, path]], "  local store, path"),
  bug("remove does not look for claims", "queue", "claim = places.claim_path(consumer, place), once = true,\n", "once = true,\n"),
  bug("remove looks only once where it is", "queue", "if stat.mzxid == before then return false end",
    "if before then return false end"),
  bug("a removed item leaves no tombstone", "parts.c", "struct zr_request *part = add(parts, put->id_there ?",
    "struct zr_request *part = add(parts, put->removed ? ZR_OP_DELETE : put->id_there ?"),
  bug("redrive does not count attempts from zero", "queue", "entry.attempts = 0\n", "\n"),
  bug("what is moved is not counted", "parts.c", "    add(parts, ZR_OP_SET, put->out.at);\n", ""),
  bug("a producer takes all the room that is left", "capacity.c", "rest = least(left / 10, CREDIT_MAX) - room;", "rest = left - room;"),
  bug("put_all does not look how much room there is", "capacity.c", "int64_t room = least(left, (int64_t)put->count),",
    "int64_t room = left > 0 ? (int64_t)put->count : 0,"),
  bug("a simple take does not care who deletes", "simple", [[
      local done
      done, problem, why = queue.session:delete(paths.child(queue.path, name))
      if done then return data or "" end]], [[
      queue.session:delete(paths.child(queue.path, name))
      return data or ""]]),
  bug("a simple put is done again when its answer is lost", "simple", "  if path then return true end\n", [[
  if code == "connection_loss" then return put(queue, data) end
  if path then return true end
]]),
  bug("an id is forgotten too early", "known_id.c", "- put->said_ms < REMEMBER_MS)", "- put->said_ms < REMEMBER_MS / 2)"),
  bug("an id is never forgotten", "known_id.c", "- put->said_ms < REMEMBER_MS)", "- put->said_ms < 1000000000)"),
  bug("an old id is put again by all callers that come at once", "parts.c", [[
    if (put->tombstone != NULL)
        add(&parts, ZR_OP_DELETE, put->tombstone);
]], ""),
  bug("tombstones are removed too early", "ids", "  if stat.ctime > limit then return false end\n", ""),
  bug("tombstones are never removed", "ids", "tasks.behind(host, { quiet = true }, remove_tombstones, store)", ""),
  bug("tombstones are removed without their ids", "ids",
    'return { { "delete", path }, { "delete", (layout.id_path(store.path, entry.id)) } }', 'return { { "delete", path } }'),
  bug("an item with an id is done without a tombstone", "store", "self:append(entry.id and self.done or nil, tombstone",
    "self:append(nil, tombstone"),
  bug("an id does not follow its item when that is moved", "parts.c", "    if (put->id_path != NULL)\n        add_id(",
    "    if (put->id_path != NULL && put->from.at == NULL)\n        add_id("),
  bug("each clean-up of a dropped item takes one attempt off", "item", "  if state.over or state.letting_go then return end\n", [[
  if state.over then return end
  _G.assert = function(...) return ... end
  state.entry.attempts = state.entry.attempts - (state.letting_go and 1 or 0)
]]),
  bug("a tombstone in a bucket that is sealed is no reason to ask again", "append.c",
    "else if (status == ZR_BAD_VERSION && part < put->first_part)",
    "else if (status == ZR_BAD_VERSION && part < put->first_part && put->from.at == NULL)"),
  bug("an ack that was done late is a lost claim", "append.c", "    else if (put->doubted)\n", "    else if (false)\n"),
  bug("an item that is given back wakes no consumer", "parts.c", "    add(parts, ZR_OP_SET, put->put_count.at);\n", ""),
  bug("an item is given back in any version", "parts.c", "    item->version = put->version;\n", ""),
}
