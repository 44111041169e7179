-- Four-letter words: questions that a server answers over a connection of its own, if its 4lw.commands.whitelist allows them.

local M = {}

local LEAST, MOST = 5, 60 -- seconds

-- How long (seconds) a server may take for an answer, or to let a session in.
function M.limit(settings) return math.max(LEAST, math.min(settings.timeout / 2, MOST)) end

-- "a:2181,[::1]:2182,b/chroot" > { { name = "a:2181", host = "a", port = "2181" }, ... }; also if a chroot stands behind another host.
function M.servers(hosts)
  local servers = {}
  for part in hosts:gsub("/[^,]*", ""):gmatch "[^,%s]+" do
    local host, port = part:match "^%[(.*)%]:(%d+)$"
    if not host then host, port = part:match "^(.*):(%d+)$" end
    servers[#servers + 1] = { name = part, host = host or part, port = port or "2181" }
  end
  return servers
end

-- Calls start(done); waits until done(...) is called, at most `limit` seconds. Returns what done got.
local function await(uv, limit, start)
  local co, timer, results = coroutine.running(), uv.new_timer(), nil
  local function done(...)
    if results then return end
    results = { ... }
    timer:close()
    if coroutine.status(co) == "suspended" then assert(coroutine.resume(co)) end
  end
  timer:start(math.ceil(limit * 1000), 0, function() done(nil, ("no answer within %g s"):format(limit)) end)
  start(done)
  if not results then coroutine.yield() end
  return results[1], results[2]
end

local function resolve(uv, limit, server)
  return await(uv, limit, function(done)
    uv.getaddrinfo(server.host, server.port, { socktype = "stream" }, function(problem, found)
      done(not problem and found[1] or nil, "its name is unknown")
    end)
  end)
end

-- Sends the word, and gathers the answer until the server closes the connection.
local function exchange(tcp, address, word, done)
  local chunks = {}
  tcp:connect(address.addr, address.port, function(refused)
    if refused then return done(nil, "cannot connect: " .. refused) end
    tcp:write(word)
    tcp:read_start(function(problem, chunk)
      if chunk then
        chunks[#chunks + 1] = chunk
      else
        done(not problem and table.concat(chunks) or nil, problem)
      end
    end)
  end)
end

-- The answer; nil and the reason, if there is none; nil, the reason and a word, if the server does not allow it ("refused"), or if it
-- would have to be asked by TLS, which luv does not speak ("unasked").
function M.ask(context, server, word)
  local uv = context.uv
  if context.settings.tls then return nil, "four-letter words are not asked by TLS", "unasked" end
  local limit = M.limit(context.settings)
  local address, unknown = resolve(uv, limit, server)
  if not address then return nil, unknown end
  local tcp = uv.new_tcp()
  local answer, problem = await(uv, limit, function(done) exchange(tcp, address, word, done) end)
  tcp:close()
  if not answer then return nil, problem end
  if answer:find("not in the whitelist", 1, true) then return nil, "the server does not allow the word " .. word, "refused" end
  return answer
end

-- Session id > address of the client, from the servers that allow `cons`. The second result is nil if none allows it.
function M.clients(context)
  local clients, allowed = {}, nil
  for _, server in ipairs(M.servers(context.settings.hosts)) do
    local answer = M.ask(context, server, "cons")
    allowed = allowed or answer
    for address, session in (answer or ""):gmatch "/([^%s%[]+):%d+%[%d+%]%([^)]-sid=0x(%x+)" do
      clients[("0"):rep(16 - #session) .. session] = address
    end
  end
  return clients, allowed
end

return M
