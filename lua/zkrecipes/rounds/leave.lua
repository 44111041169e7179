-- A member of a round of a double barrier (rounds.lua) leaves it: waits until all others have.

local core = require "zkrecipes.core"
local joins = require "zkrecipes.rounds.join"
local requests = require "zkrecipes.sure"

local M = {}

local surely = requests.sure_while

-- What is there. A new session may be at a server that has not heard of the round yet.
local function listed(member)
  local session = member.requests
  local id, names, message, code
  repeat
    id = session.id
    if id ~= member.id then surely(member, session.sync, session, member.path) end
    names, message, code = surely(member, session.children, session, member.path)
  until not names or session.id == id
  return names, message, code
end

-- The round that the member is in: its path and the tags of its members; nil when it is over.
local function round_of(member)
  local session = member.requests
  local names, message, code = listed(member)
  if not names then return nil, message, code end
  for i = 1, #names do
    if names[i]:find("^round%-") then
      local path = member.path .. "/" .. names[i]
      local data, problem, why = surely(member, session.get, session, path)
      if why and why ~= "no_node" then return nil, problem, why end
      if data and ("\n" .. data .. "\n"):find("\n" .. member.tag .. "\n", 1, true) then return path, data, names end
    end
  end
end

-- One of a round that is still there, nil: none. Each member takes another one.
local function straggler(member, data, names)
  local there, all, at = {}, {}, 1
  for i = 1, #names do there[names[i]] = true end
  for tag in data:gmatch("[^\n]+") do
    all[#all + 1] = tag
    if tag == member.tag then at = #all end
  end
  for i = 1, #all do
    local tag = all[(at + i - 1) % #all + 1]
    if there["m-" .. tag] then return member.path .. "/m-" .. tag end
  end
end

-- Deletes the rounds in which nobody is any more: the member's own, and those whose members have all died.
local function sweep(member, names)
  local session = member.requests
  for i = 1, #names do
    local path = member.path .. "/" .. names[i]
    local data, done, message, code
    if names[i]:find("^round%-") then data, message, code = surely(member, session.get, session, path) end
    if data and not straggler(member, data, names) then done, message, code = surely(member, session.delete, session, path) end
    if not done and code and code ~= "no_node" then return nil, message, code end
  end
  return true
end

local function always() return true end

-- True; or nil, message, code. limit: see limit.lua.
function M.leave(member, limit)
  local session = limit.session
  member.limit, member.requests, member.valid = limit, session, always
  local done, message, code = surely(member, session.delete, session, member.takes_part)
  if not done and code ~= "no_node" then return nil, message, code end
  while true do
    local round, data, names = round_of(member)
    if not round then
      if names then return nil, data, names end
      return true
    end
    local other = straggler(member, data, names)
    if not other then return sweep(member, names) end
    done, message, code = session:await_gone(other, joins.patience(limit))
    if not done and code ~= "lost" then return nil, message, code end
  end
end

core.own(debug.getinfo(1, "S").source)
return M
