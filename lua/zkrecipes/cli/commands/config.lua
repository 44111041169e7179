-- zkr config: reads, writes and follows a value.

local arguments = require "zkrecipes.cli.arguments"
local exit = require "zkrecipes.cli.exit"
local input = require "zkrecipes.cli.input"
local jobs = require "zkrecipes.cli.job"
local parts = require "zkrecipes.cli.parts"
local signals = require "zkrecipes.cli.signals"

local M = { name = "config", group = "Recipes", summary = "Read, write or follow a value." }

M.examples = [[
zkr config get /conf/limits
zkr config set /conf/limits - <limits.json
zkr config watch /conf/limits -- sh -c 'cat >limits.json && systemctl reload app'
]]

local function config_of(context, given)
  return context:check(given.path, context:session():config(given.path))
end

local get = { "get", "Print the value. Status 1: there is none." }
function get.define(parser) arguments.path(parser, "The value.") end

function get.run(context, given)
  local config = config_of(context, given)
  context:check(given.path, config:ready(context.settings.timeout))
  local value = config:get()
  if value == nil then context:fail(exit.NO, given.path .. ": there is no value") end
  context:write_data(value)
end

local set = { "set", "Write the value, exactly once, also when an answer is lost." }

function set.define(parser)
  arguments.path(parser, "The value; missing parents are made.")
  parser:argument("value", "The value; '-': standard input.")
  parser:option("--version", "Only if it has this version."):argname "V":convert(arguments.to_count)
end

function set.run(context, given)
  local value = given.value
  if value == "-" then value = input.all(context) end
  context:check(given.path, config_of(context, given):set(value, given.version, { timeout = context.settings.timeout }))
end

local watch = { "watch", "Print the value, and again after each change; or run a command with the value as its standard input." }

function watch.define(parser)
  arguments.path(parser, "The value; it need not exist yet.")
  parser:argument("command", "The command and its arguments, after `--`. What changes while it runs is one change."):args "*"
end

-- Returns a function that runs the command with a value. A failure is noted, and the next change comes. After a signal that asks to end,
-- the function returns the status with which zkr ends.
local function applier(context, given)
  local signaled
  local relay = signals.relay(context, function(_, number, ends) signaled = ends and number or signaled end)
  return function(value, stat)
    local status = jobs.start(context, relay, given.command, { ZKR_PATH = given.path,
      ZKR_VERSION = ("%d"):format(stat and stat.version or -1) }, value or ""):wait()
    if signaled then return exit.SIGNAL + signaled end
    if status ~= exit.OK then context:note(("%s: the command ended with status %d"):format(given.path, status)) end
  end
end

function watch.run(context, given)
  local config = config_of(context, given)
  local changes = config:changes()
  local function print_value(value)
    context:write((value or "") .. "\n")
    context:flush()
  end
  local use = #given.command > 0 and applier(context, given) or print_value
  context:tell_outages()
  while true do
    local value, stat, code = changes:next()
    context:check(given.path, value, stat, code)
    local ended = use(value, stat)
    if ended then return ended end
  end
end

local PARTS = { get, set, watch }

function M.define(parser)
  parser:description "A value that programs follow with session:config, and operators change."
  parts.define(parser, PARTS)
end

function M.run(context, given) return parts.run(context, given, PARTS) end

return M
