-- Bugs of presences. See plant.lua.

local KEEP, OBJECT, WAIT = "src/recipes/presence/keep.c", "src/recipes/presence/presence.c", "src/recipes/presence/presence_wait.c"

local function bug(name, file, old, new, also)
  return { name = "presence: " .. name, file = file, harness = "worlds", run = "--recipe presence --seeds 2400", old = old, new = new,
    also = also }
end

return {
  bug("a lost answer is taken for a success", KEEP,
    "        doubtful(task);\n        return;",
    "        has_now(presence, presence->version);\n        settle(task);\n        return;"),
  bug("data given meanwhile count as written", KEEP, "presence->written = presence->sent;", "presence->written = presence->wanted;"),
  bug("a read is taken for a proof that the data are there", KEEP,
    "        presence->version = stat->version;\n        presence->written = presence->wanted - 1;",
    "        presence->version = stat->version;\n        presence->written = presence->wanted;"),
  bug("what others write stays", KEEP, "} else if (stat->version != presence->version) {", "} else if (false) {"),
  bug("a znode that was deleted from outside is not made again", KEEP, "    presence->events++;\n", ""),
  bug("nobody watches the znode", KEEP, "presence->znode.full, true, ZR_STEP(looked)", "presence->znode.full, false, ZR_STEP(looked)"),
  bug("the next session does not make it", KEEP, "if (presence->left || zr_session_usable(task->session) != ZR_OK) {",
    "if (presence->left || task->status == ZR_LOST || zr_session_usable(task->session) != ZR_OK) {"),
  bug("it is made again after leave", KEEP, "if (presence->left || zr_session_usable(task->session) != ZR_OK) {",
    "if (zr_session_usable(task->session) != ZR_OK) {"),
  bug("the znode is left behind", KEEP, "zr_verb_vacate(task, &presence->seat, ZR_STEP(cleaned));", "cleaned(task);"),
  bug("leave returns before the znode is gone", WAIT, "    if (presence->running)\n        zr_verb_await",
    "    if (!presence->left)\n        zr_verb_await"),
  bug("a presence that is collected does not leave", OBJECT, "        zr_presence_leave(of(self));", "        (void)self;"),
  bug("without memory for a look it leaves", KEEP,
    "ZR_STEP(looked));\n    if (status != ZR_OK)\n        rest(task, status);",
    "ZR_STEP(looked));\n    if (status != ZR_OK)\n        zr_verb_fail(task, status);"),
  bug("a session's znode is taken for ours", KEEP, "return presence->seat.state == ZR_SEAT_TAKEN && zr_seat_owns(&presence->seat, stat);",
    "return stat->ephemeral_owner != 0;"),
  bug("a write names no version", KEEP, "call->request.version = presence->version;", "call->request.version = ZR_ANY_VERSION;"),
}
