-- Standard output. If it cannot be written, because the disk is full for example, the command fails: a problem is raised.

local exit = require "zkrecipes.cli.exit"
local problem = require "zkrecipes.cli.problem"

local M = {}

-- luv ignores SIGPIPE, so a closed pipe is an error here. The command then ends silently, as if the signal had ended it.
local function check(done, message, number)
  if done then return end
  if number == 32 then problem.raise(exit.SIGNAL + 13) end
  problem.raise(exit.FAILED, "standard output: " .. message)
end

function M.write(text) check(io.stdout:write(text)) end

-- What was written may fail only now.
function M.flush() check(io.stdout:flush()) end

-- Prints the text and ends the program; for options that say something about zkr. Does not raise, because argparse, which calls it, makes
-- strings of what is raised.
function M.show(text)
  local shown, raised = pcall(function()
    M.write(text .. "\n")
    M.flush()
  end)
  if not shown then problem.exit(raised) end
  os.exit(exit.OK)
end

-- Makes the parser's --help end so.
function M.help(parser)
  return parser:add_help { action = function() M.show(parser:get_help()) end }
end

return M
