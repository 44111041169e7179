-- Output for busted: a line for every failure, the slowest files, then a last line "N passed, N failed". If CI is set, a pending
-- spec counts as failed, so that nothing is skipped silently.

local base = require "busted.outputHandlers.base"
local system = require "system"

local SLOWEST = 10

-- The seconds that each file took, and the CPU seconds of this process (not of its servers).
local files = {}

local function begin_file(name)
  files[#files + 1] = { name = name, began = system.monotime(), clock = os.clock() }
end

local function end_file()
  local file = files[#files]
  file.took, file.clock = system.monotime() - file.began, os.clock() - file.clock
end

-- Busted keeps every spec's function to the end, and with it the modules of its file. Without this, a spec that collects garbage
-- would traverse the modules of all earlier files.
local function forget(busted, element)
  for _, child in ipairs(busted.children(element)) do
    forget(busted, child)
    child.run = nil
  end
  element.env = nil
end

local function tell_slowest()
  table.sort(files, function(a, b) return a.took > b.took end)
  io.write("\nslowest:      took  busy\n")
  for i = 1, math.min(SLOWEST, #files) do
    io.write(("          %6.0f s %3.0f s  %s\n"):format(files[i].took, files[i].clock, files[i].name))
  end
end

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
    begin_file(file.name)
    io.write(file.name, "\n")
    io.flush()
    return nil, true
  end

  function handler.fileEnd(file)
    end_file()
    forget(busted, file)
    if jit then jit.flush() end -- compiled code keeps the objects that it used
    collectgarbage()
    return nil, true
  end

  function handler.suiteEnd()
    for _, entry in ipairs(handler.failures) do describe("FAILED", entry) end
    for _, entry in ipairs(handler.errors) do describe("ERROR", entry) end
    for _, entry in ipairs(handler.pendings) do describe("PENDING", entry) end
    if #files > 1 then tell_slowest() end
    local pending = (os.getenv("CI") or "") ~= "" and handler.pendingsCount or 0
    local passed = handler.successesCount
    local failed = handler.failuresCount + handler.errorsCount + pending
    io.write(string.format("\n%d passed, %d failed\n", passed, failed))
    io.flush()
    return nil, true
  end

  busted.subscribe({ "file", "start" }, handler.fileStart)
  busted.subscribe({ "file", "end" }, handler.fileEnd)
  busted.subscribe({ "suite", "end" }, handler.suiteEnd)
  return handler
end
