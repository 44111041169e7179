-- Feature flags: who gets what is in ZooKeeper, and changes in all processes within milliseconds. Asking for a flag sends no request, and
-- works with the last known values while no server answers, also right after a restart (`file`).
-- lua5.4 feature_flags.lua HOSTS FILE USER...

local zk = require "zkrecipes"
local cjson = require "cjson"

-- The same user always gets the same answer: a number from 0 to 99 from the flag and the user.
local function share(flag, user)
  local sum = 0
  for c in (flag .. "/" .. user):gmatch "." do sum = (sum * 31 + c:byte()) % 99991 end
  return sum % 100
end

-- Flags look like {"search": {"percent": 20, "users": ["ann"]}}.
local function is_on(flags, flag, user)
  local rule = flags[flag]
  if not rule then return false end
  for _, name in ipairs(rule.users or {}) do
    if name == user then return true end
  end
  return share(flag, user) < (rule.percent or 0)
end

zk.run(function()
  local session = zk.session { hosts = arg[1], timeout = 10 }
  local flags = session:config("/cookbook/flags", { codec = cjson, default = {}, file = arg[2] })

  local function show()
    for i = 3, #arg do print(("search for %s: %s"):format(arg[i], is_on(flags:get(), "search", arg[i]) and "on" or "off")) end
    io.stdout:flush()
  end
  show() -- asks no server
  for _ in flags:changes() do show() end
end)
