-- The status of all workers: each worker publishes its status in the shared dictionary `zkrecipes`; the worker that answers a request
-- reads the others' entries.
--
--   lua_shared_dict zkrecipes 1m;        in the http block; without it a worker knows only itself
--
-- 1. While the dispatcher runs, one of its light threads publishes every INTERVAL seconds: figures, and the oldest ROWS rows of each list.
-- 2. An entry expires after STALE seconds, so a worker that has ended or is stuck is left out.
-- 3. The publishing thread ends with the dispatcher, so it keeps no worker and no Lua state alive.
-- 4. The lengths of queues need requests to the servers, so workers publish them only while a client asks for the page or the JSON.
--
-- What can go wrong: after a reload the old and the new worker have the same number for a while. Each has its own entry, and the worker
-- that was started later counts; a worker that is about to end does not publish. If the dictionary is too small, no entry is thrown out
-- to make room (safe_set): the worker publishes its figures without rows, or nothing.

local check = require "zkrecipes.check"
local core = require "zkrecipes.core"
local status = require "zkrecipes.status.status"

local M = {}

local INTERVAL, STALE, ROWS = 2, 10, 100
local QUEUES_AGE = 2 -- seconds

local WATCHED = "watched" -- key in the dictionary: a client asks for the status
local LISTS = { "holds", "waiting", "trees", "objects" }

local started = ngx.now()
local decoder, looked -- lua-cjson; whether we have tried to load it

-- The dictionary; or nil and the reason why there is none.
local function dictionary()
  local dict = ngx.shared.zkrecipes
  if not dict then return nil, 'only this worker is shown; to see all, write "lua_shared_dict zkrecipes 1m;" into the http block' end
  if not looked then
    local ok, cjson = pcall(require, "cjson.safe")
    decoder, looked = ok and cjson or nil, true
  end
  if not decoder then return nil, "only this worker is shown: lua-cjson is missing (Debian: apt-get install lua-cjson)" end
  return dict
end

-- ---- One worker --------------------------------------------------------------------------------

-- The status of this worker. asking: also asks the servers for its queues, and waits for that at most one second.
function M.own(asking)
  local found = require "zkrecipes".status { queues = asking, max_age = QUEUES_AGE }
  found.worker, found.pid, found.started, found.at = ngx.worker.id() or "agent", ngx.worker.pid(), started, ngx.now()
  found.counts = {}
  for _, name in ipairs(LISTS) do found.counts[name] = #found[name] end
  return found
end

local function copy(found)
  local new = {}
  for key, value in pairs(found) do new[key] = value end
  return new
end

-- A copy with at most this many rows in each list.
local function cut(found, rows)
  local new = copy(found)
  for _, name in ipairs(LISTS) do
    new[name] = {}
    for i = 1, math.min(rows, #found[name]) do new[name][i] = found[name][i] end
  end
  return new
end

local function key_of(found) return ("status:%s:%d"):format(found.worker, found.pid) end

-- Publishes what M.own has found.
function M.publish(found)
  local dict = dictionary()
  if not dict or ngx.worker.exiting() then return end
  local key = key_of(found)
  if dict:safe_set(key, status.json(cut(found, ROWS)), STALE) then return end
  local small = cut(found, 0)
  small.queues, small.cut = nil, true
  if not dict:safe_set(key, status.json(small), STALE) then dict:delete(key) end
end

-- Runs until the dispatcher ends it.
function M.keep_publishing()
  while not ngx.worker.exiting() do
    local dict = dictionary()
    if dict then
      local ok, problem = pcall(function() M.publish(M.own(dict:get(WATCHED) ~= nil)) end)
      if not ok and not ngx.worker.exiting() then ngx.log(ngx.ERR, "zkrecipes: the status is not published: ", check.text(problem)) end
    end
    ngx.sleep(INTERVAL)
  end
end

-- ---- All workers -------------------------------------------------------------------------------

-- Tells the other workers to publish their queues, because a client asks for the status.
function M.watch()
  local dict = dictionary()
  if dict then dict:safe_set(WATCHED, true, STALE) end
end

-- Number > the status of the worker that was started last under it.
local function collect(dict, own)
  local latest = { [own.worker] = own }
  for _, key in ipairs(dict:get_keys(0)) do
    local text = key:find("^status:") and dict:get(key)
    local found = text and decoder.decode(text)
    local known = found and latest[found.worker]
    if found and (not known or found.started > known.started) then latest[found.worker] = found end
  end
  return latest
end

local function by_number(a, b)
  if type(a.worker) ~= type(b.worker) then return type(a.worker) == "number" end
  return a.worker < b.worker
end

local function names_of(list, condition)
  local names = {}
  for i = 1, #list do
    if condition(list[i]) then names[#names + 1] = tostring(list[i].worker) end
  end
  return #names > 0 and table.concat(names, ", ")
end

local function has_no_queues(found) return not found.queues end
local function is_cut(found) return found.cut end

-- Notes that a reader of this list needs.
local function notes_on(list, asking)
  local notes, missing = {}, ngx.worker.count() - #list
  if missing > 0 then
    notes[1] = ("workers that are not shown: %d; they have no session, have published nothing for %d s, or found no room in the dictionary")
      :format(missing, STALE)
  end
  local names = names_of(list, is_cut)
  if names then notes[#notes + 1] = "lua_shared_dict zkrecipes is too small for the rows of worker " .. names end
  names = asking and names_of(list, has_no_queues)
  if names then notes[#notes + 1] = ("the queues of worker %s are shown at the next look, in %d s"):format(names, INTERVAL) end
  return notes
end

-- The status of each worker, including `own`; and a list of notes. asking: whether the servers were asked for the queues.
function M.all(own, asking)
  local dict, problem = dictionary()
  if not dict then return { own }, { ngx.worker.count() > 1 and problem or nil } end
  local list = {}
  for _, found in pairs(collect(dict, own)) do list[#list + 1] = found end
  table.sort(list, by_number)
  return list, notes_on(list, asking)
end

core.own(debug.getinfo(1, "S").source)
return M
