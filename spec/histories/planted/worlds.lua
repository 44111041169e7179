-- Bugs of the recipes that are written in Lua, and those in C that only worlds catch. See plant.lua.

local function bug(recipe, name, file, old, new)
  return { name = recipe .. ": " .. name, file = "lua/zkrecipes/" .. file, harness = "worlds",
    run = "--recipe " .. recipe, old = old, new = new }
end

local function core_bug(recipe, name, file, old, new)
  return { name = recipe .. ": " .. name, file = "src/" .. file, harness = "worlds", run = "--recipe " .. recipe, old = old, new = new }
end

local NEAREST = "while (index >= 0 && shares && seats->at[index].stem == hold->seat.stem);"

return {
  bug("barrier", "an older answer lets pass", "host/waiters.lua",
    "if not came or self.numbers[records[i]] <= came then", "if true then"),
  bug("barrier", "the watch stays when all have given up", "recipes/barrier/shared_watch.lua",
    "if not shared.over then forget(shared) end", ""),
  bug("barrier", "a lost answer is waited with", "recipes/barrier/shared_watch.lua",
    [[requests.sure_while(shared, shared.session.exists, shared.session, shared.path)
    shared.asking = stat == nil
    if stat == nil then return nil, message, code end
    local found =]], [[shared.session:exists(shared.path)
    shared.asking = stat == nil
    if stat == nil and code ~= "connection_loss" then return nil, message, code end
    local found = stat ~= nil and]]),
  bug("latch", "counted again after a lost answer", "recipes/barrier/barrier.lua",
    "was_counted, session, own)",
    'function() own = own .. "-" return nil, "", "bad_version" end)'),
  bug("latch", "the last one does not open", "recipes/barrier/barrier.lua",
    "if counted + 1 == latch.total then", "if counted == latch.total then"),
  bug("latch", "set without the version", "recipes/barrier/barrier.lua",
    "tostring(latch.total), counted },", "tostring(latch.total) },"),
  bug("cyclic", "who is stopped stays a member", "recipes/barrier/join.lua",
    "activity.during(core.host(session), barrier, abandon_behind, enter, member)",
    "enter(member)"),
  bug("cyclic", "gone is taken for begun", "recipes/barrier/join.lua",
    "return there ~= false", "return true"),
  bug("cyclic", "announced again in a new session", "recipes/barrier/join.lua",
    "made, message, code = same_session(member)\n", "made = true\n"),
  bug("cyclic", "nobody counts again", "recipes/barrier/join.lua",
    'if not done and code ~= "no_node" then', "if true then"),
  bug("cyclic", "a clean-up ends when memory is exhausted", "lost_answers.lua",
    "while not value and M.PASSES[code] do", 'while code == "connection_loss" do'),
  bug("double", "a clean-up ends when memory is exhausted", "lost_answers.lua",
    "while not value and M.PASSES[code] do", 'while code == "connection_loss" do'),
  bug("double", "a dropped member stays inside", "recipes/barrier/leave.lua",
    "  insist(session, session.delete, session, member.takes_part)\n", ""),
  bug("double", "a member is not guarded before it has left", "recipes/barrier/double_cyclic.lua",
    "self.member = leaves.guarded(member)", "self.member = member\n  member.guard = { disarm = function() end }"),
  bug("double", "nobody waits for the others", "recipes/barrier/leave.lua",
    "if #others > 0 then return await(member, round, others) end", ""),
  bug("double", "one of the others is not looked for", "recipes/barrier/leave.lua",
    "for i = 1, #tags do\n    local tag = tags[(at", "for i = 1, #tags - 2 do\n    local tag = tags[(at"),
  bug("double", "the member that leaves last counts itself among the dead", "recipes/barrier/leave.lua",
    "  round.left = round.left + 1\n", ""),
  bug("double", "a member that leaves makes no mark", "recipes/barrier/leave.lua",
    '{ "create", member.mark, "", { ephemeral = true } } })', "})"),
  bug("double", "a mark does not stay until its member has read the round", "recipes/barrier/leave.lua",
    '{ "create", member.mark, "", { ephemeral = true } } })', '{ "create", member.mark, "" }, { "delete", member.mark } })'),
  bug("double", "the number is that of the marks that are there", "recipes/barrier/leave.lua",
    "math.floor((stat.cversion + stat.num_children) / 2)", "stat.num_children"),
  bug("reentrant", "with releases twice", "classes.lua",
    "  once.hold = nil\n", ""),
  bug("reentrant", "every release counts as the last", "recipes/lock/lock.lua",
    "if count and count > 1 then", "if false then"),
  bug("revocable", "the data are not put back", "recipes/lock/lock.lua",
    "    restore(hold, path, way.data)\n", ""),
  bug("revocable", "the data are put back once, and perhaps not", "lost_answers.lua",
    'until code ~= "connection_loss" or not hold:valid()', "until true"),
  bug("requested", "the mark of a downgrade is overwritten", "recipes/lock/lock.lua",
    "limit.session:set(contender.path, REQUEST, contender.version)", "limit.session:set(contender.path, REQUEST)"),
  bug("cohort", "a turn is given while another one has it", "recipes/lock/cohort.lua",
    "if self.main then return self:watch() end", "if self.main then return self:pass() end"),
  bug("cohort", "a canceled try blocks forever", "recipes/lock/cohort.lua",
    "wait.within(cohort.host, tried, cohort, cohort.acquire_main, lock, 0)",
    "cohort.acquire_main(lock, 0)"),
  bug("cohort", "a turn is valid with the next one", "recipes/lock/turn.lua",
    "return not self.state.over and self.state.main:valid()", "return self.state.main:valid()"),
  core_bug("mixed", "a reader ignores plain locks", "recipes/contest.c", NEAREST,
    "while (index >= 0 && shares && (seats->at[index].stem == hold->seat.stem || seats->at[index].stem->text[0] == 'l'));"),
  core_bug("mixed", "a plain lock ignores readers", "recipes/contest.c", NEAREST,
    "while (index >= 0 && (shares ? seats->at[index].stem == hold->seat.stem : hold->seat.stem->text[0] == 'l' && "
      .. "seats->at[index].stem->text[2] == 'R'));"),
  core_bug("foreign", "what is not ephemeral counts as a contender", "recipes/contenders.c",
    "    if (read->status == ZR_OK && read->stat.ephemeral_owner == 0)\n        return;\n", ""),
  core_bug("foreign", "what is not ephemeral leads", "recipes/election/leader.c",
    "if (task->outcome == ZR_OK && task->call->request.stat.ephemeral_owner == 0) {", "if (false) {"),
  core_bug("foreign", "strangers take permits", "recipes/semaphore/sift.c",
    "if (zr_seats_unusual(recipes, task->seats) == 0)", "if (true)"),
  core_bug("foreign", "a stranger is taken for a contender of kazoo", "core/strangers.c",
    "!is_ignored(session, dir, names->at[i]))", "true)"),
  bug("multilock", "each multilock has its own order", "recipes/multilock/multilock.lua",
    "table.sort(order, comes_before)\n", ""),
  bug("multilock", "only the first is let go", "recipes/multilock/multihold.lua",
    "for i = 1, parts.count do\n    local hold = parts.holds[i]\n    if hold and not",
    "for i = 1, 1 do\n    local hold = parts.holds[i]\n    if hold and not"),
}
