-- Who may do what: a znode that its creator may change, that one more user may read, and nobody else.
-- Run it: lua5.4 examples/acl.lua [hosts]

local zk = require "zkrecipes"

local PATH = "/zkrecipes-example-acl"
local HOSTS = arg[1] or "127.0.0.1:2181"

-- Opens a session that proves to be this user, if any.
local function open(user, password)
  return zk.session { hosts = HOSTS, timeout = 20, auth = user and { { scheme = "digest", credential = user .. ":" .. password } } }
end

zk.run(function()
  local owner, reader, stranger = open("owner", "open sesame"), open("reader", "let me in"), open()
  owner:delete(PATH) -- what an earlier run may have left

  assert(owner:create(PATH, "for two", { acl = {
    "creator",
    { perms = "r", scheme = "digest", id = zk.digest("reader", "let me in") },
  } }))

  print("reader reads: " .. assert(reader:get(PATH)))
  print("reader writes: " .. select(3, reader:set(PATH, "mine")))
  print("stranger reads: " .. select(3, stranger:get(PATH)))

  assert(owner:delete(PATH))
  for _, session in ipairs { owner, reader, stranger } do session:close() end
end)
