-- zk.escape of every byte, of every pair of bytes, and of many other names. Needs no session.
-- Tags: sanitize, one thread

local escaped_names = require "spec.support.escaped"

local SPECIAL, check, random_names = escaped_names.SPECIAL, escaped_names.check, escaped_names.random_names

describe("zk.escape", function()
  it("accepts every byte and every pair of bytes, and gives different results for different names", function()
    local seen, count = {}, 0
    local function add(name)
      local escaped = check(name)
      if (seen[escaped] or name) ~= name then error(("%q and %q are both %q"):format(name, seen[escaped], escaped)) end
      seen[escaped], count = name, count + 1
    end
    for _, name in ipairs(SPECIAL) do add(name) end
    for first = 0, 255 do
      add(string.char(first))
      for second = 0, 255 do add(string.char(first, second)) end
    end
    for _, name in ipairs(random_names(1, 20000)) do add(name) end
    assert.is_true(count > 85000)
  end)
end)
