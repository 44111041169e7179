-- Bugs of the configuration. See plant.lua.

local VALUE, WRITE = "src/recipes/counter/value.c", "src/recipes/counter/write.c"
local ONCE = "src/recipes/counter/write_once.c"
local CONFIG, UPDATE = "lua/zkrecipes/recipes/config/config.lua", "lua/zkrecipes/recipes/config/write.lua"

local function bug(name, file, old, new, also)
  return { name = "config: " .. name, file = file, harness = "worlds", run = "--recipe config --seeds 3000", old = old, new = new,
    also = also }
end

return {
  -- The durable write.
  bug("a write does not check the version of the znode", VALUE,
    "zr_write_data(task, (struct zr_bytes){put->text, put->length}, put->version);",
    "zr_write_data(task, (struct zr_bytes){put->text, put->length}, ZR_ANY_VERSION);"),
  bug("a write does not check which znode it is", VALUE,
    "bool same = put->czxid == 0 ||", "bool same = put->version != ZR_ANY_VERSION ||"),
  bug("which znode it is, is known without a read", VALUE,
    "bool read = put->write.fresh && mark->czxid != 0;", "bool read = put->write.fresh || mark->czxid != 0;"),
  bug("a refused write is called done", VALUE,
    "sink->boolean(sink, NULL, !write->differs);", "sink->boolean(sink, NULL, !write->differs || write->beaten);"),
  bug("a write with a condition makes a znode", WRITE,
    "        if (zr_write_of(task)->existing)\n            zr_write_differs(task);\n        else\n", "", {
      file = VALUE, old = "if (put->write.beaten || (read && !same))", new = "if (put->write.beaten)" }),
  bug("a znode is made with a value that nobody has set", WRITE,
    "zr_write_of(task)->raw ? ZR_NO_DATA : zero", "zr_write_of(task)->raw ? zero : zero"),
  bug("a lost answer is taken for a success", ONCE,
    "return zr_write_of(task)->gone || is_ours(task, answer);", "return true;", {
      old = "    if (is_ours(task, answer))\n        zr_write_finish", new = "    if (answer->op == ZR_OP_GET)\n        zr_write_finish" }),
  bug("a lost answer is taken for a failure", ONCE,
    "return zr_write_of(task)->gone || is_ours(task, answer);", "return zr_write_of(task)->gone;", {
      old = "    if (is_ours(task, answer))\n        zr_write_finish(task);\n    else\n", new = "" }),
  -- update.
  bug("fn gets the value that is shown", UPDATE,
    "  if data == nil and type(config.default) ~= \"table\" then return config.default end\n",
    "  if data == nil then return config.default end\n"),
  bug("fn declines what may be old", UPDATE,
    "if wanted == nil and fresh then return false end", "if wanted == nil then return false end"),
  bug("what is read first is called fresh", UPDATE,
    "found, message, code = look(config, session, false) end", "found, message, code = look(config, session, false) fresh = true end"),
  bug("an update fails for data that may be old", UPDATE,
    "if message and (fresh or code ~= \"conflict\") then", "if message then"),
  bug("fn declines what a server that lags has", UPDATE,
    "  if behind then\n", "  if behind and config.path == nil then\n"),
  bug("an update is written after another znode's", UPDATE,
    "return write(config, data, stat.version, stat.czxid, limit:rest())", "return write(config, data, stat.version, nil, limit:rest())"),
  bug("an update of a znode that is missing overwrites another one's", UPDATE,
    "  if code == \"node_exists\" then return false end\n", "  if code == \"node_exists\" then return {} end\n"),
  bug("a refused update is given up as if it was done", UPDATE,
    "      if done then return true, wanted end\n", "      if done ~= nil then return true, wanted end\n"),
  bug("a refused update is written again as it is", UPDATE,
    "    found, message, code = look(config, session, wanted == nil)\n", "    found, message, code = look(config, session, wanted == nil)\n"
    .. "    if found and wanted ~= nil and found.stat then\n"
    .. "      return write(config, data, found.stat.version, found.stat.czxid, limit:rest())\n    end\n"),
  bug("an update with a limit takes a doubtful write for one that was not done", UPDATE,
    "  if done == nil then return nil, stat, code end\n  return done\n",
    "  if done == nil and code ~= \"connection_loss\" then return nil, stat, code end\n  return done or false\n"),
  -- Reading.
  bug("a value that does not decode is shown as the default", CONFIG,
    "  if not why and not is_same", "  if why then value = config.default end\n  if not is_same"),
  bug("data that do not decode are not told", CONFIG,
    "  trouble(config, why and", "  trouble(config, code == \"no_auth\" and"),
  bug("a change is not decoded", CONFIG,
    "  if seen == config.seen then", "  if config.seen and seen % 3 == 0 then"),
  bug("an older value is shown after a newer one", CONFIG,
    "  if count(config.tree) ~= seen then return shown(config) end -- the codec has waited\n", ""),
  bug("a znode that was deleted is still shown", CONFIG,
    "  if not why and not is_same(config.state, stat)",
    "  if not why and (stat or not config.state.stat) and not is_same(config.state, stat)"),
  bug("a reader is told the same state again", CONFIG,
    "local new = self.told ~= state",
    "local new = self.told ~= state or state.stat and state.stat.version % 2 == 1"),
  bug("a reader is not told of a deletion", CONFIG,
    "local new = self.told ~= state", "local new = self.told ~= state and state.stat"),
}
