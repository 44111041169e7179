-- A process that uses secrets: `lua secret_child.lua HOSTS CA CERT KEY CREDENTIAL PASSWORD LINE`, the last three masked, in hexadecimal
-- digits. It says how often each of them is in its memory, as far as core dumps contain it, while its session is open and after that.

local memory = require "spec_memory"
local zk = require "zkrecipes"

local hosts, ca, cert, key = arg[1], arg[2], arg[3], arg[4]
local function bytes(hex) return (hex:gsub("..", function(two) return string.char(tonumber(two, 16)) end)) end
local credential, password, line = bytes(arg[5]), bytes(arg[6]), bytes(arg[7])

-- The middle of a long one: where it was freed, its ends may have been overwritten.
local function middle(text) return text:sub(math.floor(#text / 3), math.floor(#text / 2)) end

local function show(when)
  print(("%s: credential %d, password %d, key %d"):format(when, memory.seen(middle(credential)), memory.seen(password), memory.seen(line)))
end

zk.run(function()
  local logged = {}
  local said, typed = memory.unmask(credential), memory.unmask(password)
  local session = zk.session { hosts = hosts, acl = "creator", auth = { { scheme = "digest", credential = said } },
    tls = ca ~= "" and { ca = ca, cert = cert, key = key, password = typed } or nil,
    log = function(_, text) logged[#logged + 1] = text end }
  assert(session:connected(300))
  assert(session:create("/secret-", "", { sequential = true, ephemeral = true }))
  assert(session:add_auth("digest", said))
  memory.wipe(said)
  memory.wipe(typed)
  show "open"
  assert(session:close(300))
  show "closed"
end)
