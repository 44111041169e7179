-- zkr top: a live view of locks, elections, queues and groups.

local activity = require "zkrecipes.cli.activity"
local arguments = require "zkrecipes.cli.arguments"
local format = require "zkrecipes.cli.format"
local needs = require "zkrecipes.cli.needs"
local problem = require "zkrecipes.cli.problem"
local cut = require("zkrecipes.cli.width").cut

local M = { name = "top", group = "Servers", summary = "Watch locks, elections, queues and groups, and who waits." }

M.examples = [[
zkr top                     # q quits
zkr top --interval 10 /services
zkr top --once /locks       # prints one frame
]]

local DEPTH = 6
local WIDTH, HEIGHT = 80, 24 -- of what is no terminal
local TICK = 0.1       -- seconds between two looks at the keyboard, and at the size of the terminal
local OTHERS = 42      -- columns that are not for the path
local SHORTEST = 8     -- of the columns for the path

function M.define(parser)
  parser:description("Show locks (also semaphores and elections), queues and groups, the busiest first. HELD is the number of holders, "
    .. "of claimed items, or of members; WAIT is the number of waiters, or of items. q quits.")
  arguments.path(parser, "Only what is below this znode."):default "/"
  parser:option("--interval", "Seconds between two frames."):argname "S":default "2":convert(arguments.to_seconds)
  parser:option("--depth", "Levels below the znode that are searched."):argname "N":default(tostring(DEPTH)):convert(arguments.to_count)
  parser:flag("--once", "Print one frame and end.")
end

-- ---- A frame: its lines, at most `height`, of at most `width` columns ---------------------------------

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
  for i = 1, math.min(#rows, height - 3) do cells[i + 1] = row_of(rows[i], math.max(width - OTHERS, SHORTEST)) end
  local lines = { cut(title(context, given, rows), width), "" }
  for line in format.columns(cells):gmatch "[^\n]+" do lines[#lines + 1] = cut(line, width) end
  return { table.unpack(lines, 1, height) }
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

-- Width and height.
local function size_of(screen)
  if not screen then return WIDTH, HEIGHT end
  local width, height = screen:get_winsize()
  if not width or width == 0 then return WIDTH, HEIGHT end
  return width, height
end

-- nil: not on a terminal that can be cleared, so frames stand one below the other.
local function open_screen(context)
  if context.uv.guess_handle(1) ~= "tty" or os.getenv "TERM" == "dumb" then return nil end
  return context.uv.new_tty(1, false)
end

local function show(context, lines, screen)
  if not screen then
    context:write(table.concat(lines, "\n") .. "\n\n")
  else
    local term = needs "term"
    term.clear()
    term.cursor.jump(1, 1)
    context:write(table.concat(lines, "\r\n"))
  end
  context:flush()
end

-- What is to be shown: a function of the width and the height. If there is nothing to show now, it says why; the next one may succeed.
local function look(context, given)
  local done, rows = pcall(activity.read, context, given.path, given.depth)
  if done then return function(width, height) return frame(context, given, rows, width, height) end end
  if not problem.is(rows) then error(rows, 0) end
  return function(width) return { cut("zkr: " .. rows.text, width) } end
end

-- Shows it for the interval, or until q is pressed, and again whenever the terminal has got another size.
local function show_for(context, seconds, screen, quit, lines)
  local by, width, height = context.zk.now() + seconds, nil, nil
  repeat
    local columns, rows = size_of(screen)
    if columns ~= width or rows ~= height then
      width, height = columns, rows
      show(context, lines(width, height), screen)
    end
    context.zk.sleep(TICK)
  until quit() or context.zk.now() >= by
end

function M.run(context, given)
  if given.once then
    local rows = activity.read(context, given.path, given.depth)
    return context:write(table.concat(frame(context, given, rows, WIDTH, HEIGHT), "\n") .. "\n")
  end
  context:session()
  local quit, screen = keyboard(context), open_screen(context)
  repeat show_for(context, given.interval, screen, quit, look(context, given)) until quit()
  if screen then context:write "\r\n" end
end

return M
