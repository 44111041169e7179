-- A transfer between two accounts, while somebody else transfers the other way round.
-- Run it, or run it twice at the same moment: lua5.4 examples/multilock.lua [hosts]

local zk = require "zkrecipes"

local BASE = "/zkrecipes-example-multilock"

zk.run(function()
  local session = zk.session { hosts = arg[1] or "127.0.0.1:2181", timeout = 20 }

  local function lock(name) return session:lock(BASE .. "/lock-of-" .. name) end

  -- Locks both; the order in which they are named does not matter.
  local function transfer(from, to)
    local both = session:multilock { lock(from), lock(to) }
    return both:with(30, function(hold)
      print(from .. " > " .. to .. ": both are held: " .. tostring(hold:valid()))
      zk.sleep(0.05)
      return assert(hold:multi { { "set", BASE, from .. " > " .. to } }) -- refused unless both are held
    end)
  end

  session:create(BASE, "", { parents = true })
  zk.all { function() assert(transfer("ann", "bob")) end, function() assert(transfer("bob", "ann")) end }
  print("the last one: " .. (session:get(BASE)))

  for _, name in ipairs { "/lock-of-ann", "/lock-of-bob", "" } do session:delete(BASE .. name) end
  session:close()
end)
