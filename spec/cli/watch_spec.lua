-- zkr watch: the program itself, on a real server.

local cjson = require "cjson"
local env = require "spec.support.env"
local zkr = require "spec.support.zkr"

local _ = zkr.supported and describe("zkr watch", function()
  local namespace, session

  before_each(function()
    namespace = env.namespace()
    session = env.session { namespace = namespace }
    assert(session:connected(200))
  end)

  after_each(function() session:close() end)

  -- Starts it, and waits until the server knows its watches.
  local function start(...)
    local words = { "watch", ... }
    local started = zkr.start(words, { namespace = namespace })
    for _, word in ipairs(words) do
      if word:sub(1, 1) == "/" then
        assert(zkr.eventually(function() return env.server():wchp():find(namespace .. word, 1, true) end))
      end
    end
    return started
  end

  it("prints a line for each event until it is interrupted", function()
    local started = start "/w"
    assert(session:create("/w"))
    assert.are.equal("created /w", started:line())
    assert(session:set("/w", "x"))
    assert.are.equal("changed /w", started:line())
    assert(session:create("/w/child"))
    assert.are.equal("children /w", started:line())
    assert(session:delete_tree("/w"))
    local line
    repeat line = started:line() until line ~= "children /w"
    assert.are.equal("deleted /w", line)
    started:signal "INT"
    assert.is_nil(started:line())
    assert.are.same({ 130, "" }, { started:finish() })
  end)

  it("follows several znodes, ends after a number of lines, prints JSON", function()
    local started = start("--json", "--count", "2", "/a", "/b")
    assert(session:create("/b"))
    local event = cjson.decode(started:line())
    assert.are.same({ "created", "/b" }, { event.event, event.path })
    assert.is_true(math.abs(event.time / 1000 - os.time()) < 600)
    assert(session:create("/a"))
    assert.are.equal("/a", cjson.decode(started:line()).path)
    assert.is_nil(started:line())
    assert.are.same({ 0, "" }, { started:finish() })
  end)
end)
