-- The semaphore's methods that run the user's code: its `with` takes a number of permits.

local classes = require "zkrecipes.classes"
local core = require "zkrecipes.core"

classes.extend(core.classes.semaphore, { with = classes.with(true) })

core.own(debug.getinfo(1, "S").source)
