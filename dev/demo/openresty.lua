-- make demo-openresty: examples/openresty on a free port, with the ZooKeeper of $ZK_HOSTS. It shows the lock under requests to both
-- workers, the timer that fires on only one of them, a reload, and the status. It ends by itself, with a summary.

package.path = "lua/?.lua;lua/?/init.lua;" .. package.path

local socket = require "socket"
local supervisor = require "zkrecipes.testing.supervisor"

local function output(format, ...)
  local pipe = assert(io.popen(format:format(...)))
  local text = pipe:read("a")
  pipe:close()
  return (text:gsub("\n$", ""))
end

local function read(path)
  local file = assert(io.open(path))
  local text = file:read("a")
  file:close()
  return text
end

local port, other_port = table.unpack(supervisor.ports(2))

-- ---- nginx -------------------------------------------------------------------------------------

local dir = output("mktemp -d")
os.execute(("cp examples/openresty/*.lua %s; chmod 755 %s"):format(dir, dir))

local SESSION = 100 -- seconds, its timeout

-- Copies a file of the example, with free ports, and with a place for temporary files.
local function copy(name, documented, free)
  local text = read("examples/openresty/" .. name):gsub("127.0.0.1:" .. documented, "127.0.0.1:" .. free)
    :gsub("access_log off;", "access_log off; client_body_temp_path t; proxy_temp_path t; fastcgi_temp_path t; " ..
      "uwsgi_temp_path t; scgi_temp_path t;")
    :gsub("acquire%(5%)", "acquire(200)") -- a busy machine takes longer than a request would wait
    :gsub("timeout = 10,", "timeout = " .. SESSION .. ",")
  local file = assert(io.open(dir .. "/" .. name, "w"))
  file:write(text)
  file:close()
end

copy("app.lua", 8080, port)
copy("nginx.conf", 8080, port)
copy("balancer.conf", 8081, other_port)
os.execute(("nginx -p %s -c nginx.conf -e stderr 2>%s/log & echo $! >%s/started"):format(dir, dir, dir))
local master = read(dir .. "/started"):match("%d+")

local function open(path)
  local connection = assert(socket.connect("127.0.0.1", port))
  connection:send(("GET %s HTTP/1.0\r\n\r\n"):format(path))
  return connection
end

local function answer(connection)
  connection:settimeout(300)
  local text = connection:receive("*a") or ""
  connection:close()
  return text:match("\r\n\r\n(.*)$") or ""
end

local function get(path) return answer(open(path)) end

local function eventually(what, condition)
  local deadline = socket.gettime() + 300
  repeat
    local value = condition()
    if value then return value end
    socket.sleep(0.02)
  until socket.gettime() > deadline
  error(what .. "\n" .. read(dir .. "/log"))
end

local checks = {}
local function check(text, good) checks[#checks + 1] = { text, good } end

-- ---- The steps of the demo ---------------------------------------------------------------------

-- The pids of the workers whose timer has fired, one entry per firing.
local function fired()
  local list = {}
  for pid in read(dir .. "/log"):gmatch("the timer fires in worker %d+, process (%d+)") do list[#list + 1] = pid end
  return list
end

local function show()
  eventually("nginx serves", function() return pcall(get, "/hello") end)
  print(("nginx on http://127.0.0.1:%d, ZooKeeper on %s\n\nTen requests for one lock, in two workers:"):format(port,
    os.getenv("ZK_HOSTS")))
  local from, requests, tokens, grew = socket.gettime(), {}, {}, true
  for i = 1, 10 do requests[i] = open("/report") end
  check("other requests are served meanwhile", eventually("other requests are served meanwhile", function()
    if get("/hello") == "hello\n" and #socket.select(requests, nil, 0) < #requests then return true end
    for i = 1, 10 do requests[i] = answer(requests[i]) and open("/report") end -- on a busy machine all may be answered already
    from = socket.gettime()
  end))
  for i = 1, 10 do
    local text = answer(requests[i])
    io.write("  ", text)
    tokens[i] = text:match("token (%x+)")
  end
  table.sort(tokens)
  for i = 2, #tokens do grew = grew and tokens[i] > tokens[i - 1] end
  check("ten turns, one after the other, each with its own token", #tokens == 10 and grew and socket.gettime() - from >= 2)

  local odd = get "/order?id=17%2Fx-lock-0000000000"
  check("a key from a URL is one name, whatever it holds", odd:find("/orders/17=2Fx-lock=2D0000000000/", 1, true) ~= nil)

  local leader = eventually("the timer fires", function() return #fired() >= 3 and fired()[#fired()] end)
  local one = true
  for _, pid in ipairs(fired()) do one = one and pid == leader end
  print("\nThe timer fires in process " .. leader .. " only; a reload:")
  check("the timer fires in one worker only", one)
  from = socket.gettime()
  os.execute("kill -HUP " .. master)
  local next_one = eventually("the timer moves on", function()
    local pid = fired()[#fired()]
    return pid ~= leader and pid
  end)
  print(("  now it fires in process %s, after %.1f s"):format(next_one, socket.gettime() - from))
  check("a reload hands the timer over without an expiry", socket.gettime() - from < SESSION / 2)

  local greeting = eventually("the configuration is there", function() return get("/greeting"):match("^good morning, 0 s old") end)
  check("all workers read one copy of the configuration", greeting ~= nil)

  local page = get("/status")
  print("\nThe status, http://127.0.0.1:" .. port .. "/status:\n  " .. get("/status?format=json"):sub(1, 160) .. " ...")
  check("the status page is there", page:find("<h1>zkrecipes</h1>", 1, true) ~= nil)
end

local ok, problem = pcall(show)
os.execute("kill -QUIT " .. master)
local ended = pcall(eventually, "nginx ends", function() return output("kill -0 %s 2>&1; echo $?", master) ~= "0" end)
check("nginx ends when it is told to", ended)
os.execute("rm -rf " .. dir)
if not ok then
  io.stderr:write("the demo failed: ", tostring(problem), "\n")
  os.exit(1)
end
print()
local all = true
for _, entry in ipairs(checks) do
  print(("  %-60s %s"):format(entry[1], entry[2] and "yes" or "NO"))
  all = all and entry[2]
end
os.exit(all and 0 or 1)
