-- Runs in init_worker_by_lua, before any request: opens the worker's session and starts what it does by itself.

local zk = require "zkrecipes"

local app = {}

local session = zk.shared { hosts = os.getenv("ZK_HOSTS") or "127.0.0.1:2181", timeout = 10,
  namespace = "/zkrecipes-openresty" }

app.lock = session:lock("/report")

-- The lock of what somebody names in a URL, which may be any bytes; nil: the name is too long.
function app.lock_of(name)
  local key = zk.escape(name)
  return key and session:lock("/orders/" .. key)
end

-- One worker watches /conf, all read it. A program has one copy for each host.
app.conf = require("zkrecipes.openresty").shared_tree("conf", "/conf")

-- The services to which balancer.conf sends requests.
require("balancer").start(session, "/services")

-- An operator would set this.
zk.spawn(function()
  local ok, message, code = session:create("/conf/greeting", "good morning", { parents = true })
  if not ok and code ~= "node_exists" then ngx.log(ngx.WARN, message) end
end)

-- All workers stand; one of them leads, and fires. At a reload, or when it dies, another one goes on.
zk.spawn(function()
  session:election("/timer"):every(1, function(term)
    ngx.log(ngx.NOTICE, "the timer fires in worker ", ngx.worker.id(), ", process ", ngx.worker.pid(), ", term ", term.token)
  end)
end)

package.loaded.app = app
return app
