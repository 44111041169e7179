-- Where zkr connects: an option of the command line wins, then the environment, then the file ~/.config/zkr (lines `key = value`).
-- Credentials and passwords come from a file or the environment, never from the command line, because every user of the machine can read
-- that.

local exit = require "zkrecipes.cli.exit"
local problem = require "zkrecipes.cli.problem"

local M = {}

local NAMES = { "hosts", "timeout", "namespace", "auth_file", "tls", "tls_ca", "tls_cert", "tls_key", "tls_password_file", "tls_name",
  "sasl", "sasl_user", "sasl_password_file", "sasl_keytab" }
local KEYS = {}
for _, name in ipairs(NAMES) do KEYS[name] = true end
local TLS = { ca = "tls_ca", cert = "tls_cert", key = "tls_key", name = "tls_name" }
local DEFAULTS = { hosts = "127.0.0.1:2181", timeout = "10" }

-- An empty value is none.
local function said(value) return value ~= "" and value or nil end

local function path_of_file()
  local folder = os.getenv "XDG_CONFIG_HOME"
  if not folder or folder == "" then folder = (os.getenv "HOME" or "") .. "/.config" end
  return folder .. "/zkr"
end

-- Calls fn(line, number) for each line that says something. Returns nil if there is no such file.
local function each_line(path, fn)
  local file = io.open(path)
  if not file then return nil end
  local number = 0
  for line in file:lines() do
    number = number + 1
    if line:find "%S" and not line:find "^%s*#" then fn(line, number) end
  end
  file:close()
  return true
end

local function read_file(path)
  local found = {}
  each_line(path, function(line, number)
    local key, value = line:match "^%s*([%w_]+)%s*=%s*(.-)%s*$"
    if not KEYS[key] then
      problem.raise(exit.USAGE, ("%s:%d: not a setting; write `key = value`, with one of %s"):format(path, number,
        table.concat(NAMES, ", ")))
    end
    found[key] = value
  end)
  return found
end

local function credential(line, where)
  local scheme, value = line:match "^%s*(%S+)%s+(.-)%s*$"
  if not scheme or value == "" then
    problem.raise(exit.USAGE, where .. ": not a credential; write `digest USER:PASSWORD`")
  end
  return { scheme = scheme, credential = value }
end

-- Raises a problem unless only the user may read the file. what: its content, for the message.
local function check_private(uv, file, what)
  local stat, message = uv.fs_stat(file)
  if not stat then problem.raise(exit.USAGE, ("%s: the %s cannot be read (%s)"):format(file, what, message)) end
  if stat.mode % 64 ~= 0 then
    problem.raise(exit.USAGE, ("%s: other users may read the %s; chmod 600 %s"):format(file, what, file))
  end
end

local function credentials(uv, file)
  local found = {}
  local own = os.getenv "ZKR_AUTH"
  if own then found[1] = credential(own, "ZKR_AUTH") end
  if not file then return found end
  check_private(uv, file, "credentials")
  if not each_line(file, function(line, number) found[#found + 1] = credential(line, file .. ":" .. number) end) then
    problem.raise(exit.USAGE, file .. ": the credentials cannot be read")
  end
  return found
end

-- The first line of the file, or what the variable of the environment says.
local function password(uv, path, variable)
  if not path then return said(os.getenv(variable)) end
  check_private(uv, path, "password")
  local file = io.open(path)
  local line = file and file:read "l"
  if file then file:close() end
  return line or problem.raise(exit.USAGE, path .. ": the password cannot be read")
end

-- The option `tls` of a session.
local function tls(uv, setting)
  local wanted, options, some = setting "tls", {}, false
  if wanted ~= nil and wanted ~= "yes" and wanted ~= "no" then
    problem.raise(exit.USAGE, ("tls is '%s'; say yes or no"):format(wanted))
  end
  for option, key in pairs(TLS) do
    options[option] = setting(key)
    some = some or options[option] ~= nil
  end
  if wanted == "no" or not wanted and not some then return false end
  options.password = password(uv, setting "tls_password_file", "ZKR_TLS_PASSWORD")
  return options
end

-- The option `sasl` of a session.
local function sasl(uv, setting)
  local mechanism, user, keytab = setting "sasl", setting "sasl_user", setting "sasl_keytab"
  local secret = password(uv, setting "sasl_password_file", "ZKR_SASL_PASSWORD")
  if mechanism == "no" or not (mechanism or user or keytab or secret) then return nil end
  if not mechanism then problem.raise(exit.USAGE, "sasl is missing; say sasl = DIGEST-MD5, or GSSAPI") end
  return { mechanism = mechanism, user = user, password = secret, keytab = keytab }
end

-- Returns hosts, timeout, namespace, auth, tls and sasl, from the options of the command line and all other places.
function M.read(uv, options)
  local file = read_file(path_of_file())
  local function setting(key)
    return said(options[key]) or said(os.getenv("ZKR_" .. key:upper())) or said(file[key]) or DEFAULTS[key]
  end
  local timeout = tonumber(setting "timeout")
  if not timeout or timeout <= 0 or timeout > 3600 then
    problem.raise(exit.USAGE, ("the timeout is '%s'; give seconds, for example 10"):format(setting "timeout"))
  end
  return { hosts = setting "hosts", timeout = timeout, namespace = setting "namespace", auth = credentials(uv, setting "auth_file"),
    tls = tls(uv, setting), sasl = sasl(uv, setting) }
end

return M
