-- The loop of copas 4: a double of it, or the real one in the folder $ZR_COPAS. Modules that this spec file has already
-- loaded keep their copas.

local folder, path = os.getenv("ZR_COPAS"), package.path
package.path = (folder or "spec/support/copas4") .. "/?.lua;" .. path
local M = require "spec.support.loops.copas"
if folder then require "copas.semaphore" end -- copas would look for it later
package.path = path

M.adapter = "copas"
return M
