-- The parsers of the command line. `parse` defines only the command that is named, so that zkr starts fast.

local exit = require "zkrecipes.cli.exit"
local list = require "zkrecipes.cli.list"
local needs = require "zkrecipes.cli.needs"
local output = require "zkrecipes.cli.output"
local problem = require "zkrecipes.cli.problem"
local settings = require "zkrecipes.cli.settings"

local M = {}

local WIDTH = 80

M.ENVIRONMENT = {
  { "ZKR_HOSTS, ZKR_TIMEOUT, ZKR_NAMESPACE", "The same as the options --servers, --timeout and --namespace, which win." },
  { "ZKR_AUTH_FILE", "A file with credentials: lines like `digest USER:PASSWORD`. Only its owner may have permissions for it." },
  { "ZKR_AUTH", "One such line." },
  { "ZKR_TLS", "yes: encrypt the connection; no: do not. Default: yes, if one of the next is given." },
  { "ZKR_TLS_CA, ZKR_TLS_CERT, ZKR_TLS_KEY", "Files in PEM form: the CAs to trust (default: the system's), our certificate, its key." },
  { "ZKR_TLS_NAME", "The name that every server has to prove; default: its name in ZKR_HOSTS." },
  { "ZKR_TLS_PASSWORD_FILE, ZKR_TLS_PASSWORD", "The password of the key: a file that only its owner may read, or the password itself." },
  { "ZKR_SASL", "DIGEST-MD5 or GSSAPI (Kerberos): how user and servers prove who they are; no: they do not." },
  { "ZKR_SASL_USER, ZKR_SASL_KEYTAB", "The user, and for GSSAPI a file with its keys." },
  { "ZKR_SASL_PASSWORD_FILE, ZKR_SASL_PASSWORD", "The user's password: a file that only its owner may read, or the password itself." },
}
M.FILE = "Lines `KEY = VALUE`. The keys are the variables' names in lower case, without ZKR_: " .. table.concat(settings.NAMES, ", ")
  .. ". Options and the environment win. If XDG_CONFIG_HOME is set, the file is in that folder."

-- The options of zkr that take a value.
local VALUED = { ["-s"] = true, ["--servers"] = true, ["--timeout"] = true, ["--namespace"] = true }

-- Puts the examples at the end of the command's help. An epilog of argparse would be wrapped, and could not be copied.
local function show_examples(parser, examples)
  local get_help = parser.get_help
  function parser.get_help(...)
    return get_help(...) .. "\n\nExamples:\n" .. examples:gsub("%s+$", ""):gsub("[^\n]+", "   %0")
  end
end

local function new_root()
  local root = needs "argparse"("zkr", "ZooKeeper from the command line: locks, elections, queues, and plain znodes.")
  output.help(root)
  root:option("-s --servers", "host:port,host:port/chroot (ZKR_HOSTS)."):argname "HOSTS":target "hosts"
  root:option("--timeout", "The session's timeout, and how long to wait for a server, in seconds (ZKR_TIMEOUT)."):argname "T"
  root:option("--namespace", "Put this in front of every path (ZKR_NAMESPACE)."):argname "N"
  root:flag("--version", "Print the version and exit."):action(function()
    output.show("zkr " .. require("zkrecipes")._VERSION)
  end)
  return root:usage_max_width(WIDTH):help_max_width(WIDTH):command_target "command"
end

local function add(root, name, command)
  local parser = output.help(root:command(name, command.summary)):summary(command.summary)
  command.define(parser)
  show_examples(parser, command.examples)
  return parser
end

function M.load(name)
  return require("zkrecipes.cli.commands." .. name)
end

-- A parser with all commands; for help, completion and man pages.
function M.all()
  local root, groups = new_root(), {}
  for _, name in ipairs(list) do
    local command = M.load(name)
    local parser = add(root, name, command)
    if not groups[command.group] then
      groups[command.group] = {}
      groups[#groups + 1] = command.group
    end
    table.insert(groups[command.group], parser)
  end
  for _, group in ipairs(groups) do root:group(group, table.unpack(groups[group])) end
  return root:epilog "`zkr COMMAND --help` shows the options of a command, and examples."
end

-- The first word that is neither an option of zkr nor its value.
local function name_in(words)
  local i = 1
  while words[i] and words[i]:sub(1, 1) == "-" do
    i = i + (VALUED[words[i]] and 2 or 1)
  end
  for _, name in ipairs(list) do
    if name == words[i] then return name end
  end
end

-- Returns the command and its arguments. Raises a problem if the words are wrong.
function M.parse(words)
  local name = name_in(words)
  local root = name and new_root() or M.all()
  local command = name and M.load(name)
  if name then add(root, name, command) end
  local parsed, result = root:pparse(words)
  if not parsed then
    problem.raise(exit.USAGE, ("%s; see `zkr %s--help`"):format((result:gsub("\nDid(.*)", " (did%1)")), name and name .. " " or ""))
  end
  return command, result
end

return M
