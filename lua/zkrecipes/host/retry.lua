-- After an error of a user's function that is called again and again: reports the error, and tells how long to wait before the next call.

local check = require "zkrecipes.check"
local core = require "zkrecipes.core"
local coroutines = require "zkrecipes.host.coroutines"
local wait = require "zkrecipes.host.wait"

local M = { OPTIONS = { backoff = "number", backoff_max = "number", on_error = "function" } }

local BACKOFF, BACKOFF_MAX = 1, 30 -- seconds

-- Raises if a duration among the options is wrong.
function M.check(options, argument, name)
  check.seconds(options.backoff, argument, name, true)
  check.seconds(options.backoff_max, argument, name, true)
end

-- Copies what the options say, or the defaults, to the fields of `to`.
function M.set(to, options)
  to.on_error = options.on_error
  to.backoff, to.backoff_max = options.backoff or BACKOFF, options.backoff_max or BACKOFF_MAX
  return to
end

-- Calls on_error(problem, ...), or without it the host's report.
function M.report(host, on_error, problem, ...)
  if not on_error then return host.report(host, problem) end
  local ok, other = coroutines.pcall(on_error, problem, ...)
  if not ok and other ~= wait.canceled then
    host.report(host, check.text(problem) .. "\nand on_error failed: " .. check.text(other))
  end
end

-- Seconds to wait after so many failures in a row: backoff, then twice as long each time, up to backoff_max; less a random part of half.
function M.seconds(from, failures)
  if failures == 0 then return 0 end
  local longest = math.min(from.backoff * 2 ^ math.min(failures - 1, 64), from.backoff_max) -- 0 * inf would be nan
  return longest * (0.5 + math.random() / 2)
end

core.own(debug.getinfo(1, "S").source)
return M
