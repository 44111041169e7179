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
  parser:option("--meta", "Further data, as JSON, which is kept as it is."):argname "JSON"
end

-- What is wrong with a text that should be JSON, or nil. lua-cjson lets more pass than other programs. The gsub takes the quotes out of
-- strings.
local function problem_of(context, text)
  local decoded, value = pcall(context.json.decode, text)
  if not decoded then return value end
  if not utf8.len(text) then return "it is not UTF-8" end
  for inside in text:gsub("\\.", ""):gmatch '"([^"]*)"' do
    if inside:find "[\0-\31]" then return "a string has a control character; write it as an escape such as \\n" end
  end
end

-- The text is registered as it is: a decoder would change empty lists and large numbers.
local function check_meta(context, text)
  local wrong = text and problem_of(context, text)
  if wrong then context:fail(exit.USAGE, "--meta is no JSON: " .. wrong) end
end

function M.run(context, given)
  check_meta(context, given.meta)
  local registry = context:check(given.path, context:session { guardian = true }:registry(given.path, { names = { given.name } }))
  local registered = context:check(given.path, registry:register(given.name, { address = given.address, port = given.port,
    id = given.id, weight = given.weight, meta_json = given.meta }))
  context:check(given.path, registered:ready(context.settings.timeout))
  return present.run(context, given, registered)
end

return M
