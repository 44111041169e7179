-- What tests ask a server over its own connection, from plain Lua: four-letter words, and the end of a session.
--
-- To expire a client's session we take it over: a second connection presents the session's id and password, and then
-- closes the session. The password is no secret: a ZooKeeper server derives it from the id by
-- `new java.util.Random(id ^ 0xB3415C00L).nextBytes(16)`. Java's generator works on 48 bits, more than a product of
-- doubles can hold exactly (Lua 5.1, LuaJIT), so numbers are kept here as three limbs of 16 bits, lowest first.

local supervisor = require "zkrecipes.testing.supervisor"

local M = {}

local function xor16(a, b)
  local result, bit = 0, 1
  while a > 0 or b > 0 do
    local x, y = a % 2, b % 2
    if x ~= y then result = result + bit end
    a, b, bit = (a - x) / 2, (b - y) / 2, bit * 2
  end
  return result
end

-- Java's multiplier 0x5DEECE66D and the server's constant 0xB3415C00.
local MULTIPLIER = { 0xE66D, 0xDEEC, 0x0005 }
local SECRET = { 0x5C00, 0xB341, 0x0000 }

local function seed_of(id)
  local limbs = {}
  for i = 1, 3 do
    local digits = id:sub(17 - 4 * i, 20 - 4 * i)
    limbs[i] = xor16(xor16(tonumber(digits, 16), SECRET[i]), MULTIPLIER[i])
  end
  return limbs
end

-- seed = seed * multiplier + 11 modulo 2^48
local function step(seed)
  local result, carry = {}, 11
  for i = 1, 3 do
    local sum = carry
    for j = 1, i do sum = sum + seed[j] * MULTIPLIER[i + 1 - j] end
    result[i] = sum % 65536
    carry = (sum - result[i]) / 65536
  end
  return result
end

---The password a ZooKeeper server gives to a session.
---@param id string session id, 16 hexadecimal digits
---@return string password 32 hexadecimal digits
function M.password(id)
  local seed, words = seed_of(id), {}
  for _ = 1, 4 do
    seed = step(seed)
    -- nextInt() is the upper 32 of the 48 bits; nextBytes() takes its lowest byte first.
    local word = ("%04x%04x"):format(seed[3], seed[2])
    words[#words + 1] = word:gsub("(%x%x)(%x%x)(%x%x)(%x%x)", "%4%3%2%1")
  end
  return table.concat(words)
end

-- Sends $2 (printf escapes) to port $1, prints the whole answer until the server closes the connection, then "\1".
local CONVERSE = [[
trap '' PIPE
{ exec 3<>"/dev/tcp/127.0.0.1/$1"; } 2>/dev/null || exit
printf "$2" >&3
timeout "$3" cat <&3 && printf '\1'
]]

local function converse(port, text, timeout)
  local output = supervisor.bash(CONVERSE, port, text, timeout)
  if output:sub(-1) ~= "\1" then return nil, output end
  return output:sub(1, -2)
end

---Asks a server a four-letter word.
---@param port string
---@param word string
---@param timeout number seconds
---@return string|nil answer
---@return string? message
---@return string? code
function M.word(port, word, timeout)
  local answer = converse(port, word, timeout)
  if answer then return answer end
  return nil, ("the server at 127.0.0.1:%s did not answer %s within %g s"):format(port, word, timeout), "timeout"
end

local function int(n)
  return ("%08x"):format(n)
end

local function escaped(hex)
  return (hex:gsub("%x%x", "\\x%0"))
end

-- ConnectRequest (protocol version, last zxid seen, timeout, id, password, no read-only), then closeSession (xid 1).
-- Both go out at once: the owner of the session reconnects as soon as the first arrives, and may not come between.
local function takeover(id)
  local connect = int(0) .. int(0) .. int(0) .. int(10000) .. id .. int(16) .. M.password(id) .. "00"
  local close = int(1) .. "fffffff5"
  return escaped(int(#connect / 2) .. connect .. int(#close / 2) .. close)
end

-- The first answer is a ConnectResponse: length, protocol version, timeout (0: no such session), ...
local function granted(answer)
  return answer:sub(9, 12) ~= "\0\0\0\0"
end

---Ends a session at a server.
---@param port string
---@param id string 16 hexadecimal digits
---@param timeout number seconds
---@return boolean|nil ended
---@return string? message
---@return string? code
function M.expire(port, id, timeout)
  for try = 1, 20 do
    -- Gives up soon on a connection without an answer: the next connection may work.
    local answer, partial = converse(port, takeover(id), timeout / 10)
    answer = answer or partial
    if #answer >= 12 and not granted(answer) then
      if try > 1 then return true end -- an earlier try did it, its answer was lost
      return nil, ("the server at 127.0.0.1:%s knows no session %s"):format(port, id), "no_session"
    end
    -- The answer to closeSession: length 16, xid 1. If it is missing, the owner reconnected first: try again.
    if answer:find("\0\0\0\16\0\0\0\1", 13, true) then return true end
  end
  return nil, ("the server at 127.0.0.1:%s did not close session %s"):format(port, id), "connection_loss"
end

return M
