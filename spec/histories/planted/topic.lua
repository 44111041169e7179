-- Bugs of topics. See plant.lua.

local FOLDER = "lua/zkrecipes/recipes/topic/"

local function bug_in(file)
  return function(name, old, new, also)
    return { name = "topic: " .. name, file = FOLDER .. file .. ".lua", harness = "worlds", run = "--recipe topic --seeds 1200",
      old = old, new = new, also = also }
  end
end

local publish, keep, read = bug_in "publisher", bug_in "retention", bug_in "reader"
local mark, topic = bug_in "bookmark", bug_in "topic"

return {
  publish("a lost answer counts as done", "  batch.doubt = true\n  local head", "  if batch then return true end\n  local head"),
  publish("a lost answer counts as not done", "  batch.doubt = true\n  local head", "  if batch then return false end\n  local head"),
  publish("any message at its position is its own", "layout.decode_message(data) == batch.tag", "layout.decode_message(data) ~= nil"),
  publish("what has left is published", "    if not batch.doubt then batch.calls = waiting(batch.calls) end\n", "",
    { old = "  until batch.doubt or number == #waiting(batch.calls)\n", new = "  until true\n" }), -- otherwise it would loop forever
  publish("what has left while it looked is published", "  until batch.doubt or number == #waiting(batch.calls)\n", "  until true\n"),
  publish("what is in flight fails as if it was not sent", "if not batch or not (batch.flying or batch.doubt) then", "if true then"),
  publish("ids are not kept", "    if call.id then parts[#parts + 1] = { \"create\", layout.id",
    "    if call.id and position % 3 > 0 then parts[#parts + 1] = { \"create\", layout.id"),
  publish("one id is twice in a batch", " or call.id and batch.ids[call.id])", ")"),
  publish("a known id has the next position", "    tell(publisher, call, position)\n", "    tell(publisher, call, position + 1)\n"),
  publish("the second message has the first one's position", "tell(publisher, call, batch.first + i - 1)",
    "tell(publisher, call, batch.first)"),
  publish("the first position stays", "layout.encode_head(head.last + #batch.calls, head.first + #due)",
    "layout.encode_head(head.last + #batch.calls, head.first)"),
  publish("two publishers write one position", "head.version ~= -1 and head.version or nil", "nil",
    { old = '{ "create", layout.message(path, position), layout', new = '{ "set", layout.head(path), layout' }),
  publish("an earlier message is told as the present one", "  publisher.head, batch.first, batch.born, batch.flying = nil, head.last + 1,",
    "  publisher.head, batch.first, batch.born, batch.flying = nil, batch.first or head.last + 1,"),
  publish("a batch is lost when its task is done", "    batch = next_batch(publisher)\n  end\nend",
    "    batch = publisher.batches % 7 > 0 and next_batch(publisher)\n  end\nend"),
  keep("one too many is kept", "head.last + new - position >= self.count", "head.last + new - position > self.count"),
  keep("one too many is removed", "head.last + new - position >= self.count", "head.last + new - position + 1 >= self.count"),
  keep("what is a second too young is removed", "time < message.time + self.age", "time < message.time + self.age - 1"),
  keep("what is too old stays", "(too_many or self.age) and at", "too_many and at"),
  keep("ids stay", '    if message.id then parts[#parts + 1] = { "delete", layout.id(self.path, message.id) } end\n', ""),
  keep("buckets stay", "(position + 1) % layout.BUCKET == 0 and", "false and"),
  keep("a read that fails finds nothing", '  if code == "no_node" then return { pos', "  if code then return { pos"),
  read("what was removed is not counted", "reader.missed + position - reader.at", "0"),
  read("what was missed is told twice", "  reader.missed, reader.at, reader.count = 0, reader.at", "  reader.at, reader.count = reader.at"),
  read("a broken link skips a message", "    drop_reads(reader)\n    return head\n",
    "    skip(reader, reader.at + 1)\n    return head\n"),
  read("a broken link makes it begin again", "    drop_reads(reader)\n    return head\n",
    "    reader.at = math.max(reader.at - 1, 1)\n    drop_reads(reader)\n    return head\n"),
  read("a change while it reads is overlooked", "    if ok then ok, message, code = changed(tree, seen) end",
    "    if ok then ok, message, code = changed(tree, count(tree)) end"),
  read("a full list stays full", "self.count <= M.WINDOW / 2", "self.count < 0"),
  read("the copy is not closed", "  if reader.tree then tree_class.core.close(reader.tree) end\n",
    "  KEPT = KEPT or {}\n  KEPT[#KEPT + 1] = reader.tree\n"),
  mark("an ack is told before it is written", '  if position <= self.acked.position then return true end',
    '  if position <= self.acked.position or position % 3 == 0 then return true end'),
  mark("a lost answer counts as written", "  if stat then\n    acked.version",
    '  if code == "bad_version" then return true end\n  if stat then\n    acked.version'),
  mark("an earlier subscription acks", "  if now.owner ~= bookmark.acked.owner then return taken(bookmark.path) end\n", ""),
  mark("a subscription does not take the name", "      done, message, code = write(session, path, mine)\n",
    "      mine.owner, done = acked.owner, true\n"),
  topic("what was acked comes again", "bookmark.acked.position + 1", "bookmark.acked.position"),
  topic("what was not acked does not come", "bookmark.acked.position + 1", "bookmark.acked.position + 2"),
  topic("now is what a server that is behind has", 'from == "now" and store.present_head or store.open', "store.open"),
  topic("start is the first position ever", 'from == "start" and head.first', 'from == "start" and 1'),
}
