-- zkr: reads the command line, loads the one command that it names, and runs it in a coroutine on luv.

require "zkrecipes.cli.closed"

local exit = require "zkrecipes.cli.exit"
local needs = require "zkrecipes.cli.needs"
local output = require "zkrecipes.cli.output"
local parsers = require "zkrecipes.cli.parsers"
local problem = require "zkrecipes.cli.problem"
local new_context = require "zkrecipes.cli.context"

-- The module's own checks of arguments are the command's too.
local function traced(raised)
  if problem.is(raised) then return raised end
  local misuse = problem.misuse(raised)
  if misuse then return problem.new(exit.USAGE, misuse) end
  return debug.traceback(tostring(raised), 2)
end

-- Runs the command to its end. Returns the exit status, and what to report.
local function execute(command, context, arguments)
  local done, status = xpcall(function()
    local status = command.run(context, arguments)
    output.flush()
    return status
  end, traced)
  if done then return status or exit.OK end
  if problem.is(status) then return status.status, status.text end
  return exit.FAILED, "this is a bug in zkr:\n" .. status
end

-- Only the first call counts: at a signal the session is closed, and that ends the command, which would report it.
local function finish(context, status, text)
  if context.finishing then return end
  context.finishing = true
  problem.report(text)
  context:close()
  os.exit(status)
end

local function run(command, arguments)
  local uv = needs "luv"
  local context = new_context(arguments)
  context:on_signal(function(_, number) finish(context, exit.SIGNAL + number) end)
  local prepared, raised = pcall(function() return context.zk end)
  if not prepared then
    problem.report("the module zkrecipes cannot be loaded; build it with `make`, or luarocks install zkrecipes\n" .. tostring(raised))
    os.exit(exit.FAILED)
  end
  context.zk.spawn(function() finish(context, execute(command, context, arguments)) end)
  uv.run()
  problem.report "this is a bug in zkr: the command waits for nothing"
  os.exit(exit.FAILED)
end

return function(words)
  local loaded, command, arguments = xpcall(parsers.parse, traced, words)
  if loaded then return run(command, arguments) end
  if problem.is(command) then problem.exit(command) end
  -- Ctrl-C, before luv has handlers.
  if command:find "interrupted!" then os.exit(exit.SIGNAL + 2) end
  error(command, 0)
end
