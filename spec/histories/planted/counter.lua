-- Bugs of the counter. See plant.lua.

local WRITE, ONCE, CHANGE = "src/recipes/counter/write.c", "src/recipes/counter/write_once.c", "src/recipes/counter/change.c"
local IDS = "lua/zkrecipes/recipes/counter/ids.lua"

local function bug(name, file, old, new, also)
  return { name = "counter: " .. name, file = file, harness = "worlds", run = "--recipe counter --seeds 2400", old = old, new = new,
    also = also }
end

return {
  bug("the multi does not check the version of the mark", ONCE,
    ".version = counter->mark->version}", ".version = ZR_ANY_VERSION}"),
  bug("the multi does not check the version of the counter", CHANGE,
    "zr_write_value(task, value, counter->version);", "zr_write_value(task, value, ZR_ANY_VERSION);"),
  bug("a lost answer is taken for a success", ONCE,
    "return zr_write_of(task)->gone || is_ours(task, answer);", "return true;"),
  bug("any number of the mark is ours", ONCE,
    "return answer->data_reply.length == strlen(number) &&", "return answer->data_reply.length > 0 ||"),
  bug("without the mark it was not done", ONCE,
    "    if (zr_write_of(task)->gone)\n        unknown(task);", "    if (zr_write_of(task)->gone)\n        zr_write_renew(task);"),
  bug("without the mark it was done", ONCE,
    "    if (zr_write_of(task)->gone)\n        unknown(task);", "    if (zr_write_of(task)->gone)\n        zr_write_finish(task);"),
  bug("another version of the mark says that it was not done", ONCE,
    "        ask_mark(task);\n    else\n        beaten(task);",
    "        {\n            zr_mark_drop(zr_counter_of(task)->mark, task->session);\n"
    .. "            zr_counter_of(task)->mark = NULL;\n"
    .. "            zr_write_renew(task);\n        }\n    else\n        beaten(task);"),
  bug("no sync before the value is called wrong", WRITE,
    "    if (zr_write_of(task)->fresh)\n        read_counter", "    if (true)\n        read_counter", {
      old = "    if (!zr_mark_usable(counter->mark, task->session)) {",
      new = "    zr_write_of(task)->fresh = true;\n    if (!zr_mark_usable(counter->mark, task->session)) {" }),
  bug("what was known is good enough to fail", CHANGE,
    "    } else if (!zr_write_of(task)->fresh) {\n        zr_write_refresh(task);\n    } else {\n        zr_write_of(task)->value = now;",
    "    } else {\n        zr_write_of(task)->value = now;"),
  bug("a turn is not passed on when its task is given up", WRITE,
    "    if (counter->writer == task)\n        put_back(counter, task);\n", ""),
  bug("all write at once", WRITE,
    "    if (counter->writer != NULL) {\n        zr_verb_await",
    "    if (counter->writer != NULL && !zr_mark_usable(counter->mark, task->session)) {\n        zr_verb_await"),
  bug("a mark that may have been made is left", WRITE,
    "        zr_mark_drop(counter->mark, task->session);\n        counter->mark = NULL;\n    }",
    "        zr_mark_free(counter->mark);\n        counter->mark = NULL;\n    }"),
  bug("the mark outlives the counter", "src/recipes/counter/counter.c",
    "zr_mark_drop(counter->mark, counter->znode.session);", "zr_mark_free(counter->mark);"),
  bug("ids: names go on after their directory was made anew", IDS, [[    self.problem = self.problem or "the directory]],
    [[    return nil, "anew", "conflict" -- "the directory]]),
  bug("ids: numbers go on after a name has shown a new directory", IDS, "local number = not self.problem and take(self)",
    "local number = take(self)"),
  bug("ids: a name does not say its number", IDS, "return created:sub(#self.path + 2)",
    "return (created:sub(#self.path + 2):gsub('%d$', '0'))"),
  bug("ids: the blocks overlap", IDS, "local first = sum - ids.block + 1", "local first = sum - ids.block"),
  bug("ids: a block is given again", IDS, "number < ids.last and number + 1 or nil",
    "number < ids.last and number + 1 or ids.last - ids.block + 1"),
  bug("ids: a number is given before its block is", IDS, "local sum, message, code = ids.counter:add(ids.block)",
    "local sum, message, code = ids.counter:get()", { old = "if not sum then return nil, message, code end\n  local first",
      new = "if not sum then return nil, message, code end\n  sum = sum + ids.block\n  ids.counter:add(ids.block)\n  local first" }),
  bug("the multi does not set the mark", ONCE,
    ".path = zr_path_inside(task->session->namespace, counter->mark->path)", ".path = counter->znode.path", {
      old = ".version = counter->mark->version}", new = ".version = ZR_ANY_VERSION}" }),
}
