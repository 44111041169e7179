-- Bugs of the read/write lock. See plant.lua.

local RUN = "--recipe rwlock --seeds 20000"

local NEAREST = "while (index >= 0 && shares && seats->at[index].stem == hold->seat.stem);"

return {
  { name = "a reader ignores writers", run = RUN,
    file = "src/recipes/contest.c", old = NEAREST, new = "while (index >= 0 && shares);" },
  { name = "a reader waits for the nearest node", run = RUN,
    file = "src/recipes/contest.c", old = NEAREST, new = "while (index < -1 && shares);" },
  { name = "a writer looks only at writers", run = RUN,
    file = "src/recipes/contest.c",
    old = NEAREST, new = "while ((void)shares, index >= 0 && seats->at[index].stem->prompt);" },
  { name = "who moves up from any place is granted", run = RUN,
    file = "src/recipes/contest.c",
    old = "hold->next_in_line = ahead == 0;", new = "hold->next_in_line = true;" },
  { name = "a try takes every head for one that shares", run = RUN,
    file = "src/recipes/contest.c",
    old = "!role_of(task)->enough(task, word)", new = "word < 0" },
  { name = "a try does not look at the mark", run = RUN,
    file = "src/recipes/contest.c",
    old = "if (usual && (!role_of(task)->shares || ahead > 0)) {", new = "if (usual && (dir != NULL || ahead > 0)) {" },
  { name = "the seat of a reader counts as the head", run = RUN,
    file = "src/recipes/contest.c",
    old = "if (!role_of(task)->shares) {\n", new = "if (true) {\n" },
  { name = "a downgrade lets writers in", run = RUN,
    file = "src/recipes/rwlock/rwlock.c", old = ".many_follow = true}",
    new = ".many_follow = true, .enough = zr_sharing_is_enough, .told = zr_contest_grant}" },
  { name = "a watch takes every node for marked", run = RUN,
    file = "src/recipes/rwlock/sharing.c",
    old = "return zr_marked(answer->data_reply, answer->stat.czxid) ? ZR_SAYS_SHARES : 0;",
    new = "return answer != NULL ? ZR_SAYS_SHARES : 0;" },
  { name = "a downgrade through another seat", run = RUN,
    file = "src/recipes/rwlock/downgrade.c",
    old = "        zr_verb_ask(task, &set, true, ZR_STEP(marked));",
    new = "        zr_verb_vacate(task, &hold->seat, ZR_STEP(seated));",
    also = { old = "static void mark(struct zr_task *task)", new = [[
static void shown(struct zr_task *task)
{
    zr_task_finish(task, ZR_OK);
}

static void seated(struct zr_task *task)
{
    (void)marked;
    hold_of(task)->seat.stem = &zr_reader_stem;
    zr_verb_contend(task, &hold_of(task)->seat, ZR_STEP(shown));
}

static void mark(struct zr_task *task)]] } },
  { name = "the mark of another node", run = RUN,
    file = "src/recipes/rwlock/downgrade.c",
    old = "zr_mark_data(hold->seat.data, hold->seat.czxid)", new = "zr_mark_data(hold->seat.data, 0)" },
  { name = "a downgrade is not repeated", run = RUN,
    file = "src/recipes/rwlock/downgrade.c",
    old = "zr_verb_ask(task, &set, true,", new = "zr_verb_ask(task, &set, false," },
}
