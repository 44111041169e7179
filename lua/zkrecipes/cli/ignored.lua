-- The signals that zkr was started with ignored, as by nohup: it does not catch them, and the command that it runs ignores them too.
-- Must be loaded before luv, which ignores SIGPIPE.

local M = { mask = 0 }

for line in io.lines "/proc/self/status" do
  local digits = line:match "^SigIgn:%s*(%x+)"
  if digits then M.mask = tonumber(digits, 16) end
end

function M.has(number) return math.floor(M.mask / 2 ^ (number - 1)) % 2 == 1 end

return M
