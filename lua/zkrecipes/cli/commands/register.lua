-- zkr register: a service that others find while it runs.

local arguments = require "zkrecipes.cli.arguments"
local exit = require "zkrecipes.cli.exit"
local present = require "zkrecipes.cli.present"

local M = { name = "register", group = "Recipes", summary = "Register an instance of a service while a command runs." }

M.examples = [[
zkr register web 10.0.0.7 8080 -- ./server --port 8080
zkr register web 10.0.0.7 8080 --weight 2 --meta '{"zone":"a"}' -- ./server
]]

function M.define(parser)
  parser:description [[Programs find it with registry:pick, nginx with its balancer, Java programs with Curator's service discovery.
At SIGTERM zkr takes the instance back, then passes the signal to the command.]]
  parser:argument("name", "The service.")
  parser:argument("address", "Where the instance is reached; an IP address for nginx.")
  parser:argument("port", "Its port."):convert(arguments.to_count)
  parser:argument("command", "The command and its arguments, after `--`."):args "+"
  parser:option("--path", "The registry.", "/services"):convert(arguments.to_path)
  parser:option("--id", "The instance's id; default: a random one.")
  parser:option("--weight", "For a choice by weight.", "1"):argname "W":convert(tonumber)
  parser:option("--meta", "Further data, as JSON."):argname "JSON"
end

local function meta_of(context, given)
  if not given.meta then return nil end
  local decoded, value = pcall(context.json.decode, given.meta)
  if not decoded then context:fail(exit.USAGE, "--meta is no JSON: " .. value) end
  return value
end

function M.run(context, given)
  local meta = meta_of(context, given)
  local registry = context:check(given.path, context:session { guardian = true }:registry(given.path, { names = { given.name } }))
  local registered = context:check(given.path, registry:register(given.name, { address = given.address, port = given.port,
    id = given.id, weight = given.weight, meta = meta }))
  context:check(given.path, registered:ready(context.settings.timeout))
  return present.run(context, given, registered)
end

return M
