-- Options and lists are read from the table itself. A table that inherits is refused everywhere, because the inherited
-- fields would be ignored silently.

local zk = require "zkrecipes"
local sim = require "zkrecipes.sim"
local testing = require "zkrecipes.testing"
local deaf = require "spec.support.deaf"
local env = require "spec.support.env"

local raises = env.raises

local function heir(of, event) return setmetatable({}, { [event or "__index"] = of }) end

describe("a table that inherits", function()
  local session = deaf.deaf_session()
  local world = sim.new()
  local lock = session:lock("/l")
  local election = session:election("/e")
  local queue = session:queue("/q")
  local simple = session:queue("/q", { format = "simple" })
  teardown(function() session:close(0) end)

  local function nothing() end

  -- What is called > fn(heir).
  local OPTIONS = {
    ["session"] = function(options) zk.session(options) end,
    ["run"] = function(options) zk.run(nothing, options) end,
    ["status"] = function(options) zk.status(options) end,
    ["lock"] = function(options) session:lock("/l", options) end,
    ["rwlock"] = function(options) session:rwlock("/l", options) end,
    ["semaphore"] = function(options) session:semaphore("/s", 1, options) end,
    ["worker_id"] = function(options) session:worker_id("/w", 1, options) end,
    ["group"] = function(options) session:group("/g", options) end,
    ["registry"] = function(options) session:registry("/s", options) end,
    ["register"] = function(options) session:registry("/s"):register("web", options) end,
    ["topic"] = function(options) session:topic("/t", options) end,
    ["keep"] = function(options) session:topic("/t", { keep = options }) end,
    ["publish"] = function(options) session:topic("/t"):publish("x", options) end,
    ["subscribe"] = function(options) session:topic("/t"):subscribe(options) end,
    ["two_phase"] = function(options) session:two_phase("/t", options) end,
    ["serve"] = function(options) session:two_phase("/t"):serve("a", options) end,
    ["partitioner"] = function(options) session:partitioner("/p", {}, options) end,
    ["snowflake"] = function(options) session:snowflake("/w", options) end,
    ["election"] = function(options) session:election("/e", options) end,
    ["queue"] = function(options) session:queue("/q", options) end,
    ["create"] = function(options) session:create("/n", "", options) end,
    ["multi"] = function(options) session:multi { { "create", "/n", "", options } } end,
    ["part of multi"] = function(options) session:multi { options } end,
    ["reconfig"] = function(options) session:reconfig(options) end,
    ["lead"] = function(options) election:lead(nothing, options) end,
    ["every"] = function(options) election:every(1, nothing, options) end,
    ["put"] = function(options) queue:put("x", options) end,
    ["put_all"] = function(options) queue:put_all { options } end,
    ["sim.new"] = function(options) sim.new(options) end,
    ["sim run"] = function(options) world:run(nothing, options) end,
    ["faults"] = function(options) world:faults(options) end,
    ["plan"] = function(options) world:plan(world.zk, "cut", options) end,
    ["acl entry"] = function(options) session:set_acl("/n", { options }) end,
    ["auth entry"] = function(options) zk.session { hosts = "127.0.0.1:1", auth = { options } } end,
  }

  local LISTS = {
    ["hosts"] = function(list) zk.session { hosts = list } end,
    ["auth"] = function(list) zk.session { hosts = "127.0.0.1:1", auth = list } end,
    ["acl"] = function(list) session:set_acl("/n", list) end,
    ["perms"] = function(list) session:set_acl("/n", { { scheme = "world", id = "anyone", perms = list } }) end,
    ["multi"] = function(list) session:multi(list) end,
    ["multilock"] = function(list) session:multilock(list) end,
    ["put_all"] = function(list) queue:put_all(list) end,
    ["put_all, simple"] = function(list) simple:put_all(list) end,
    ["all"] = function(list) zk.all(list) end,
    ["any"] = function(list) zk.any(list) end,
  }

  for name, call in pairs(OPTIONS) do
    it("is refused as options: " .. name, function()
      raises("whose metatable has __index; copy what it inherits into it", function() call(heir { timeout = 5 }) end)
      raises("whose metatable has __pairs", function() call(heir(pairs, "__pairs")) end)
    end)
  end

  for name, call in pairs(LISTS) do
    it("is refused as a list: " .. name, function()
      raises("whose metatable has __index; copy what it inherits into it", function() call(heir { lock }) end)
      raises("whose metatable has __len", function() call(heir(function() return 1 end, "__len")) end)
    end)
  end

  it("is refused by functions that start servers", function()
    assert.error_matches(function() testing.start(heir { tick_time = 500 }) end, "inherits nothing")
  end)

  it("is accepted if its metatable adds nothing", function()
    local options = setmetatable({ data = "x" }, { __name = "options", __tostring = function() return "" end })
    assert.are.equal("/l", session:lock("/l", options).path)
    assert.are.equal("/r", session:rwlock("/r", options).path)
  end)
end)
