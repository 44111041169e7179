-- A real nginx with its Lua module, on a free port of 127.0.0.1, in a folder of its own, with one worker unless told otherwise. Its Lua
-- finds zkrecipes as built for LuaJIT. With $ZR_NGINX_ASAN, which names the library of the address sanitizer, that is build/luajit-asan,
-- and a report of the sanitizer is an error when nginx is stopped.

local socket = require "socket"
local process = require "spec.support.process"
local supervisor = require "zkrecipes.testing.supervisor"

local nginx = {}
nginx.__index = nginx

local MODULES = "/usr/lib/nginx/modules"
local ASAN = os.getenv("ZR_NGINX_ASAN")
local BUILD = ASAN and "build/luajit-asan" or "build/luajit"

local CONF = [[
load_module %s/ndk_http_module.so;
load_module %s/ngx_http_lua_module.so;
daemon on;
pid %s/nginx.pid;
error_log %s/error.log info;
worker_processes %d;
%s
events { worker_connections %d; }
http {
  access_log off;
  client_body_temp_path %s/t; proxy_temp_path %s/t; fastcgi_temp_path %s/t; uwsgi_temp_path %s/t; scgi_temp_path %s/t;
  lua_package_path "%s/lua/?.lua;%s/lua/?/init.lua;%s/?.lua;;";
  lua_package_cpath "%s/%s/?.so;;";
  %s
  server {
    listen 127.0.0.1:%d;
    location = /plain { return 200 "plain\n"; }
    %s
  }
}
]]

local function write(path, text)
  local file = assert(io.open(path, "w"))
  file:write(text)
  file:close()
end

-- What precedes the command. nginx must not use the paths of the interpreter that runs the spec.
local CLEAN = "env -u LUA_PATH -u LUA_CPATH "

local function sanitized(dir)
  if not ASAN then return CLEAN end
  process.output("chmod 777 " .. dir) -- the workers' user writes there
  local reports = "log_path=" .. dir .. "/asan"
  return CLEAN .. ("LD_PRELOAD=%s ASAN_OPTIONS=detect_leaks=0:%s UBSAN_OPTIONS=%s "):format(ASAN, reports, reports)
end

-- If root starts nginx, its workers run as the user nobody, which cannot read a clone in root's home.
local function user(root)
  local reads = "setpriv --reuid=65534 --regid=65534 --clear-groups test -r " .. root .. "/lua/zkrecipes/init.lua"
  return process.holds("test $(id -u) = 0 && ! " .. reads) and "user root;\n" or ""
end

---Starts it. options: main, http, server (text of these contexts), workers, connections. Another process may get the port before nginx
---has it; then it tries another one.
function nginx.start(options, tries)
  local root, dir, port = process.output("pwd"), process.output("mktemp -d"), supervisor.ports(1)[1]
  process.output("chmod 755 " .. dir)
  local self = setmetatable({ dir = dir, port = port }, nginx)
  write(dir .. "/nginx.conf", CONF:format(MODULES, MODULES, dir, dir, options.workers or 1,
    user(root) .. (options.main or ""),
    options.connections or 1024, dir, dir, dir, dir, dir, root, root, root, root, BUILD, options.http or "", port,
    options.server or ""))
  local problem = process.output(("%snginx -p %s -c nginx.conf -e %s/error.log 2>&1"):format(sanitized(dir), dir, dir))
  -- The master writes its pid before it starts its workers.
  local function runs() return self:master() and #self:workers() == (options.workers or 1) end
  local function lacks_port() return self:log():find("still could not bind", 1, true) ~= nil end
  process.eventually(function() return runs() or lacks_port() end)
  if lacks_port() and (tries or 1) < 10 then return nginx.start(options, (tries or 1) + 1) end
  if not runs() then
    error("nginx does not start: " .. problem .. "\n" .. self:log())
  end
  return self
end

function nginx:read(name)
  local file = io.open(self.dir .. "/" .. name)
  local text = file and file:read("*a") or ""
  if file then file:close() end
  return text
end

---Its error log.
function nginx:log() return self:read("error.log") end

---@return string? pid
function nginx:master() return self:read("nginx.pid"):match("%d+") end

---@return string[] pids, those that are shutting down included
function nginx:workers() return process.children(self:master() or self.pid) end

-- Sends a signal to the master.
function nginx:signal(name)
  self.pid = self:master() or self.pid
  process.output(("kill -%s %s 2>&1"):format(name, self.pid))
end

-- Returns a connection that has sent its request.
function nginx:open(path)
  local connection = assert(socket.connect("127.0.0.1", self.port))
  connection:send(("GET %s HTTP/1.0\r\nHost: x\r\n\r\n"):format(path))
  return connection
end

local function answer(connection, limit)
  connection:settimeout(limit or 300)
  local text, problem, partial = connection:receive("*a")
  connection:close()
  text = text or partial
  local status, body = text:match("^HTTP/1.%d (%d+).-\r\n\r\n(.*)$")
  return tonumber(status), body or problem
end

nginx.answer = answer

---Blocks until it is answered: status and body.
function nginx:get(path, limit) return answer(self:open(path), limit) end

-- Stops nginx, by force if it hangs, and deletes its folder.
function nginx:stop()
  self.pid = self:master() or self.pid
  local workers = self.pid and self:workers() or {}
  self:signal("TERM")
  if not process.eventually(function() return not process.runs(self.pid) end) then
    self:signal("KILL")
    for _, pid in ipairs(workers) do process.output("kill -KILL " .. pid) end
  end
  local complaints = process.output("cat " .. self.dir .. "/asan.* 2>/dev/null")
  process.output("rm -rf " .. self.dir)
  assert(complaints == "", complaints)
end

return nginx
