-- The signals that zkr was started with ignored, as by nohup: it does not catch them, and the command that it runs ignores them too.
-- Must be loaded before luv, which ignores SIGPIPE. Without /proc none is known.

local M = { mask = 0 }

local file = io.open "/proc/self/status"
if file then
  M.mask = tonumber(file:read "a":match "SigIgn:%s*(%x+)", 16)
  file:close()
end

function M.has(number) return math.floor(M.mask / 2 ^ (number - 1)) % 2 == 1 end

return M
