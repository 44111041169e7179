-- zkr completion: prints what a shell needs to complete commands and options of zkr.

local M = { name = "completion", group = "Zkr itself", summary = "Print the completion for bash, zsh or fish." }

M.examples = [[
zkr completion bash >/etc/bash_completion.d/zkr
zkr completion zsh >/usr/local/share/zsh/site-functions/_zkr
zkr completion fish >~/.config/fish/completions/zkr.fish
]]

function M.define(parser)
  parser:argument("shell", "The shell."):choices { "bash", "zsh", "fish" }
end

function M.run(context, given)
  local root = require("zkrecipes.cli.parsers").all()
  context:write(root["get_" .. given.shell .. "_complete"](root))
end

return M
