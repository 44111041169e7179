-- Calls a function when the program has dropped an object.
--
--   guard = collected.guard(fn, state)   keep it in the object: when both are collected, fn(state) is called, unless
--   guard:disarm()                       was. fn runs in a finalizer: it must not wait, and its errors are dropped
--
-- Lua 5.1 and LuaJIT call finalizers of userdata only. The engine may be collected before the guard, and LuaJIT would raise the error
-- wherever the program is, so fn is called under pcall.

local core = require "zkrecipes.core"

local M = {}

local Guard = {}
Guard.__index = Guard

function Guard:disarm() self.fn = nil end

local function run(guard)
  if guard.fn then pcall(guard.fn, guard.state) end
end

Guard.__gc = run

function M.guard(fn, state)
  local guard = setmetatable({ fn = fn, state = state }, Guard)
  if newproxy then                -- luacheck: ignore 113
    guard.sentinel = newproxy(true) -- luacheck: ignore 113
    getmetatable(guard.sentinel).__gc = function() run(guard) end
  end
  return guard
end

core.own(debug.getinfo(1, "S").source)
return M
