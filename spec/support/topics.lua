-- What the specs of topics share.

local env = require "spec.support.env"

local topics = {}

-- The topic "/t" in this namespace, in a session of its own. options: of the session.
function topics.opened(namespace, keep, options)
  local all = { namespace = namespace }
  for name, value in pairs(options or {}) do all[name] = value end
  return env.session(all):topic("/t", keep and { keep = keep })
end

-- The data of the next messages, in one text.
function topics.data_of(subscription, count)
  local list = {}
  for i = 1, count do list[i] = assert(subscription:next(200)).data end
  return table.concat(list, " ")
end

-- Publishes these numbers.
function topics.publish(topic, from, to)
  for number = from, to do assert(topic:publish(tostring(number))) end
end

return topics
