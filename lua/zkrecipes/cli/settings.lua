-- Where zkr connects: an option of the command line wins, then the environment, then the file ~/.config/zkr (lines `key = value`).
-- Credentials and passwords come from a file or the environment, never from the command line, because every user of the machine can read
-- that.

local exit = require "zkrecipes.cli.exit"
local problem = require "zkrecipes.cli.problem"

local M = {}

-- The keys of the file.
local NAMES = { "hosts", "timeout", "namespace", "auth_file", "tls", "tls_ca", "tls_cert", "tls_key", "tls_password_file", "tls_name",
  "sasl", "sasl_user", "sasl_password_file", "sasl_keytab" }
local KEYS = {}
for _, name in ipairs(NAMES) do KEYS[name] = true end
M.NAMES = NAMES
local TLS = { ca = "tls_ca", cert = "tls_cert", key = "tls_key", name = "tls_name" }
local ABSENT = { [2] = true, [20] = true } -- ENOENT, ENOTDIR
local DEFAULTS = { hosts = "127.0.0.1:2181", timeout = "10" }

-- An empty value is none.
local function said(value) return value ~= "" and value or nil end

-- nil: without a home there is no file.
local function path_of_file()
  local folder, home = said(os.getenv "XDG_CONFIG_HOME"), said(os.getenv "HOME")
  return folder and folder .. "/zkr" or home and home .. "/.config/zkr"
end

-- The text; or nil, why not (in the words of the system), and the number of the error. A folder can be opened, but not read.
local function text_of(path)
  local file, message, code = io.open(path)
  if not file then return nil, message:sub(#path + 3), code end
  local text
  text, message, code = file:read "a"
  file:close()
  return text, message, code
end

-- Calls fn(line, number) for each line that says something.
local function each_line(text, fn)
  local number = 0
  for line in (text .. "\n"):gmatch "([^\n]*)\n" do
    number = number + 1
    if line:find "%S" and not line:find "^%s*#" then fn(line, number) end
  end
end

-- A file that is there and cannot be read may name other servers than the default: nobody may hold a lock there by mistake.
local function read_file(path)
  local found = {}
  if not path then return found end
  local text, message, code = text_of(path)
  if not text and ABSENT[code] then return found end
  if not text then
    problem.raise(exit.USAGE, ("%s: the configuration cannot be read (%s); repair that, or set XDG_CONFIG_HOME to another folder"):format(
      path, message))
  end
  each_line(text, function(line, number)
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

-- The text of a file that only the user may read. what: its content, for the message.
local function private_text(uv, path, what)
  local stat = uv.fs_stat(path)
  if stat and stat.mode % 64 ~= 0 then
    problem.raise(exit.USAGE, ("%s: other users may read the %s; chmod 600 %s"):format(path, what, path))
  end
  local text, message = text_of(path)
  return text or problem.raise(exit.USAGE, ("%s: the %s cannot be read (%s)"):format(path, what, message))
end

local function credentials(uv, path)
  local found, own = {}, said(os.getenv "ZKR_AUTH")
  if own then found[1] = credential(own, "ZKR_AUTH") end
  if not path then return found end
  each_line(private_text(uv, path, "credentials"), function(line, number)
    found[#found + 1] = credential(line, path .. ":" .. number)
  end)
  return found
end

-- The first line of the file, or what the variable of the environment says.
local function password(uv, path, variable)
  if not path then return said(os.getenv(variable)) end
  local line = private_text(uv, path, "password"):match "^[^\n]*"
  return said(line) or problem.raise(exit.USAGE, path .. ": the password cannot be read (its first line is empty)")
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
