-- `lua exit_child.lua TLS_HOSTS CA HOSTS`: a process whose Lua state is closed when its exit handlers run, after those of OpenSSL and
-- tls.so. It has a session with TLS and a plain one.

local process = require "spec_fork"
local zk = require "zkrecipes"

process.close_at_exit()
local secret = zk.session { hosts = arg[1], tls = { ca = arg[2] }, timeout = 120 }
local plain = zk.session { hosts = arg[3], timeout = 120 }
assert(secret:connected(300))
assert(plain:connected(300))
for _ = 1, 20 do assert(plain:sync "/") end
io.write "ends\n"
io.flush()
os.exit(0)
