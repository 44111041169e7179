-- Three instances of a service register. A client spreads its requests over them; one fails, and later leaves.
-- lua5.4 examples/registry.lua [hosts]

local zk = require "zkrecipes"

local PATH = "/zkrecipes-example-registry"

zk.run(function()
  local session = zk.session { hosts = arg[1] or "127.0.0.1:2181", timeout = 20 }
  local registry = assert(session:registry(PATH))
  local servers = {}
  for i, id in ipairs { "red", "green", "blue" } do      -- in real life, each in its own process
    servers[id] = assert(registry:register("web", { id = id, address = "10.0.0." .. i, port = 8080, weight = i }))
    assert(servers[id]:ready(60))
  end
  assert(registry:await("web", 3, 60))

  local function requests(strategy, key)
    local count, text = {}, {}
    for _ = 1, 60 do
      local instance = assert(registry:pick("web", strategy, key))
      count[instance.id] = (count[instance.id] or 0) + 1
      instance:done()
    end
    for _, id in ipairs { "red", "green", "blue" } do text[#text + 1] = id .. " " .. (count[id] or 0) end
    print(table.concat(text, ", "))
  end

  requests "round_robin"
  requests "weighted"

  for _, instance in ipairs(registry:instances "web") do
    if instance.id == "green" then instance:down(60) end -- a connection to it was refused, say
  end
  requests "round_robin"

  assert(servers.red:leave(60))
  while #registry:instances "web" > 2 do zk.sleep(0.01) end
  requests "round_robin"

  for _, server in pairs(servers) do server:leave(60) end
  registry:close()
  session:delete_tree(PATH)
  session:close()
end)
