-- The status of all workers: each publishes its own in the shared dictionary `zkrecipes`, and whichever answers a request reads the rest.
--
--   lua_shared_dict zkrecipes 1m;        in the http block; without it a worker knows itself only
--
-- 1. While the dispatcher runs, a light thread of it publishes every INTERVAL seconds: figures, and the oldest ROWS rows of each list.
-- 2. An entry expires after STALE seconds, so a worker that is gone, or that is stuck, is left out.
-- 3. A publishing thread ends with the dispatcher, so it keeps no worker and no Lua state alive.
-- 4. The queues are asked of the servers, so they are published only while somebody looks at the page or the JSON.
--
-- What can go wrong: after a reload the old worker and the new one have the same number for a while. Each has an entry of its own, and the
-- worker that was started later counts; one that is to end does not publish. The dictionary is too small: nothing in it is thrown out to
-- make room (safe_set); the worker publishes its figures without rows, or nothing.

local core = require "zkrecipes.core"
local status = require "zkrecipes.status.status"

local M = {}

local INTERVAL, STALE, ROWS = 2, 10, 100
local QUEUES_AGE = 2 -- seconds

local WATCHED = "watched" -- its key: somebody looks
local LISTS = { "holds", "waiting" }

local started = ngx.now()
local decoder, looked -- lua-cjson; whether it was looked for

-- The dictionary; or nil and why there is none.
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

-- The status of this worker. asking: of its queues, too, which waits for the servers, for a second at most.
function M.own(asking)
  local found = require "zkrecipes".status { queues = asking, max_age = QUEUES_AGE }
  found.worker, found.pid, found.started, found.at = ngx.worker.id() or "agent", ngx.worker.pid(), started, ngx.now()
  found.counts = { holds = #found.holds, waiting = #found.waiting }
  return found
end

local function copy(found)
  local new = {}
  for key, value in pairs(found) do new[key] = value end
  return new
end

-- With at most this many rows in each list.
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
      if not ok and not ngx.worker.exiting() then ngx.log(ngx.ERR, "zkrecipes: the status is not published: ", tostring(problem)) end
    end
    ngx.sleep(INTERVAL)
  end
end

-- ---- All workers -------------------------------------------------------------------------------

-- Somebody looks: the other workers are to publish their queues.
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

-- What a reader must know of this list.
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

-- The status of each worker, `own` among them; and a list of notes. asking: whether the queues were asked for.
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
