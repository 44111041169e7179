-- Members of a partitioner are killed (kill -9) at each of their steps. No part has two valid owners, and in the end each has one.
--
-- The output of the members (spec/support/partition_worker.lua) has the zxid of each guarded write. In the order of these zxids the tokens
-- of a part must never fall: otherwise two owners wrote.

local env = require "spec.support.env"

local KILLS = tonumber(os.getenv "SPEC_KILLS") or 12
local PARTS, MEMBERS = 30, 3 -- so many parts that each member has some

local function start(hosts, namespace, id)
  local file = os.tmpname()
  local pipe = assert(io.popen(("exec sh -c 'echo $$; exec %s spec/support/partition_worker.lua %s %s %s %d > %s 2>&1'"):format(
    env.interpreter(), hosts, namespace, id, PARTS, file)))
  return { id = id, pid = pipe:read("*n"), file = file, pipe = pipe }
end

local function said(member)
  local file, list = assert(io.open(member.file)), {}
  for line in file:lines() do list[#list + 1] = line end
  file:close()
  return list
end

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
  it("are killed at each step, and each part has one owner", env.run(function()
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
    local held = {}
    for i = 1, PARTS do held["part" .. i] = session:lock("/app/parts/part" .. i):contenders()[1].token end
    env.eventually("the owners write", function()
      for part, token in pairs(held) do
        if session:get("/out/" .. part) ~= token then return false end
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
