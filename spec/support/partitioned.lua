-- What the members of the partitioner "/app" do with a part in specs that kill them: work that shows two owners.
--
-- 1. A member that gains a part creates "/out/PART", an ephemeral znode, and an entry of "/log", in one guarded write. If "/out/PART" is
--    there, the part has another owner: one that works, or one that is dead and whose session has not ended. The member tells that.
-- 2. It waits until the part moves.
-- 3. It deletes "/out/PART", and creates an entry. That is not guarded, so it is also done if the lock was released too early. It is sent
--    before the function ends, because cleanup code cannot wait.
--
-- An entry has the member's id and its token. In the order of the entries the tokens of a part must never fall.

local zk = require "zkrecipes"

-- With these names "child" gets two parts of "mine", and "late" gets one of the two.
local M = { PARTS = { "part1", "part2", "part3", "part4", "part5" } }

local SEQUENTIAL, EPHEMERAL = { sequential = true }, { ephemeral = true }

-- Returns what is wrong, if something is.
local function begin(session, part, hold, text)
  local path = "/out/" .. part
  local function write()
    return hold:multi { { "create", path, text, EPHEMERAL }, { "create", "/log/" .. part .. "-", text, SEQUENTIAL } }
  end
  local done, message, code = write()
  while code == "connection_loss" do
    zk.sleep(0.05)
    done, message, code = write()
  end
  if done or code == "lost" then return nil end
  if code ~= "node_exists" then return message end
  local owner = session:get(path)
  if owner == text then return nil end -- it was done, and the answer lost
  return ("%s gains %s, and there is %s"):format(text, part, owner or "another owner")
end

local function finish(session, part, text)
  session:multi { { "delete", "/out/" .. part }, { "create", "/log/" .. part .. "-", text, SEQUENTIAL } }
end

---Joins, and works. `tell` gets what must not happen, as a text.
function M.join(session, id, settle, tell)
  local partitioner = assert(session:partitioner("/app", M.PARTS, { id = id, settle = settle }))
  zk.spawn(partitioner.run, partitioner, function(part, hold)
    local text = id .. " " .. hold.token
    local _, problem = zk.pcall(function()
      local wrong = begin(session, part, hold, text)
      if wrong then tell(wrong) end
      zk.sleep(3600)
    end)
    zk.spawn(finish, session, part, text)
    error(problem, 0)
  end)
  return partitioner
end

return M
