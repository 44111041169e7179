-- kill -9 at every request of a named subscriber and of a publisher: no message is lost, and an id is published once.

local child = require "spec.support.child"
local env = require "spec.support.env"
local run = env.run

local function lines_of(name)
  local list = {}
  for line in io.lines(name) do list[#list + 1] = line end
  return list
end

-- Reads what the processes have noted: each message came, in order, and after an ack no earlier one.
local function check_notes(lines, last)
  local acked, seen, at = 0, {}, 0
  for _, line in ipairs(lines) do
    local what, position, data = line:match "^(%l+) (%d+) (.*)$"
    position = tonumber(position)
    if what == "acked" then
      acked = position
    else
      assert.are.equal(tostring(position), data)
      assert.is_true(position > acked, position .. " comes after the ack of " .. acked)
      assert.is_true(position == at + 1 or seen[position] ~= nil, position .. " comes after " .. at)
      seen[position], at = true, position
    end
  end
  for position = 1, last do assert.is_true(seen[position], position .. " is lost") end
end

describe("a named subscriber that is killed", function()
  for _, kind in ipairs { "hold", "hold_reply" } do
    it("at each request (" .. kind .. ") goes on where it had acked", run(function()
      local namespace, strikes, last = env.namespace(), 0, 0
      local session, file = env.session { namespace = namespace }, os.tmpname()
      local topic = session:topic "/t"
      for number = 1, 20 do
        for _ = 1, 2 do
          last = last + 1
          assert.are.equal(last, topic:publish(tostring(last)))
        end
        local function over() -- also if the process died before it could note the ack
          local acked = session:get "/t/subscribers/child"
          return acked and acked:find(("acked %d\n"):format(last), 1, true) == 1
        end
        if child.killed_at("topic", namespace, "subscribe " .. file, number, kind, over) then strikes = strikes + 1 end
        local process = child.start(namespace, 15, nil, { script = "topic" })
        process:tell("subscribe " .. file)
        env.eventually("all messages are acked", over)
        process:signal "KILL"
        process:stop()
      end
      check_notes(lines_of(file), last)
      os.remove(file)
      assert.is_true(strikes >= 7, strikes .. " requests")
      assert.is_true(strikes < 20, strikes .. " requests")
    end))
  end
end)

describe("a publisher that is killed", function()
  for _, kind in ipairs { "hold", "hold_reply" } do
    it("at each request (" .. kind .. ") publishes its id once", run(function()
      local namespace, strikes, known = env.namespace(), 0, 0
      local topic = env.session({ namespace = namespace }):topic "/t"
      for number = 1, 8 do
        local id = "i" .. number
        if child.killed_at("topic", namespace, "publish " .. id, number, kind, function()
          local head = topic.session:get "/t/head"
          return head and head:find(("last %d\n"):format(number), 1, true) == 1
        end) then strikes = strikes + 1 end
        local head = topic.session:get "/t/head"
        if head and head:find(("last %d\n"):format(number), 1, true) then known = known + 1 end
        assert.are.equal(number, topic:publish(id, { id = id }))
      end
      local subscription = assert(topic:subscribe { from = "start" })
      for number = 1, 8 do assert.are.equal("i" .. number, subscription:next(200).data) end
      env.fails("timeout", subscription:next(0))
      assert.is_true(strikes >= 5 and strikes < 8, strikes .. " requests")
      assert.is_true(known >= 1, known .. " messages")
    end))
  end
end)
