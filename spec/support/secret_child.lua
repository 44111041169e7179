-- A process that uses secrets: `lua secret_child.lua HOSTS CA CERT KEY USER HOW NAME=SECRET ...`. The secrets are masked, in hexadecimal
-- digits; "credential" is one of digest, "password" that of KEY or, with a USER, that of SASL. It says how often each of them is in its
-- memory, as far as core dumps contain it, and whether it is in locked memory, while its session is open and after that. HOW "stuck": the
-- server gets only a part of the credential, so the session does not connect.

local memory = require "spec_memory"
local zk = require "zkrecipes"

local hosts, ca, cert, key, user, how = (unpack or table.unpack)(arg, 1, 6) -- luacheck: ignore 143

local names, secrets = {}, {}
for i = 7, #arg do
  local name, hex = arg[i]:match("^(%w+)=(%x+)$")
  names[#names + 1] = name
  secrets[name] = hex:gsub("..", function(two) return string.char(tonumber(two, 16)) end)
end

-- The middle of a long one: where it was freed, its ends may have been overwritten.
local function seen(name)
  local text = secrets[name]
  if #text > 500 then text = text:sub(math.floor(#text / 3), math.floor(#text / 2)) end
  return memory.seen(text)
end

local function show(when)
  local said = {}
  for i, name in ipairs(names) do
    local dumped, locked = seen(name)
    said[i] = ("%s %d%s"):format(name, dumped, locked > 0 and " locked" or "")
  end
  print(when .. ": " .. table.concat(said, ", "))
end

local function open(said, typed)
  local sasl = user ~= "" and { mechanism = "DIGEST-MD5", user = user, password = typed } or nil
  local tls = ca ~= "" and { ca = ca, cert = cert, key = key, password = not sasl and typed or nil } or nil
  return zk.session { hosts = hosts, acl = "creator", auth = { { scheme = "digest", credential = said } }, tls = tls, sasl = sasl,
    timeout = 60, log = function() end }
end

local function use(session, said)
  assert(session:connected(300))
  assert(session:create("/secret-", "", { sequential = true, ephemeral = true }))
  assert(session:add_auth("digest", said))
end

zk.run(function()
  local said, typed = memory.unmask(secrets.credential), memory.unmask(secrets.password)
  local session = open(said, typed)
  if how ~= "stuck" then use(session, said) end
  memory.wipe(said)
  memory.wipe(typed)
  if how == "stuck" then
    while seen "credential" < 2 do zk.sleep(0.01) end -- the packet is there
    print "stuck"
  else
    show "open"
  end
  session:close(300)
  show "closed"
end)
