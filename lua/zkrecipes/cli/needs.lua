-- Loads a library that only the command needs. If it is missing, says which package has it.

local exit = require "zkrecipes.cli.exit"

local PACKAGES = {
  argparse = { "lua-argparse", "argparse" },
  cjson = { "lua-cjson", "lua-cjson" },
  mime = { "lua-socket", "luasocket" }, -- base64
  luv = { "lua-luv", "luv" },
  term = { "lua-term", "lua-term" },
}

return function(name)
  local found, library = pcall(require, name)
  if found then return library end
  local package = PACKAGES[name]
  io.stderr:write(("zkr: the Lua library '%s' is missing; apt-get install %s, or luarocks install %s\n"):format(name, package[1],
    package[2]))
  os.exit(exit.FAILED)
end
