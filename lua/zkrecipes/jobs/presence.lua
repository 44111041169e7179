-- Presence: a process that claims items of a queue is known to the others by an ephemeral znode, which goes with its session.

local core = require "zkrecipes.core"

local M = {}
M.__index = M

local FRESH = 2 -- seconds for which the number of consumers is trusted

function M.new(store) return setmetatable({ store = store, host = core.host(store.session) }, M) end

-- Sees to it that the consumer is known, in the present session: its znode, or nil, message, code.
function M:ensure()
  local store = self.store
  if self.path and self.id == store.session.id then return self.path end
  local ready, problem, why = store:ready()
  if not ready then return nil, problem, why end
  local path = store.path .. "/consumers/" .. store:new_tag()
  local made, message, code = store.session:create(path, "", { ephemeral = true })
  if not made then return nil, message, code end
  self.path, self.id = path, store.session.id
  return path
end

-- A claim failed, perhaps because it is gone.
function M:check(path)
  if path == self.path and self.store.session:exists(path) == false then self.path = nil end
end

-- How many consumers there are, and which one this is (from 0).
function M:rank()
  local now, folder = self.host.adapter.now(), self.store.path .. "/consumers"
  if not self.ranked or now > self.ranked then
    local names = self.path and self.store.session:children(folder)
    self.count, self.number = 1, 0
    if names then
      table.sort(names)
      for i = 1, #names do
        if folder .. "/" .. names[i] == self.path then self.count, self.number = #names, i - 1 end
      end
    end
    self.ranked = now + FRESH
  end
  return self.count, self.number
end

-- Somebody else is here: counts them the next time.
function M:count_again() self.ranked = nil end

core.own(debug.getinfo(1, "S").source)
return M
