-- What the specs of SASL need: the server's half of DIGEST-MD5, written anew and with md5sum's hash, and a look at what a client has sent.

local nonsense = require "spec.support.nonsense"
local process = require "spec.support.process"
local wire = require "spec.support.wire"

local M = {}

M.OP = 102
M.CHALLENGE = 'realm="zk-sasl-md5",nonce="Ym9va3MgYXJlIGdvb2Q=",charset=utf-8,algorithm=md5-sess'

-- ---- The proof -------------------------------------------------------------------------------------------------------------------------

-- text: in the notation of the shell's printf.
local function hex(text)
  return process.output(("printf '%%b' '%s' | md5sum"):format(text)):match("^%x+")
end

local function field(token, name)
  name = "," .. name:gsub("%-", "%%-")
  return ("," .. token):match(name .. '="([^"]*)"') or ("," .. token):match(name .. "=([^,]*)")
end

-- The hash that a response (prefix "AUTHENTICATE") or a proof (prefix "") has to have. The names have no special characters.
local function hash(token, password, prefix)
  local inner = hex(("%s:%s:%s"):format(field(token, "username"), field(token, "realm"), password))
  local nonces = field(token, "nonce") .. ":" .. field(token, "cnonce")
  local octal = inner:gsub("..", function(byte) return ("\\0%03o"):format(tonumber(byte, 16)) end)
  local secret = hex(octal .. ":" .. nonces)
  local middle = (":%s:00000001:%s:auth:"):format(field(token, "nonce"), field(token, "cnonce"))
  return hex(secret .. middle .. hex(prefix .. ":" .. field(token, "digest-uri")))
end

-- True if this response is that of somebody who knows the password.
function M.knows(token, password)
  return field(token, "response") == hash(token, password, "AUTHENTICATE")
end

-- What a server says that knows the password.
function M.proof(token, password)
  return "rspauth=" .. hash(token, password, "")
end

-- ---- Servers ---------------------------------------------------------------------------------------------------------------------------

-- A frame with a token; nil: no token.
function M.answer(xid, token, err) return nonsense.answer(xid, wire.text(token), err) end

-- A server that answers the empty token by first(xid), and the response by second(xid, token). Both return a frame, or nothing: a correct
-- challenge, and nothing at all. It does not matter what else it is asked: server.counts has it.
function M.start(first, second)
  return nonsense.start(function(op, xid, token)
    if op ~= M.OP then return end
    if token == "" then return first and first(xid) or M.answer(xid, M.CHALLENGE) end
    return second and second(xid, token) or ""
  end)
end

-- ---- What a client has sent ------------------------------------------------------------------------------------------------------------

-- The operations of the frames in these bytes; the first one is the handshake. The last frame may be incomplete.
function M.operations(bytes)
  local found, at = {}, 1
  while at + 3 <= #bytes do
    local length = wire.to_int(bytes, at)
    if #found == 0 then
      found[1] = "handshake"
    elseif at + 11 <= #bytes then
      found[#found + 1] = wire.to_int(bytes, at + 8)
    end
    at = at + 4 + length
  end
  return found
end

return M
