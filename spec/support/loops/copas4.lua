-- The same of copas 4: of the copy that is kept here, or of the one in $ZR_COPAS. What has required copas in this file of
-- specs keeps it.

local folder, path = os.getenv("ZR_COPAS") or "spec/support/vendor/copas4", package.path
package.path = folder .. "/?.lua;" .. folder .. "/?/init.lua;" .. path
local M = require "spec.support.loops.copas"
require "copas.semaphore" -- copas would look for it later
package.path = path

M.adapter = "copas"
return M
