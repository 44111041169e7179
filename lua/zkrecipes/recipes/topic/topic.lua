-- Topics: messages that are published once, and read by any number of subscribers, in order. Composes plain requests and watched copies.
-- layout.lua says what is where on the servers.
--
-- 1. publish: one transaction writes the head, which says the last position, on condition of its version, and creates the message at the
--    next position. So positions have no gaps, and a message is there as soon as the head says so. (publisher.lua)
-- 2. subscribe reads the head, for the position to begin with. A named subscriber begins after the position that its bookmark says.
--    (bookmark.lua)
-- 3. The reader of a subscription follows the head and reads each message by its name. It lists nothing. (reader.lua)
-- 4. Each publish also removes the oldest messages that are too many or too old, and writes the first position that is left into the head.
--    (retention.lua)
--
-- What can go wrong:
-- * Two processes publish at a time: one transaction fails, and is sent again for the next position.
-- * The answer to a publish is lost: the publisher reads whether the message is there. If the caller gives up before that is known, it
--   repeats the call with the same id: the transaction also creates the id's znode, so it is done once.
-- * A reader is slow, and messages were removed before it has read them: the first position that is left tells how many.
-- * A named subscriber dies: the next one with this name gets all messages after the last ack, so some of them twice.
-- * The topic is deleted, and made anew by a publisher: subscriptions end, and bookmarks of the old topic are refused.

local check = require "zkrecipes.check"
local classes = require "zkrecipes.classes"
local core = require "zkrecipes.core"
local escape = require "zkrecipes.escape"
local bookmarks = require "zkrecipes.recipes.topic.bookmark"
local failure = require "zkrecipes.failure"
local layout = require "zkrecipes.recipes.topic.layout"
local limits = require "zkrecipes.limit"
local publishers = require "zkrecipes.recipes.topic.publisher"
local requests = require "zkrecipes.lost_answers"
local store = require "zkrecipes.recipes.topic.store"
local subscriptions = require "zkrecipes.recipes.topic.subscription"

local Topic = { __name = "zkrecipes.topic" }
Topic.__index = Topic

local COUNT_MAX, POSITION_MAX = 2 ^ 31 - 1, 2 ^ 53

local function check_name(name, argument, method, what)
  if type(name) ~= "string" then check.bad(argument, method, "string expected, got " .. type(name)) end
  if name == "" then check.bad(argument, method, what .. " is empty") end
end

-- ---- Publishing --------------------------------------------------------------------------------

-- topic:publish(data [, { id =, timeout = }]): the position of the message; or nil, message, code.
function Topic:publish(data, options)
  if type(data) ~= "string" then check.bad(1, "publish", "string expected, got " .. type(data)) end
  options = check.options(options, { id = "string", timeout = "number" }, 2, "publish")
  check.seconds(options.timeout, 2, "publish", true)
  local id, message, code
  if options.id then
    check_name(options.id, 2, "publish", "option 'id'")
    id, message, code = escape(options.id)
    if not id then return nil, message, code end
  end
  return self.publisher:publish(data, id, options.timeout)
end

-- ---- Subscribing -------------------------------------------------------------------------------

local WORDS = { now = true, start = true }

-- The options of subscribe; `from` is "now", "start" or a position.
local function read_options(given)
  local from = type(given) == "table" and type(rawget(given, "from")) == "number" and "number" or "string"
  local options = check.options(given, { from = from, name = "string", timeout = "number" }, 1, "subscribe")
  check.seconds(options.timeout, 1, "subscribe", true)
  if options.name then check_name(options.name, 1, "subscribe", "option 'name'") end
  options.from = options.from or "now"
  if from == "number" then
    check.count(options.from, POSITION_MAX, 1, "subscribe")
  elseif not WORDS[options.from] then
    check.bad(1, "subscribe", ("option 'from': \"now\", \"start\" or a position expected, got '%s'"):format(check.shown(options.from)))
  end
  return options
end

-- The head, and the position to begin with; or nil, message, code.
local function look(session, path, from)
  local head, message, code = (from == "now" and store.present_head or store.open)(session, path)
  if code == "no_node" then head, message, code = store.open(session, path) end
  if not head then return nil, message, code end
  return head, from == "now" and head.last + 1 or from == "start" and head.first or from
end

local function subscribe(topic, options, name, limit)
  local head, at, code = look(limit.session, topic.path, options.from)
  if not head then return nil, at, code end
  if not name then return { born = head.born, at = at } end
  local bookmark, message, why = bookmarks.open(topic.session, limit.session, layout.subscriber(topic.path, name), at - 1, head.born)
  if not bookmark then return nil, message, why end
  return { born = head.born, at = bookmark.acked.position + 1, bookmark = bookmark }
end

-- topic:subscribe([{ from =, name =, timeout = }]): a subscription; or nil, message, code.
function Topic:subscribe(options)
  options = read_options(options)
  local name, message, code
  if options.name then
    name, message, code = escape(options.name)
    if not name then return nil, message, code end
  end
  local session = self.session
  if options.timeout == 0 and limits.away(session) then return limits.unconnected(session, "topic:subscribe " .. self.path) end
  local limit = limits.new(session, options.timeout)
  local begin
  begin, message, code = limit:told(subscribe(self, options, name, limit))
  if not begin then return nil, message, code end
  return subscriptions.new(session, self.path, begin.born, begin.at, begin.bookmark)
end

-- topic:forget(name [, timeout]): deletes the bookmark of a named subscriber. True; or nil, message, code.
function Topic:forget(name, timeout)
  check_name(name, 1, "forget", "the name")
  check.seconds(timeout, 2, "forget", true)
  local escaped, message, code = escape(name)
  if not escaped then return nil, message, code end
  if timeout == 0 and limits.away(self.session) then return limits.unconnected(self.session, "topic:forget " .. self.path) end
  local limit = limits.new(self.session, timeout)
  local done
  done, message, code = requests.sure(limit.session.delete, limit.session, layout.subscriber(self.path, escaped))
  if done or code == "no_node" then return true end
  return limit:told(nil, message, code)
end

failure.name(Topic, "topic")
check.selves("topic", Topic, Topic)

-- ---- The session's method ----------------------------------------------------------------------

local Session = {}

-- { count =, age = }
local function read_keep(options)
  local keep = check.options(options, { keep = "table" }, 2, "topic").keep
  check.plain(keep or {}, 2, "topic", "table of options", "keep")
  keep = check.options(keep, { count = "number", age = "number" }, 2, "topic")
  if keep.count then check.count(keep.count, COUNT_MAX, 2, "topic") end
  check.seconds(keep.age, 2, "topic", true)
  return keep
end

-- All handles of a session for one path share a publisher, so that the calls of one process do not compete.
local function publisher_of(session, path, keep)
  local publisher_by_key = core.kept(session, "publishers")
  if not publisher_by_key then
    publisher_by_key = setmetatable({}, { __mode = "v" })
    core.keep(session, "publishers", publisher_by_key)
  end
  local key = ("%.0f %.17g %s"):format(keep.count or 0, keep.age or -1, path)
  local publisher = publisher_by_key[key] or publishers.new(session, path, keep.count, keep.age)
  publisher_by_key[key] = publisher
  return publisher
end

-- session:topic(path [, { keep = { count =, age = } }])
function Session:topic(path, options)
  check.below_root(path, 1, "topic")
  local keep = read_keep(options)
  return setmetatable({ session = self, path = path, publisher = publisher_of(self, path, keep) }, Topic)
end

classes.extend(core.classes.session, Session)

core.own(debug.getinfo(1, "S").source)
return Topic
