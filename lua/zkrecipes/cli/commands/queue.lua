-- zkr queue: puts items into a queue, takes them, and works on them.

local arguments = require "zkrecipes.cli.arguments"
local exit = require "zkrecipes.cli.exit"
local input = require "zkrecipes.cli.input"
local parts = require "zkrecipes.cli.parts"

local M = { name = "queue", group = "Recipes", summary = "Put items into a queue, take them, or run a command for each." }

M.examples = [[
zkr queue put /jobs 'resize 17.png'
zkr queue put /jobs --lines <jobs.txt
zkr queue put /jobs --id nightly --delay 3600 -- report
zkr queue take /jobs --try || echo "empty"
zkr queue work /jobs -j 4 -- ./job.sh        # the item is its standard input
]]

local function queue_of(context, given, options)
  return context:check(given.path, context:session { guardian = true }:queue(given.path, options))
end

-- ---- put ---------------------------------------------------------------------------------------

local put = { "put", "Put an item. Exit status 0: it is in the queue." }

function put.define(parser)
  arguments.path(parser, "The queue.")
  parser:argument("data", "The item; '-' or omitted: standard input."):args "?"
  parser:option("--priority", "0 to 65535; lower numbers first."):argname "N":convert(arguments.to_count)
  parser:option("--delay", "Seconds until it can be taken."):argname "S":convert(arguments.to_seconds)
  parser:option("--id", "Put nothing while an item with this id is queued, or was done a minute ago.")
  parser:flag("--lines", "Each line of standard input that is not empty is an item.")
end

local function put_lines(context, given, queue)
  local list = {}
  for line in input.all(context):gmatch "[^\n]+" do list[#list + 1] = { data = line, priority = given.priority, delay = given.delay } end
  if #list > 0 then context:check(given.path, queue:put_all(list)) end
end

function put.run(context, given)
  local queue = queue_of(context, given)
  if given.lines then
    if given.data or given.id then context:fail(exit.USAGE, "--lines reads the items from standard input, and they have no id") end
    return put_lines(context, given, queue)
  end
  local data = given.data
  if not data or data == "-" then data = input.all(context) end
  local _, known = context:check(given.path, queue:put(data, { priority = given.priority, delay = given.delay, id = given.id }))
  if known then context:note(given.path .. ": the id is known, so nothing was put") end
end

-- ---- take --------------------------------------------------------------------------------------

local take = { "take", "Print the next item and remove it. It is removed after it was printed." }

function take.define(parser)
  arguments.path(parser, "The queue.")
  arguments.patience(parser)
end

function take.run(context, given)
  local queue = queue_of(context, given)
  context:tell_outages()
  local item, message, code = queue:claim(arguments.limit(given))
  if code == "timeout" then context:fail(exit.LATE, given.path .. ": no item") end
  context:check(given.path, item, message, code)
  context:write_data(item.data)
  context:flush()
  context:check(given.path, item:ack())
end

-- ---- work --------------------------------------------------------------------------------------

local work = { "work", "Run a command for each item, with the item as its standard input. Status 0 removes it, any other returns it." }

function work.define(parser)
  arguments.path(parser, "The queue.")
  parser:argument("command", "The command and its arguments, after `--`."):args "+"
  parser:option("-j --jobs", "So many at once.", "1"):argname "N":convert(arguments.to_count):target "n"
  parser:option("--attempts", "After so many the item is a dead letter.", "5"):argname "N":convert(arguments.to_count)
  parser:option("--retry", "Seconds until a failed item comes again."):argname "S":convert(arguments.to_seconds)
  parser:flag("--drain", "End when the queue is empty; status 1 if a command has failed.")
end

function work.run(context, given)
  if given.n < 1 then context:fail(exit.USAGE, "-j is at least 1") end
  local queue = queue_of(context, given, { attempts = given.attempts })
  return require("zkrecipes.cli.work").run(context, queue, given)
end

local PARTS = { put, take, work }

function M.define(parser)
  parser:description "Items survive until they are done: an item whose worker dies comes back. See `zkr queue PART --help`."
  parts.define(parser, PARTS)
end

function M.run(context, given) return parts.run(context, given, PARTS) end

return M
