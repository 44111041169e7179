-- Members of a partitioner are killed (kill -9): some of several as they come and go, and one at each of its requests. No part has two
-- valid owners, and in the end each has one.
--
-- In the first spec the output of the members (spec/support/partition_worker.lua) has the zxid of each guarded write. In the order of these
-- zxids the tokens of a part must never fall: otherwise two owners wrote. In the second one the members tell if they see another owner
-- (spec/support/partitioned.lua).

local child = require "spec.support.child"
local env = require "spec.support.env"
local partitioned = require "spec.support.partitioned"

local KILLS = tonumber(os.getenv "SPEC_KILLS") or 12
local PARTS, MEMBERS = 30, 3 -- so many parts that each member has some

local alive = {} -- a failure must not leave them: nobody can wait for the end of a process that lives

local function start(hosts, namespace, id)
  local file = os.tmpname()
  local pipe = assert(io.popen(("exec sh -c 'echo $$; exec %s spec/support/partition_worker.lua %s %s %s %d > %s 2>&1'"):format(
    env.interpreter(), hosts, namespace, id, PARTS, file)))
  local member = { id = id, pid = pipe:read("*n"), file = file, pipe = pipe }
  alive[member] = true
  return member
end

local function lines_of(name)
  local list = {}
  for line in io.lines(name) do list[#list + 1] = line end
  return list
end

local function said(member) return lines_of(member.file) end

-- Its writes, and how many steps it took.
local function note(log, member)
  for _, line in ipairs(said(member)) do
    local word, part, token, zxid = line:match "^(%l+) ?(%S*) ?(%S*) ?(%S*)$"
    if word ~= "made" and word ~= "ready" and word ~= "begin" and word ~= "wrote" then
      error(member.id .. " said: " .. line)
    end
    log[word] = (log[word] or 0) + 1
    if zxid and zxid:find "^%x+$" then log.writes[#log.writes + 1] = { part = part, token = token, zxid = zxid } end
  end
end

local function kill(log, member)
  os.execute("kill -9 " .. member.pid .. " 2>/dev/null")
  member.pipe:close()
  alive[member] = nil
  note(log, member)
  os.remove(member.file)
end

-- In the order of their zxids, which have leading zeros.
local function check_writes(log)
  table.sort(log.writes, function(a, b) return a.zxid < b.zxid end)
  local last = {}
  for _, each in ipairs(log.writes) do
    assert(each.token >= (last[each.part] or ""), each.part .. " was written with " .. each.token .. " after " .. (last[each.part] or ""))
    last[each.part] = each.token
  end
  return last
end

-- How many parts each living member owns, once each part has one owner that is alive.
local function owners(session, members)
  local counts = {}
  for i = 1, PARTS do
    local list = session:lock("/app/parts/part" .. i):contenders() or {}
    local id = list[1] and list[1].data
    if not members[id] or #list > 1 then return nil end
    counts[id] = (counts[id] or 0) + 1
  end
  return counts
end

describe("members of a partitioner", function()
  after_each(function()
    for member in pairs(alive) do kill({ writes = {} }, member) end
  end)

  it("are killed as they come and go, and each part has one owner", env.run(function()
    local namespace, hosts = env.namespace(), env.server().hosts
    local session = env.session { namespace = namespace }
    for i = 1, PARTS do assert(session:create("/out/part" .. i, "", { parents = true })) end
    local log, members, number = { writes = {} }, {}, 0
    local function add()
      number = number + 1
      local id = "m" .. number
      members[id] = start(hosts, namespace, id)
      return members[id]
    end
    for _ = 1, MEMBERS - 1 do add() end
    for step = 1, KILLS do
      local victim = add()
      -- Steps 1 to KILLS of a new member: made, ready, begin and wrote of its first parts. Every third one is an old member.
      env.eventually("step " .. step, function() return #said(victim) >= step end)
      if step % 3 == 0 then
        for id, each in pairs(members) do
          if each ~= victim then
            kill(log, each)
            members[id] = nil
            break
          end
        end
      else
        kill(log, victim)
        members[victim.id] = nil
      end
    end
    local counts
    env.eventually("each part has one living owner", function()
      counts = owners(session, members)
      return counts
    end)
    local sum = 0
    for _, count in pairs(counts) do sum = sum + count end
    assert.equal(PARTS, sum)
    env.eventually("the owners write", function()
      for i = 1, PARTS do
        local first = (session:lock("/app/parts/part" .. i):contenders() or {})[1]
        if not first or session:get("/out/part" .. i) ~= first.token then return false end
      end
      return true
    end)
    for _, each in pairs(members) do kill(log, each) end
    check_writes(log)
    assert.is_true(log.begin >= 2 * PARTS and #log.writes > PARTS)
    if os.getenv "SPEC_KILLS" then
      io.stderr:write(("%d members, %d killed: %d times a part began, %d guarded writes\n"):format(number, KILLS, log.begin, #log.writes))
    end
  end))
end)

-- ---- At each request ---------------------------------------------------------------------------

-- The requests that a member sends while it joins, gains two parts, hands one over and leaves: 24, or a few more if their order is another
-- one. It sends the last of them beside the member to which it hands over.
local MOST, FEWEST, BESIDE = 60, 22, 6

-- So the child hands a part over only after the other member has asked for it.
local SETTLE = 0.02 -- seconds; that of the child is longer

-- How many of the parts this member works on.
local function works_on(session, id)
  local count = 0
  for _, part in ipairs(partitioned.PARTS) do
    local text = session:get("/out/" .. part)
    if text and text:match "^%S+" == id then count = count + 1 end
  end
  return count
end

-- Each part has an owner among these, which works on it. There is nothing of another member on the server.
local function settled(session, members)
  for _, part in ipairs(partitioned.PARTS) do
    local text, locks = session:get("/out/" .. part), session:children("/app/parts/" .. part)
    local id, token = (text or ""):match "^(%S+) (%S+)$"
    local hold = members[id] and members[id]:hold(part)
    if not hold or hold.token ~= token or not locks or #locks ~= 1 then return false end
  end
  local count = 0
  for _ in pairs(members) do count = count + 1 end
  return #assert(session:children "/app/members") == count
end

-- How many znodes there are below the path, and it.
local function size_of(session, path)
  local size = 1
  for _, name in ipairs(assert(session:children(path))) do size = size + size_of(session, path .. "/" .. name) end
  return size
end

-- Each entry was written by the owner that was the last one then. Returns how many there are.
local function check_log(session)
  local entries, last = assert(session:children "/log"), {}
  table.sort(entries) -- by the part, then by the number
  for _, name in ipairs(entries) do
    local part, text = name:match "^(%w+)%-", assert(session:get("/log/" .. name))
    local token, before = text:match "%S+$", last[part] or { token = "" }
    assert(token > before.token or text == before.text, ("%s: %s wrote after %s"):format(name, text, before.text))
    last[part] = { token = token, text = text }
  end
  return #entries
end

-- While a child lives: when it has its two parts, another member joins, which gets one of them. Returns a function that gives that member,
-- nil if it has not joined, and ends this.
local function bring_late(test)
  local over, late = false, nil
  local wait = env.start(function()
    env.eventually("the child's parts", function() return over or works_on(test.session, "child") == 2 end)
    if not over then late = test.join("late", test.other) end
  end)
  return function()
    over = true
    wait()
    return late
  end
end

local function await_settled(test, members)
  env.eventually("they have all parts", function() return test.problems[1] or settled(test.session, members) end)
  assert.same({}, test.problems)
end

-- Kills a member at this request. The others have all parts then. Returns whether it was killed, and whether another one had joined.
local function kill_at(test, number, kind)
  local file = os.tmpname()
  local late_of = bring_late(test)
  local struck = child.killed_at("partition_child", test.namespace, "live " .. file, number, kind, function()
    return test.problems[1] or lines_of(file)[1]
  end)
  local late, lines = late_of(), lines_of(file)
  os.remove(file)
  assert.same(lines[1] == "left" and { "left" } or {}, lines)
  await_settled(test, { mine = test.mine, late = late })
  if late then assert(late:close(300)) end
  await_settled(test, { mine = test.mine })
  return struck, late ~= nil
end

-- A member in this process has all parts.
local function begin_test()
  local test = { namespace = env.namespace(), problems = {} }
  test.session, test.other = env.session { namespace = test.namespace }, env.session { namespace = test.namespace }
  for _, path in ipairs { "/out", "/log" } do assert(test.session:create(path, "")) end
  function test.join(id, session)
    return partitioned.join(session, id, SETTLE, function(text) table.insert(test.problems, text) end)
  end
  function test.size() return size_of(test.session, "/app") + size_of(test.session, "/out") end
  test.mine = test.join("mine", test.session)
  await_settled(test, { mine = test.mine })
  return test
end

-- Kills a member at each request. Returns how often, how often beside another one, and whether that joined the last time.
local function kill_at_each(test, kind)
  local size, kills, joined = test.size(), 0, 0
  for number = 1, MOST do
    local struck, beside = kill_at(test, number, kind)
    assert.equal(size, test.size()) -- nothing is left behind
    if not struck then return kills, joined, beside end
    kills, joined = kills + 1, joined + (beside and 1 or 0)
  end
  error("it sends more than " .. MOST .. " requests")
end

describe("a member of a partitioner that is killed", function()
  for _, kind in ipairs { "hold", "hold_reply" } do
    it("at each request (" .. kind .. ") leaves its parts to the others, and nothing else", env.run(function()
      local test = begin_test()
      local kills, joined, whole = kill_at_each(test, kind)
      assert.is_true(whole) -- the last one did all, and left
      assert.is_true(kills >= FEWEST and joined >= BESIDE, kills .. " requests, " .. joined .. " of them beside another member")
      assert(test.mine:close(300))
      assert.equal(0, #test.session:children "/out")
      local entries = check_log(test.session)
      if os.getenv "SPEC_KILLS" then
        io.stderr:write(("%d kills (%s), %d of them beside another member: %d entries\n"):format(kills, kind, joined, entries))
      end
    end))
  end
end)
