-- zkr top: a live view of locks, elections, queues and groups.

local activity = require "zkrecipes.cli.activity"
local arguments = require "zkrecipes.cli.arguments"
local format = require "zkrecipes.cli.format"
local needs = require "zkrecipes.cli.needs"
local problem = require "zkrecipes.cli.problem"

local M = { name = "top", group = "Servers", summary = "Watch locks, elections, queues and groups, and who waits." }

M.examples = [[
zkr top                     # q quits
zkr top --interval 10 /services
zkr top --once /locks       # prints one frame
]]

local DEPTH = 6
local TICK = 0.1 -- seconds between two looks at the keyboard

function M.define(parser)
  parser:description("Show locks (also semaphores and elections), queues and groups, the busiest first. HELD is the number of holders, "
    .. "of claimed items, or of members; WAIT is the number of waiters, or of items. q quits.")
  arguments.path(parser, "Only what is below this znode."):default "/"
  parser:option("--interval", "Seconds between two frames."):argname "S":default "2":convert(arguments.to_seconds)
  parser:option("--depth", "Levels below the znode that are searched."):argname "N":default(tostring(DEPTH)):convert(arguments.to_count)
  parser:flag("--once", "Print one frame and end.")
end

-- ---- A frame: its lines, at most `height`, of at most `width` characters ------------------------------

local function cut(text, width)
  if (utf8.len(text) or #text) <= width then return text end
  return text:sub(1, utf8.offset(text, width) - 1) .. "~"
end

local function total(rows, field)
  local sum = 0
  for _, row in ipairs(rows) do sum = sum + row[field] end
  return sum
end

local function title(context, given, rows)
  return ("zkr top %s  on %s  %s  %d paths, %d held, %d waiting"):format(given.path, context:session().server or "no server",
    os.date "%H:%M:%S", #rows, total(rows, "holders"), total(rows, "waiters"))
end

local function row_of(row, path_width)
  return { cut(row.path, path_width), row.kind, row.holders, row.waiters, row.since and format.age(os.time() - row.since) or "-",
    format.line(row.data, 24) }
end

local function frame(context, given, rows, width, height)
  local cells = { { "PATH", "KIND", "HELD", "WAIT", "SINCE", "HOLDER" } }
  for i = 1, math.min(#rows, height - 3) do cells[i + 1] = row_of(rows[i], width - 42) end
  local lines = { cut(title(context, given, rows), width), "" }
  for line in format.columns(cells):gmatch "[^\n]+" do lines[#lines + 1] = cut(line, width) end
  return lines
end

-- ---- The terminal ----------------------------------------------------------------------------------

-- Returns a function that is true after q or Ctrl-C was pressed.
local function keyboard(context)
  local uv, quit = context.uv, false
  if uv.guess_handle(0) == "tty" then
    local tty = uv.new_tty(0, true)
    tty:set_mode(1)
    context:at_end(function() uv.tty_reset_mode() end)
    tty:read_start(function(_, keys) quit = quit or keys == nil or keys:find "[qQ\3]" ~= nil end)
  end
  return function() return quit end
end

local function size(context)
  local screen = context.uv.guess_handle(1) == "tty" and context.uv.new_tty(1, false)
  if not screen then return 80, 24 end
  local width, height = screen:get_winsize()
  if not width or width == 0 then return 80, 24 end
  return width, height
end

local function show(context, lines)
  local term = needs "term"
  term.clear()
  term.cursor.jump(1, 1)
  context:write(table.concat(lines, "\r\n"))
  context:flush()
end

-- A frame, or why there is none now; the next one may succeed.
local function try_frame(context, given)
  local width, height = size(context)
  local done, result = pcall(function()
    return frame(context, given, activity.read(context, given.path, given.depth), width, height)
  end)
  if done then return result end
  if problem.is(result) then return { cut(("zkr: %s"):format(result.text), width) } end
  error(result, 0)
end

function M.run(context, given)
  if given.once then
    local rows = activity.read(context, given.path, given.depth)
    return context:write(table.concat(frame(context, given, rows, 80, 24), "\n") .. "\n")
  end
  context:session()
  local quit = keyboard(context)
  while not quit() do
    show(context, try_frame(context, given))
    local next_frame = context.zk.now() + given.interval
    while not quit() and context.zk.now() < next_frame do context.zk.sleep(TICK) end
  end
  context:write "\r\n"
end

return M
