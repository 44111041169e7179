-- How a command fails: it raises a problem, and main.lua prints `zkr: TEXT` and exits with its status.

local clean = require "zkrecipes.cli.clean"
local exit = require "zkrecipes.cli.exit"

local M = {}

local Problem = {}

-- What happened and what to do, for the codes that a user of the command meets, and the exit status.
local CODES = {
  no_node = { exit.NO, "there is no such znode; `zkr ls` shows what is there" },
  node_exists = { exit.NO, "the znode exists already; `zkr set` changes it" },
  not_empty = { exit.NO, "the znode has children; `zkr rm -r` deletes them too" },
  bad_version = { exit.NO, "the znode has another version; read it again with `zkr stat`" },
  no_auth = { exit.FAILED, "the znode's ACL does not allow it; give credentials with ZKR_AUTH_FILE" },
  auth_failed = { exit.FAILED, "the servers refused the credentials; check ZKR_AUTH_FILE, or sasl_user and its password" },
  timeout = { exit.LATE },
  lost = { exit.LOST },
}

function M.new(status, text)
  return setmetatable({ status = status, text = text }, Problem)
end

function M.raise(status, text)
  error(M.new(status, text), 0)
end

function M.is(value)
  return getmetatable(value) == Problem
end

-- What is wrong, if the module has raised this because of a wrong argument: a wrong path raises "bad argument #1 to 'get' (path must ...)",
-- and a limit of 0 "bad call of 'semaphore' (the limit ...)". Else nil.
function M.misuse(raised)
  local text = tostring(raised)
  local misuse = text:match "bad argument #%d+ to '[^']+' (%b())" or text:match "bad call of '[^']+' (%b())"
  return misuse and misuse:sub(2, -2)
end

-- Prints the text, if there is one, as all messages of zkr.
function M.report(text)
  if text then io.stderr:write("zkr: ", text, "\n") end
end

-- Ends the program by a problem.
function M.exit(raised)
  M.report(raised.text)
  os.exit(raised.status)
end

-- The text, with the path in front of it if it does not name it.
function M.with_path(path, text) return text:find(path, 1, true) and text or path .. ": " .. text end

-- Raises the problem for a failure that the module returned.
function M.of(path, message, code)
  local known = CODES[code] or { exit.FAILED }
  local text = known[2] or clean(message):gsub("^[%a_]+:[%a_]+ ", "") -- without the name of the method
  M.raise(known[1], path and M.with_path(path, text) or text)
end

return M
