-- What a command works with.
--
--   context.zk  context.uv          the module on luv, and luv
--   context.settings                hosts, timeout, namespace, auth, tls, sasl
--   context:session([options])      the session, connected; the first call opens it, with further options of zk.session
--   context:open([options])         the same, but does not wait until it is connected
--   context:tell_outages()          notes when no server answers any more, and when one does again; for commands that outlast that
--   context:check(path, ...)        returns what the module returned; raises a problem if that is a failure (a third value)
--   context:fail(status, text)      ends the command: zkr prints `zkr: TEXT` and exits with the status (exit.lua)
--   context:write(text)             to standard output, any bytes
--   context:write_data(data)        the same; on a terminal the line is ended after it
--   context:flush()                 makes the reader of a pipe see what was written; for commands that run on
--   context:print_json(value, keys) one line of JSON; keys: an object's keys, in order
--   context:note(text)              `zkr: TEXT` on standard error; the command continues
--   context:ask(text)               the same without the end of the line; input.lua reads the answer
--   context:on_signal(fn [, more])  fn(name, number) runs in a coroutine at INT, TERM, HUP, and the signals of `more` (name > number),
--                                   unless zkr was started with it ignored; by default zkr closes the session and ends. Returns a
--                                   function that undoes it, and the `fn` before. Commands that run a command: signals.lua
--   context:suffer(name, number)    sends the signal to zkr's process group, and lets it have its default effect on zkr
--   context:at_end(fn)              fn() is called when zkr ends, also at a signal
--   context:close()                 closes the session; called at the end too

local clean = require "zkrecipes.cli.clean"
local exit = require "zkrecipes.cli.exit"
local ignored = require "zkrecipes.cli.ignored"
local needs = require "zkrecipes.cli.needs"
local output = require "zkrecipes.cli.output"
local problem = require "zkrecipes.cli.problem"
local settings = require "zkrecipes.cli.settings"

local Context = {}

local SIGNALS = { sigint = 2, sigterm = 15, sighup = 1 }
local CLOSE_LIMIT = 1 -- seconds

-- Fields that are made at their first use, because most of them take time to load.
local LAZY = {
  uv = function() return needs "luv" end,
  json = function() return needs "cjson".new() end,
  zk = function() return require "zkrecipes".using "luv" end,
  settings = function(context) return settings.read(context.uv, context.options) end,
}

function Context.__index(context, key)
  if Context[key] then return Context[key] end
  local value = LAZY[key] and LAZY[key](context)
  rawset(context, key, value)
  return value
end

function Context:open(options)
  if self.opened then return self.opened end
  local all = { request_timeout = self.settings.timeout, log = function() end }
  for key, value in pairs(self.settings) do all[key] = value end
  for key, value in pairs(options or {}) do all[key] = value end
  if all.tls or all.sasl then all.guardian = nil end -- it speaks neither
  self.opened, self.patience = self:check(nil, self.zk.session(all)), all.timeout
  return self.opened
end

function Context:session(options)
  local session = self:open(options)
  if self.connected then return session end
  local connected, message, code = session:connected(self.patience)
  if not connected and code == "connection_loss" then
    self:fail(exit.FAILED, ("%s: no server answered within %g s (%s); check -s, or try `zkr doctor`"):format(self.settings.hosts,
      self.patience, session.trouble or message))
  end
  self:check(nil, connected, message, code)
  self.connected = true
  return session
end

function Context:tell_outages()
  local session, lost = self:session(), false
  self.zk.spawn(function()
    for state in session:states() do
      if state == "lost" then
        lost = true
        self:note(("the session was lost (%s); zkr goes on when a server answers"):format(session.trouble or "it was ended by the servers"))
      elseif lost and state == "connected" then
        lost = false
        self:note "connected again"
      end
    end
  end)
end

function Context:check(path, ...) -- luacheck: ignore 212
  local _, message, code = ...
  if code ~= nil then problem.of(path, message, code) end
  return ...
end

function Context:fail(status, text) -- luacheck: ignore 212
  problem.raise(status, text)
end

function Context:write(text) output.write(text) end -- luacheck: ignore 212

-- The prompt of a shell begins on a new line; a pipe gets the data alone.
function Context:write_data(data)
  self:write(data)
  if data ~= "" and data:sub(-1) ~= "\n" and self.uv.guess_handle(1) == "tty" then self:write "\n" end
end

function Context:flush() output.flush() end -- luacheck: ignore 212

-- cjson escapes every slash, which makes paths unreadable.
local function plain(text)
  return (text:gsub("\\(.)", function(letter) return letter == "/" and "/" or nil end))
end

-- cjson writes an object's keys in no order, so each is written alone.
local function encode(json, value, keys)
  if not keys then return plain(json.encode(value)) end
  local parts = {}
  for _, key in ipairs(keys) do
    if value[key] ~= nil then parts[#parts + 1] = json.encode(key) .. ":" .. json.encode(value[key]) end
  end
  return plain("{" .. table.concat(parts, ",") .. "}")
end

function Context:print_json(value, keys)
  self:write(encode(self.json, value, keys) .. "\n")
end

function Context:note(text) -- luacheck: ignore 212
  io.stderr:write("zkr: ", clean(text), "\n")
end

function Context:ask(text) -- luacheck: ignore 212
  io.stderr:write("zkr: ", text)
end

local function catch(context, name, number)
  local handler = context.handlers[name] or context.uv.new_signal()
  handler:start(name, function()
    context.zk.spawn(function() context.signaled(name, number) end)
  end)
  handler:unref()
  context.handlers[name] = handler
end

local function forget(context, signals)
  for name in pairs(signals) do
    if context.handlers[name] then context.handlers[name]:close() end
    context.handlers[name] = nil
  end
end

function Context:on_signal(fn, more)
  local before = self.signaled
  self.signaled = fn
  for _, signals in ipairs { SIGNALS, more } do
    for name, number in pairs(signals) do
      if not self.handlers[name] and not ignored.has(number) then catch(self, name, number) end
    end
  end
  return function()
    self.signaled = before
    forget(self, more or {})
  end, before
end

function Context:suffer(name, number)
  local handler = self.handlers[name]
  if handler then handler:stop() end
  self.uv.kill(0, number)
  if handler then catch(self, name, number) end
end

function Context:at_end(fn)
  self.endings[#self.endings + 1] = fn
end

function Context:close()
  for _, ending in ipairs(self.endings) do ending() end
  if self.opened then self.opened:close(CLOSE_LIMIT) end
end

-- A context for the options of the command line.
return function(options)
  return setmetatable({ options = options, endings = {}, handlers = {} }, Context)
end
