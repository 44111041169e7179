-- A command that zkr runs without a hold, and so without a time limit. It ends with zkr all the same: the minder (child.lua) kills it and
-- its descendants when zkr is killed.
--
--   local job = jobs.start(context, relay, command, variables [, data])   relay: gives it its signals (signals.lua); data: its standard
--                                                                         input; nil: that of zkr. Raises a problem
--   job:kill()                                                            at once, with its descendants
--   job:wait()                                                            returns its exit status when none of its processes is left
--
-- The data are in a file without a name, so the command may read them when it likes, or never, and zkr waits for nothing.

local children = require "zkrecipes.cli.child"
local exit = require "zkrecipes.cli.exit"

local M = {}

local Job = {}
Job.__index = Job

local YEARS = 1e9   -- seconds
local GRACE = 5     -- seconds that descendants have to end after the command
local HOUR = 3600

-- Returns a descriptor from which the data can be read.
local function file_of(context, data)
  local uv, folder = context.uv, os.getenv "TMPDIR"
  if not folder or folder == "" then folder = "/tmp" end
  local function fail(why)
    context:fail(exit.FAILED, ("%s: the data of a command cannot be written there (%s); set TMPDIR to another folder"):format(folder, why))
  end
  local fd, path, code = uv.fs_mkstemp(folder .. "/zkr-XXXXXX")
  if not fd then fail(code or path) end
  uv.fs_unlink(path)
  local written, message = uv.fs_write(fd, data, 0)
  if written ~= #data then fail(message or "the disk is full") end
  return fd
end

function M.start(context, relay, command, variables, data)
  local input = data and file_of(context, data)
  local child, message = children.start(context.uv, command, variables, input)
  if input then context.uv.fs_close(input) end
  if not child then context:fail(exit.FAILED, message) end
  local forever = context.zk.now() + YEARS
  child:order(forever - GRACE, forever)
  relay:add(child)
  return setmetatable({ child = child, relay = relay }, Job)
end

function Job:kill() self.child:order(0, 0) end

function Job:wait()
  while not self.child.over do self.child:wait(HOUR) end
  self.relay:remove(self.child)
  return self.child.status or exit.FAILED
end

return M
