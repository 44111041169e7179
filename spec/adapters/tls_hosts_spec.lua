-- TLS in a host that has an OpenSSL of its own: neither disturbs the other.

require "spec_fork"
local certificates = require "zkrecipes.testing.certificates"
local env = require "spec.support.env"
local nginx = require "spec.support.nginx"
local process = require "spec.support.process"
local testing = require "zkrecipes.testing"
local tls = require "spec.support.tls"

describe("TLS in a host with an OpenSSL of its own", function()
  local server

  setup(function() server = assert(testing.start { tls = true }) end)
  teardown(function() server:stop() end)

  local function child(how, before)
    return process.output(("%s %s spec/support/tls_child.lua %s %s %s 2>&1 && echo ended"):format(before or "", env.interpreter(),
      server.hosts, server.tls.ca, how))
  end

  it("calls only the functions of its own", function()
    local build = os.getenv("LUA_CPATH"):match("^[^;]*"):gsub("%?", "spec_openssl")
    assert.equal("well\nended", child("close", "env LD_PRELOAD=" .. build))
  end)

  it("does not crash when the process exits in the middle of requests", function()
    for _ = 1, 10 do assert.equal("well\nended", child("exit")) end
  end)

  it("works in nginx, beside requests by TLS", function()
    local folder = tls.folder()
    local files = certificates.issue(folder, "nginx")
    os.execute("chmod -R a+rX " .. folder)
    local copy = folder .. "/zk" -- nginx's workers may be another user
    os.execute(("mkdir %s && cp %s %s %s %s/ && chmod -R a+rX %s"):format(copy, server.tls.ca, server.tls.cert, server.tls.key, copy, copy))
    local running = nginx.start {
      workers = 2,
      http = ([[
        init_worker_by_lua_block {
          function options()
            return { hosts = "%s", namespace = "%s", timeout = 60, request_timeout = 200,
              tls = { ca = "%s/ca.pem", cert = "%s/localhost.pem", key = "%s/localhost.key",
                password = function() return "not needed" end } }
          end
          session = require("zkrecipes").shared(options())
        }]]):format(server.hosts, env.namespace(), copy, copy, copy),
      server = ([[
        listen unix:%s/tls.sock ssl;
        ssl_certificate %s;
        ssl_certificate_key %s;
        location = /zk { content_by_lua_block {
          local path = assert(session:create("/n-", ngx.var.arg_text, { sequential = true }))
          ngx.say((assert(session:get(path))))
        } }
        location = /shared { content_by_lua_block {
          ngx.say(tostring(require("zkrecipes").shared(options()) == session))
        } }]]):format(folder, files.cert, files.key),
    }
    local get = ("curl -s --max-time 300 --unix-socket %s/tls.sock --cacert %s/ca.pem 'https://localhost/zk?text=t%%d'")
      :format(folder, folder)
    local commands = {}
    for i = 1, 40 do commands[i] = get:format(i) .. " &" end
    local said, missing = process.output("(" .. table.concat(commands, "\n") .. "\nwait)"), {}
    for i = 1, 40 do
      if not ("\n" .. said .. "\n"):find("\nt" .. i .. "\n", 1, true) then missing[#missing + 1] = i end
    end
    -- A handler that makes its options anew for each request, with another function for the password, gets the session that is open.
    local shared = { running:get("/shared") }
    local log = running:log()
    running:stop()
    tls.remove(folder)
    assert.same({ 200, "true\n" }, { shared[1], shared[2] }, log)
    assert.same({}, missing, said .. log)
    assert.is_nil(log:find("exited on signal", 1, true))
  end)
end)
