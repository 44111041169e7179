-- Presence: an ephemeral znode tells the other processes that this one claims items of the queue. It is deleted with the session, or when
-- nothing in the process needs it any more.
--
-- What can go wrong: the answer to the create is lost. The znode may exist then, so the create is repeated with the same name.

local collected = require "zkrecipes.collected"
local core = require "zkrecipes.core"
local limits = require "zkrecipes.limit"
local paths = require "zkrecipes.path"
local requests = require "zkrecipes.lost_answers"
local tasks = require "zkrecipes.host.tasks"

local M = {}
M.__index = M

local FRESH = 2 -- seconds for which the number of consumers is used

function M.new(store) return setmetatable({ store = store, host = core.host(store.session) }, M) end

-- Creates the znode in the present session, unless it exists. Returns its path, and the id of that session; or nil, message, code.
function M:ensure()
  local store = self.store
  if self.made and self.id == store.session.id then return self.path, self.id end
  local known, problem, why = store:known_id()
  if not known then return nil, problem, why end
  if self.id ~= store.session.id then
    local tag = requests.tag(limits.real(store.session), known)
    self.path, self.id, self.made = paths.child(store.path .. "/consumers", tag), store.session.id, false
  end
  local path, id = self.path, self.id
  local made, message, code = store.session:create(path, "", { ephemeral = true })
  if not made and code ~= "node_exists" then return nil, message, code end
  -- The session may have changed meanwhile: a closing session still gets answers, and its znode is deleted with it.
  if path == self.path and id == store.session.id then self.made = true end
  return path, id
end

-- A claim failed, perhaps because this znode is gone: checks that.
function M:check(path)
  if path == self.path and self.store.session:exists(path) == false then self.made = false end
end

-- ---- The end -----------------------------------------------------------------------------------

-- Deletes the znode, unless it was deleted with its session.
local function leave(presence)
  local session = presence.store.session
  requests.insist(session, function()
    if session.id ~= presence.id then return true end
    return session:delete(presence.path)
  end)
end

local function abandon(presence)
  if presence.path and not presence.host.engine:forked() then
    tasks.later(presence.host, tasks.behind, presence.host, { quiet = true }, leave, presence)
  end
end

-- The consumer refers to this: when the consumer is collected, the znode is deleted.
function M:guard() return collected.guard(abandon, self) end

-- ---- The others --------------------------------------------------------------------------------

-- Returns the number of consumers, and which of them this process is (from 0). store: see store.lua; it may have a time limit.
function M:rank(store)
  local now, folder = self.host.adapter.now(), self.store.path .. "/consumers"
  if not self.ranked or now > self.ranked then
    local names = self.made and store.session:children(folder)
    self.count, self.number = 1, 0
    if names then
      table.sort(names)
      for i = 1, #names do
        if paths.child(folder, names[i]) == self.path then self.count, self.number = #names, i - 1 end
      end
    end
    self.ranked = now + FRESH
  end
  return self.count, self.number
end

-- There are other consumers: counts them again the next time.
function M:count_again() self.ranked = nil end

core.own(debug.getinfo(1, "S").source)
return M
