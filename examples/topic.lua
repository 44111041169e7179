-- A publisher, a subscriber that is slower than retention, and a named subscriber that crashes and goes on.
-- lua5.4 examples/topic.lua [hosts]

local zk = require "zkrecipes"

local PATH = "/zkrecipes-example-topic"

-- Reads up to the position `last`; acks each message up to `acked`.
local function read(topic, last, acked)
  local subscription = assert(topic:subscribe { from = "start", name = "billing" })
  local seen = {}
  repeat
    local message = assert(subscription:next(30))
    seen[#seen + 1] = message.data
    if message.position <= acked then assert(subscription:ack(message.position)) end
  until message.position == last
  subscription:close()                           -- a crash would do the same
  return table.concat(seen, " ")
end

zk.run(function()
  local session = zk.session { hosts = arg[1] or "127.0.0.1:2181" }
  local topic = session:topic(PATH, { keep = { count = 5 } })

  local slow = assert(topic:subscribe { from = "now" })
  for number = 1, 4 do assert(topic:publish("order " .. number, { id = tostring(number) })) end
  print("again: " .. topic:publish("order 4", { id = "4" }))

  print("billing: " .. read(topic, 4, 2))        -- acks two of four
  print("billing: " .. read(topic, 4, 4))        -- so the other two come again

  assert(slow:next(30))
  slow:close()                                   -- it comes back later, when 2 to 15 are gone
  for number = 5, 20 do assert(topic:publish("order " .. number)) end
  local message = assert(assert(topic:subscribe { from = 2 }):next(30))
  print(("missed: %d, then %s"):format(message.missed, message.data))

  session:delete_tree(PATH)
  session:close()
end)
