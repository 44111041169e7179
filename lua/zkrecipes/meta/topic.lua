---@meta zkrecipes.topic

-- Topics. See docs/recipes/topic.md.

---@class zkrecipes.Session
local Session = {}

---@class zkrecipes.Keep
---@field count? integer messages; default: no limit
---@field age? number seconds; default: no limit

---@class zkrecipes.TopicOptions
---@field keep? zkrecipes.Keep what publishers with this handle keep; default all

---Makes a handle for a topic; asks no server.
---```lua
---local topic = session:topic("/news", { keep = { count = 1000 } })
---```
---@param path string not the root; it need not exist
---@param options? zkrecipes.TopicOptions
---@return zkrecipes.Topic
function Session:topic(path, options) end

---Messages in one order, which any number of subscribers read. A log of znodes named by their positions, and a head that is written on
---condition of its version; the algorithm is our own, after Kafka's log (https://kafka.apache.org/documentation/#log).
---@class zkrecipes.Topic
---@field path string
---@field session zkrecipes.Session
local Topic = {}

---@class zkrecipes.PublishOptions
---@field id? string any bytes: this id is published once, as long as its message is kept
---@field timeout? number seconds; default: no limit

---Publishes a message.
---```lua
---local position = assert(topic:publish("order 17", { id = "order-17", timeout = 5 }))
---```
---@async
---@param data string
---@param options? zkrecipes.PublishOptions
---@return integer? position, string? message, zkrecipes.Code? code "timeout": it is not published; "connection_loss", "canceled", "closed",
---"error": it may be; "too_large", "conflict", "no_auth"
function Topic:publish(data, options) end

---@class zkrecipes.SubscribeOptions
---@field from? "now"|"start"|integer default "now"
---@field name? string any bytes: the subscription can ack, and begins after the last ack of this name
---@field timeout? number seconds; default: no limit

---Subscribes.
---```lua
---for message in topic:subscribe { from = "start" } do print(message.position, message.data) end
---```
---@async
---@param options? zkrecipes.SubscribeOptions
---@return zkrecipes.Subscription? subscription, string? message, zkrecipes.Code? code "timeout", "connection_loss", "conflict", "no_auth",
---"closed"
function Topic:subscribe(options) end

---Deletes what a named subscriber has acked.
---```lua
---assert(topic:forget "billing")
---```
---@async
---@param name string
---@param timeout? number seconds; default: no limit
---@return true?, string? message, zkrecipes.Code? code "timeout", "connection_loss", "no_auth", "closed"
function Topic:forget(name, timeout) end

---@class zkrecipes.Message
---@field data string
---@field position integer
---@field time number when it was published, in seconds since 1970 (the servers' clock)
---@field missed integer how many messages before this one were removed unread

---The messages of a topic, in order. Call it to get the next one, as `for` does.
---@class zkrecipes.Subscription
---@field path string of the topic
---@field position integer of the last message that `next` gave
---@overload fun(): zkrecipes.Message?
local Subscription = {}

---Waits for the next message.
---```lua
---local message = assert(subscription:next())
---```
---@async
---@param timeout? number seconds; default: no limit
---@return zkrecipes.Message?, string? message, zkrecipes.Code? code "timeout", "connection_loss", "no_node" (the topic was deleted),
---"no_auth", "closed", "error"
function Subscription:next(timeout) end

---Says that all messages up to this position are done.
---```lua
---assert(subscription:ack(message.position))
---```
---@async
---@param position integer
---@param timeout? number seconds; default: no limit
---@return true?, string? message, zkrecipes.Code? code "conflict" (another subscription has taken the name), "no_node" (after `forget`),
---"connection_loss", "no_auth", "closed", "canceled", "error"
function Subscription:ack(position, timeout) end

---Ends the subscription; idempotent.
---```lua
---subscription:close()
---```
---@return true
function Subscription:close() end
