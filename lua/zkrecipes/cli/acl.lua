-- ACLs by names: `creator`, or `world:anyone:read,create`, which is scheme, id and permissions. An id may contain colons.

local M = {}

local NAMES = { r = "read", w = "write", c = "create", d = "delete", a = "admin" }
local LETTERS = { read = "r", write = "w", create = "c", delete = "d", admin = "a", all = "rwcda" }
local WORDS = { open = true, creator = true, read = true }
local ORDER = { "r", "w", "c", "d", "a" }

-- The letters of permissions written as names with commas, as letters, or as "all".
local function letters_of(text)
  if text:find "^[rwcda]+$" then return text end
  local letters = ""
  for name in (text .. ","):gmatch "([^,]*)," do
    if not LETTERS[name] then return nil end
    letters = letters .. LETTERS[name]
  end
  return letters
end

-- Reads one entry. Returns nil and what is wrong.
function M.entry(text)
  local scheme, id, perms = tostring(text):match "^([^:]+):(.*):([^:]+)$"
  local letters = scheme and letters_of(perms)
  if letters then return { scheme = scheme, id = id, perms = letters } end
  return nil, ("'%s' is no ACL entry; write SCHEME:ID:PERMISSIONS, for example world:anyone:read,write"):format(tostring(text))
end

-- Shows one entry.
function M.show(entry)
  local names = {}
  for _, letter in ipairs(ORDER) do
    if entry.perms:find(letter, 1, true) then names[#names + 1] = NAMES[letter] end
  end
  return ("%s:%s:%s"):format(entry.scheme, entry.id, #names == #ORDER and "all" or table.concat(names, ","))
end

-- Reads the words of the command line: "open", "creator", "read", and entries.
function M.read(words)
  local acl = {}
  for i, word in ipairs(words) do
    local entry, problem = WORDS[word] and word, nil
    if not entry then entry, problem = M.entry(word) end
    if not entry then return nil, problem end
    acl[i] = entry
  end
  return acl
end

function M.show_all(acl)
  local shown = {}
  for i, entry in ipairs(acl) do shown[i] = M.show(entry) end
  return shown
end

return M
