-- Output for busted: a line for every failure, then a last line "N passed, N failed". A pending
-- spec counts as failed where CI is set: nothing is skipped silently.

local base = require "busted.outputHandlers.base"

return function()
  local busted = require "busted"
  local handler = base()

  local function describe(kind, entry)
    local at, message = entry.trace or {}, entry.message or ""
    if type(message) ~= "string" then
      message = require("pl.pretty").write(message)
    end
    io.write("\n", kind, ": ", entry.name or "?", "\n  ", tostring(at.short_src), ":", tostring(at.currentline),
      "\n  ", (message:gsub("\n", "\n  ")), "\n")
  end

  function handler.fileStart(file)
    io.write(file.name, "\n")
    io.flush()
    return nil, true
  end

  function handler.suiteEnd()
    for _, entry in ipairs(handler.failures) do describe("FAILED", entry) end
    for _, entry in ipairs(handler.errors) do describe("ERROR", entry) end
    for _, entry in ipairs(handler.pendings) do describe("PENDING", entry) end
    local pending = (os.getenv("CI") or "") ~= "" and handler.pendingsCount or 0
    local passed = handler.successesCount
    local failed = handler.failuresCount + handler.errorsCount + pending
    io.write(string.format("\n%d passed, %d failed\n", passed, failed))
    io.flush()
    return nil, true
  end

  busted.subscribe({ "file", "start" }, handler.fileStart)
  busted.subscribe({ "suite", "end" }, handler.suiteEnd)
  return handler
end
