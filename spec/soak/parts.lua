-- What rounds are made of.

local M = {}

M.SOON = 0.02 -- seconds: a few round trips, and less than any hold lasts

function M.fails(code, ok, message, got)
  if ok or got ~= code then error(("%s expected, got %s: %s"):format(code, tostring(got or ok), tostring(message)), 2) end
end

-- The first contender holds, and two wait for it. The third one waits in vain.
function M.hand_off(zk, acquire_one, acquire_other, acquire_third, release)
  local first = assert(acquire_one(10))
  local other = zk.spawn(function()
    local second = assert(acquire_other(10))
    zk.sleep(M.SOON)
    release(second)
  end)
  zk.sleep(M.SOON)
  M.fails("timeout", acquire_third(M.SOON))
  release(first)
  assert(other:wait() == nil or other.ok, "the other failed")
end

function M.let_go(hold) hold:release() end

-- Runs fn(i) in n coroutines at once. None may fail.
function M.together(zk, n, fn)
  local tasks = {}
  for i = 1, n do tasks[i] = zk.spawn(function() return fn(i) end) end
  for i = 1, n do assert(tasks[i]:wait()) end
end

return M
