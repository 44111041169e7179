-- An instance as a user has it: what its znode says, and what this process thinks of it.
--
-- The latter is the state, which all copies of an instance share. It ends with the znode, or when its data are none any more.
-- An instance that registers again begins anew.
--
-- What can go wrong: many uses of one instance fail at once. They tell of one failure: a use that began before the last `down` says nothing
-- new, so the pause is not doubled for each of them. `done` is called twice: the second call does nothing. It is never called, because the
-- program has dropped the instance, or its coroutine was killed: the collector, and in nginx the log phase, end the use.

local activity = require "zkrecipes.status.activity"
local check = require "zkrecipes.check"
local collected = require "zkrecipes.collected"
local core = require "zkrecipes.core"
local json = require "zkrecipes.recipes.registry.json"

local Instance = {}
Instance.__index = Instance
Instance.__name = "zkrecipes.instance"

local PAUSE = 1 -- seconds
local DOUBLED_MOST = 60 -- times: a number that cannot overflow

local M = { meta = Instance }

-- ---- The state ---------------------------------------------------------------------------------

-- service: of all instances of this name; `out_until` is the end of their last pause.
function M.state(service)
  return { service = service, uses = 0, failures = 0, era = 0, pause = 0, out_until = -math.huge, last_use = -math.huge, share = 0 }
end

-- The user's copy of an entry of the catalog.
function M.copy(entry)
  local record, state = entry.record, entry.state
  return setmetatable({ name = entry.name, id = record.id, path = entry.path, token = entry.token, address = record.address,
    port = record.port, ssl_port = record.ssl_port, meta = record.meta, weight = record.weight, enabled = record.enabled,
    registered = record.registered, type = record.type, data = entry.data, state = state, era = state.era }, Instance)
end

-- ---- What the user tells of it -----------------------------------------------------------------

-- Some time after its last pause it counts as good again.
local function is_forgotten(state, now) return now > state.out_until + state.pause end

-- instance:down([seconds]): takes it out of the choice of this process. Returns the seconds for which it is out.
function Instance:down(seconds)
  check.seconds(seconds, 1, "down", true)
  local state = self.state
  local now, longest = state.service.host.adapter.now(), state.service.longest_down
  if self.era ~= state.era then return math.max(state.out_until - now, 0) end
  state.failures = (is_forgotten(state, now) and 0 or state.failures) + 1
  state.era = state.era + 1
  state.pause = math.min((seconds or PAUSE) * 2 ^ math.min(state.failures - 1, DOUBLED_MOST), math.max(longest, seconds or 0))
  state.out_until = now + state.pause
  state.service.out_until = math.max(state.service.out_until, state.out_until)
  return state.pause
end

-- instance:up(): takes it into the choice again, and forgets its failures.
function Instance:up()
  local state = self.state
  state.failures, state.pause, state.out_until = 0, 0, -math.huge
  return true
end

local function end_use(state) state.uses = state.uses - 1 end

-- instance:done(): the use that `pick(name, "least")` has begun is over.
function Instance:done()
  local use, state = self.use, self.state
  if use then
    use:disarm()
    self.use = nil
    end_use(state)
    activity.ended(state.service.host, self)
  end
  return true
end

-- Begins a use of it by the running coroutine.
function M.begin_use(instance)
  local state = instance.state
  state.uses, instance.use = state.uses + 1, collected.guard(end_use, state)
  activity.granted(state.service.host, instance, Instance.done)
end

-- instance:uses(): how many uses of it are not over, of those that this process has begun.
function Instance:uses() return self.state.uses end

-- instance:fields(): name > JSON text of the members of its JSON that mean nothing to a registry.
function Instance:fields() return json.fields(self.data) end

check.selves("instance", Instance, Instance)
Instance.__close = function(instance) instance:done() end

core.own(debug.getinfo(1, "S").source)
return M
