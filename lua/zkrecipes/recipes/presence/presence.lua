-- The part of a presence that is written in Lua: it is shown in the status.

local classes = require "zkrecipes.classes"
local core = require "zkrecipes.core"
local activity = require "zkrecipes.status.activity"

local session_class = core.classes.session
local Session = {}

-- session:presence(path [, data])
function Session:presence(path, data)
  local presence, message, code = session_class.core.presence(self, path, data)
  if not presence then return nil, message, code end
  activity.takes_part(core.host(self), presence, function(object)
    local state = object:state()
    if state == "left" then return nil end
    return object.problem and state .. ": " .. object.problem or state
  end)
  return presence
end

classes.extend(session_class, Session)

core.own(debug.getinfo(1, "S").source)
