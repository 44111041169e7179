-- Bugs of the read/write lock. See plant.lua.

local RUN = "--recipe rwlock --seeds 20000"

local NEAREST = "while (index >= 0 && shared && seats->at[index].stem->shared);"

return {
  { name = "a reader ignores writers", run = RUN,
    file = "src/recipes/contest.c", old = NEAREST, new = "while (index >= 0 && shared);" },
  { name = "a reader waits for the nearest node", run = RUN,
    file = "src/recipes/contest.c", old = NEAREST, new = "while (index < -1 && shared);" },
  { name = "a writer looks only at writers", run = RUN,
    file = "src/recipes/contest.c",
    old = NEAREST, new = "while ((void)shared, index >= 0 && seats->at[index].stem->shared);" },
  { name = "who moves up from any place is granted", run = RUN,
    file = "src/recipes/contest.c",
    old = "hold->next_in_line = ahead == 0;", new = "hold->next_in_line = true;" },
  { name = "a try takes every head for one that shares", run = RUN,
    file = "src/recipes/contest.c",
    old = "!zr_marked(read->data_reply, read->stat.czxid)", new = "read->stat.czxid == 0" },
  { name = "a try does not look at the mark", run = RUN,
    file = "src/recipes/contest.c",
    old = "if (usual && (!seat->stem->shared || ahead > 0)) {", new = "if (usual && (seat != NULL || ahead > 0)) {" },
  { name = "a reader's seat counts as the head", run = RUN,
    file = "src/recipes/contest.c",
    old = "hold->seat.head = !hold->seat.shared;", new = "hold->seat.head = true;" },
  { name = "a downgrade lets writers in", run = RUN,
    file = "src/core/signal.c", old = "if (!task->passes)", new = "if (task == NULL)" },
  { name = "a watch takes every node for marked", run = RUN,
    file = "src/core/watch_gone.c",
    old = "watch->shared = zr_marked(call->request.data_reply, call->request.stat.czxid);",
    new = "watch->shared = true;" },
  { name = "a downgrade through another seat", run = RUN,
    file = "src/recipes/downgrade.c",
    old = [[
    enum zr_status status = make_mark(hold, &call);
    if (status == ZR_OK)
        zr_verb_request(task, call, true, ZR_STEP(marked));
    else
        zr_verb_fail(task, status);]],
    new = "    (void)call;\n    zr_verb_vacate(task, &hold->seat, ZR_STEP(seated));",
    also = { old = "static void mark(struct zr_task *task)", new = [[
static void shown(struct zr_task *task)
{
    zr_task_finish(task, ZR_OK);
}

static void seated(struct zr_task *task)
{
    (void)make_mark, (void)marked;
    hold_of(task)->seat.stem = &zr_stem_read;
    zr_verb_claim(task, &hold_of(task)->seat, ZR_STEP(shown));
}

static void mark(struct zr_task *task)]] } },
  { name = "the mark is another one's", run = RUN,
    file = "src/recipes/downgrade.c",
    old = "zr_mark_data(hold->seat.data, hold->seat.czxid)", new = "zr_mark_data(hold->seat.data, 0)" },
  { name = "a downgrade is not repeated", run = RUN,
    file = "src/recipes/downgrade.c",
    old = "zr_verb_request(task, call, true,", new = "zr_verb_request(task, call, false," },
}
