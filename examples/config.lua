-- A program whose limits and feature flags are in ZooKeeper, and change without a restart.
-- lua5.4 examples/config.lua [hosts]

local zk = require "zkrecipes"

local PATH = "/zkrecipes-example-config"

-- "name=value" in each line. With lua-cjson: codec = require "cjson".
local codec = {}

function codec.encode(settings)
  local lines = {}
  for name, value in pairs(settings) do lines[#lines + 1] = name .. "=" .. tostring(value) end
  table.sort(lines)
  return table.concat(lines, "\n")
end

function codec.decode(data)
  local settings = {}
  for line in data:gmatch "[^\n]+" do
    local name, value = line:match "^(%w+)=(%w+)$"
    if not name then return nil, "no setting: " .. line end
    settings[name] = value
  end
  return settings
end

zk.run(function()
  local session = zk.session { hosts = arg[1] or "127.0.0.1:2181", timeout = 20 }
  local conf = session:config(PATH, { codec = codec, default = { limit = "10", search = "off" } })

  -- What a request does: it asks no server.
  local function serve() print(("limit %s, search %s"):format(conf:get().limit, conf:get().search)) end
  serve()
  assert(conf:ready(30))

  -- What an operator does: nobody else's change is lost.
  local function change(name, value)
    assert(conf:update(function(settings)
      settings[name] = value
      return settings
    end))
    assert(conf:await(function(settings) return settings[name] == value end, 30))
  end
  change("limit", "20")
  serve()
  change("search", "on")
  serve()

  assert(session:set(PATH, "?")) -- somebody's mistake
  while not conf:problem() do zk.sleep(0.01) end
  serve()
  print((conf:problem():gsub("version %d+", "version")))

  conf:close()
  assert(session:delete_tree(PATH))
  session:close()
end)
