-- TLS 1.2 and 1.3, with and without a certificate of ours, on every host: the interpreter is the one that runs the specs. nginx is in
-- tls_hosts_spec.lua.

local matrix = require "spec.adapters.matrix"
local env = require "spec.support.env"
local testing = require "zkrecipes.testing"
local zk = require "zkrecipes"

local CIPHERS = { ["TLSv1.2"] = "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", ["TLSv1.3"] = "TLS_AES_128_GCM_SHA256" }

-- Runs fn in a coroutine of the host, to its end.
local function run(host, fn)
  if host == "builtin" then return env.run(function() fn(zk) end)() end
  local loop = require("spec.support.loops." .. host)
  local ended, problem = false, nil
  loop.start(function()
    local ok, raised = zk.pcall(fn, zk.using(loop.adapter or host))
    ended, problem = true, not ok and raised or nil
  end)
  loop.run(300, function() return ended end)
  assert.is_true(ended)
  if problem then error(problem, 0) end
end

-- What a session does. With a certificate the server knows us by it.
local function use(module, server, certificate)
  local session = module.session { hosts = server.hosts, namespace = env.namespace(), timeout = 60,
    tls = { ca = server.tls.ca, cert = certificate and server.tls.cert or nil, key = certificate and server.tls.key or nil } }
  assert(session:connected(200))
  local hold = assert(session:lock("/lock"):acquire(200))
  assert(hold:create("/guarded", ("x"):rep(100000)))
  assert.equal(100000, #session:get("/guarded"))
  hold:release()
  local path, message, code = session:create("/mine", "", { acl = "creator" })
  assert.equal(certificate and "/mine" or "invalid_acl", path or code, message)
  if certificate then assert.equal("x509", session:get_acl("/mine")[1].scheme) end
  session:close(200)
end

for version, cipher in pairs(CIPHERS) do
  describe(version, function()
    local server

    setup(function()
      server = assert(testing.start { tls = true,
        config = { ["ssl.protocol"] = version, ["ssl.enabledProtocols"] = version, ["ssl.ciphersuites"] = cipher } })
    end)
    teardown(function() server:stop() end)

    for _, certificate in ipairs { false, true } do
      for _, host in ipairs { "builtin", "luv", "cqueues", "copas", "copas4", "poll" } do
        local _ = (host == "builtin" or matrix.runs(host)) and it(("works on %s %s a certificate"):format(host,
          certificate and "with" or "without"), function() run(host, function(module) use(module, server, certificate) end) end)
      end
    end
  end)
end
