-- Runs the program zkr, as a shell would, against the server of the specs.

local env = require "spec.support.env"
local process = require "spec.support.process"

local M = {}

-- zkr runs on Lua 5.4 alone, so its specs are for this interpreter, on the plain build.
M.supported = _VERSION == "Lua 5.4"

local LIMIT = 300 -- seconds after which a program is killed; it takes far less even on a busy machine

function M.quote(word)
  return "'" .. tostring(word):gsub("'", "'\\''") .. "'"
end

local function file_with(text)
  local path = os.tmpname()
  local file = assert(io.open(path, "wb"))
  file:write(text or "")
  file:close()
  return path
end

---A folder with files that only the user may read: `path`, `write(name, text)`, which returns the file's path, and `remove()`.
function M.folder()
  local folder = { path = process.output "mktemp -d" }
  function folder.write(name, text)
    local path = folder.path .. "/" .. name
    local file = assert(io.open(path, "w"))
    file:write(text)
    file:close()
    os.execute("chmod 600 " .. path)
    return path
  end
  function folder.remove() os.execute("rm -r " .. folder.path) end
  return folder
end

local function content(path)
  local file = assert(io.open(path, "rb"))
  local text = file:read("a")
  file:close()
  os.remove(path)
  return text
end

-- The command of the shell. options: hosts, namespace, env (further variables; they win).
local function command_of(words, options)
  local all = { HOME = "/nonexistent", XDG_CONFIG_HOME = "", TZ = "UTC", ZKR_HOSTS = options.hosts or env.server().hosts,
    ZKR_TIMEOUT = "60", ZKR_NAMESPACE = options.namespace or "" }
  for name, value in pairs(options.env or {}) do all[name] = value end
  local parts = { "timeout", "-s", "KILL", "--foreground", LIMIT, "env" }
  for name, value in pairs(all) do parts[#parts + 1] = M.quote(name .. "=" .. value) end
  for _, part in ipairs(options.before or {}) do parts[#parts + 1] = M.quote(part) end
  parts[#parts + 1] = "bin/zkr"
  for _, word in ipairs(words) do parts[#parts + 1] = M.quote(word) end
  return table.concat(parts, " ")
end
M.command_of = command_of

---Runs it to its end. options: as above, and input (default: empty).
---@return string out, integer status, string err
function M.run(words, options)
  options = options or {}
  local input, out, err = file_with(options.input), os.tmpname(), os.tmpname()
  local _, how, code = os.execute(("%s <%s >%s 2>%s"):format(command_of(words, options), input, out, err))
  os.remove(input)
  return content(out), how == "signal" and 128 + code or code, content(err)
end

-- Returns a function that runs a line in bash, where `zkr` is the program, and returns all that it prints, as whole lines: on a terminal
-- zkr ends the last line of the data.
function M.shell(options)
  local program = command_of({}, options)
  return function(line)
    local script = file_with(("zkr() { %s \"$@\"; }\n%s\n"):format(program, line))
    local pipe = assert(io.popen(("bash %s 2>&1 </dev/null"):format(script)))
    local shown = pipe:read "a"
    pipe:close()
    os.remove(script)
    return shown:gsub("[^\n]$", "%0\n")
  end
end

---The commands in a block of a page, `$ COMMAND`, each with the output that it must have.
---@return { text: string, output: string }[]
function M.commands_of(block)
  local commands = {}
  for line in block:gmatch "([^\n]*)\n" do
    local command = line:match "^%$ (.*)$"
    if command then
      commands[#commands + 1] = { text = command, output = "" }
    else
      commands[#commands].output = commands[#commands].output .. line .. "\n"
    end
  end
  return commands
end

local Started = {}
Started.__index = Started

---Starts it in the background.
function M.start(words, options)
  options = options or {}
  options.before = { "sh", "-c", 'echo $$; exec "$@"', "sh" }
  local err = os.tmpname()
  local self = setmetatable({ err = err }, Started)
  self.pipe = assert(io.popen(("%s 2>%s </dev/null"):format(command_of(words, options), err)))
  self.pid = assert(self.pipe:read("l"))
  return self
end

-- The next line of its output; nil at its end.
function Started:line() return self.pipe:read("l") end

function Started:signal(name) os.execute(("kill -%s %s"):format(name, self.pid)) end

-- For programs that a failed test has left: they would never end.
function Started:kill()
  if not self.finished then self:signal "KILL" end
end

-- Waits until it has ended. Returns its exit status, and its standard error.
function Started:finish()
  self.finished = true
  local _, how, code = self.pipe:close()
  return how == "signal" and 128 + code or code, content(self.err)
end

---Types the answer on a terminal, when the program has asked for it. Returns what the terminal showed, and the exit status.
function M.on_terminal(words, answer, options)
  local path = file_with(command_of(words, options or {}))
  local _, how, code = os.execute(("printf '%%s\\n' %s | script -qec 'sh %s' /dev/null >%s.out 2>&1"):format(M.quote(answer), path, path))
  os.remove(path)
  return content(path .. ".out"), how == "signal" and 128 + code or code
end

M.eventually = process.eventually

local kept = {}

---Keeps a server or a pipe until finish_all.
function M.keep(thing)
  kept[#kept + 1] = thing
  return thing
end

---Stops or closes what was kept. For after_each.
function M.finish_all()
  for _, thing in ipairs(kept) do (thing.stop or thing.close)(thing) end
  kept = {}
end

return M
