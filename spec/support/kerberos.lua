-- A realm of Kerberos for specs: a KDC in a folder of its own, with keys for a ZooKeeper server on localhost and for users. Needs Debian's
-- krb5-kdc, krb5-admin-server, krb5-user and lua-luv.

local socket = require "socket"
local setenv = require "luv".os_setenv
local process = require "spec.support.process"
local supervisor = require "zkrecipes.testing.supervisor"
local testing = require "zkrecipes.testing"

local M = {}

-- The realm's KDC is at $2. At $3 listens the KDC of another realm, HUNG, which never answers.
local MAKE = [==[
cd "$1" && umask 077 || exit
export PATH=$PATH:/usr/sbin KRB5_CONFIG=$1/krb5.conf KRB5_KDC_PROFILE=$1/kdc.conf
printf '%s\n' '[libdefaults]' 'default_realm = ZKTEST' 'dns_lookup_realm = false' 'dns_lookup_kdc = false' 'rdns = false' \
  'dns_canonicalize_hostname = false' 'qualify_shortname = ""' 'udp_preference_limit = 1' "default_ccache_name = FILE:$1/tickets" \
  '[realms]' "ZKTEST = {" "kdc = 127.0.0.1:$2" '}' 'HUNG = {' "kdc = 127.0.0.1:$3" '}' \
  '[domain_realm]' 'localhost = ZKTEST' '[logging]' "kdc = FILE:$1/kdc.log" >krb5.conf
printf '%s\n' '[realms]' 'ZKTEST = {' "database_name = $1/principals" "key_stash_file = $1/stash" "kdc_listen = 127.0.0.1:$2" \
  "kdc_tcp_listen = 127.0.0.1:$2" '}' >kdc.conf
kdb5_util create -s -r ZKTEST -P master
for each in zookeeper/localhost ann bob; do kadmin.local -r ZKTEST -q "addprinc -randkey $each"; done
kadmin.local -r ZKTEST -q "ktadd -k $1/server.keytab zookeeper/localhost"
kadmin.local -r ZKTEST -q "ktadd -k $1/users.keytab ann bob"
for each in ann bob; do kadmin.local -r ZKTEST -q "ktadd -norandkey -k $1/$each.keytab $each"; done
kadmin.local -r ZKTEST -q "addprinc -randkey +requires_preauth old"
kadmin.local -r ZKTEST -q "ktadd -k $1/old.keytab old" # and then its key is changed
kadmin.local -r ZKTEST -q "cpw -randkey old"
printf '%s\n' 'addent -password -p ann@HUNG -k 1 -e aes256-cts' password "wkt $1/users.keytab" | ktutil
printf '%s\n' 'Server {' 'com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true storeKey=true useTicketCache=false' \
  "isInitiator=false keyTab=\"$1/server.keytab\" principal=\"zookeeper/localhost@ZKTEST\";" '};' >jaas.conf
krb5kdc -n >"$1/kdc.out" 2>&1 </dev/null &
read -r # until the specs stop it, or have ended themselves
kill $!
rm -rf "$1"
]==]

local function answers(port)
  local sock = socket.tcp()
  sock:settimeout(1)
  local up = sock:connect("127.0.0.1", port)
  sock:close()
  return up
end

local Realm = {}
Realm.__index = Realm

-- Starts the KDC; hung: the port of one that does not answer. From now on this process uses the realm.
function M.start(hung)
  local folder = process.output("mktemp -d /tmp/zkrecipes-kerberos.XXXXXX")
  local port = supervisor.ports(1)[1]
  local script = assert(io.open(folder .. "/make", "w"))
  script:write(MAKE)
  script:close()
  local pipe = io.popen(("LD_PRELOAD= exec bash '%s/make' '%s' %s %s >'%s/made' 2>&1"):format(folder, folder, port, hung, folder), "w")
  local realm = setmetatable({ folder = folder, pipe = pipe, keytab = folder .. "/users.keytab" }, Realm)
  if not process.eventually(function() return answers(port) end) then
    local said = process.output(("cat '%s/made'"):format(folder))
    realm:stop()
    error("no KDC (is Debian's krb5-kdc installed?): " .. said)
  end
  setenv("KRB5_CONFIG", folder .. "/krb5.conf")
  return realm
end

-- A ZooKeeper server of the realm.
function Realm:server(options)
  local all = { config = { ["authProvider.sasl"] = "org.apache.zookeeper.server.auth.SASLAuthenticationProvider" },
    jvm = { "-Djava.security.auth.login.config=" .. self.folder .. "/jaas.conf",
      "-Djava.security.krb5.conf=" .. self.folder .. "/krb5.conf" } }
  for name, value in pairs(options or {}) do all[name] = value end
  return assert(testing.start(all))
end

-- Gets a ticket for a user, as a person would.
function Realm:kinit(user)
  local said = process.output(("LD_PRELOAD= kinit -k -t '%s' %s 2>&1"):format(self.keytab, user))
  if said ~= "" then error(said) end
end

-- The keytab of one user: ann, bob, or old, whose key is another one by now.
function Realm:keytab_of(user) return ("%s/%s.keytab"):format(self.folder, user) end

-- How often the KDC has refused a key.
function Realm:refusals() return tonumber(process.output(("grep -c PREAUTH_FAILED '%s/kdc.log'"):format(self.folder))) end

function Realm.kdestroy() process.output("LD_PRELOAD= kdestroy 2>&1") end

function Realm:stop()
  self.pipe:write "\n"
  self.pipe:close() -- waits for its end
end

return M
