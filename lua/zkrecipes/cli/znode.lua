-- A znode as JSON, for --json, export and import: data that are not UTF-8 are in base64.

local needs = require "zkrecipes.cli.needs"

local M = {}

-- The order of the fields on a line.
M.KEYS = { "path", "session", "data", "data_base64", "data_length", "num_children", "version", "cversion", "aversion",
  "ctime", "mtime", "czxid", "mzxid", "pzxid" }

-- Sets data or data_base64; neither, if the data are null.
function M.put_data(fields, data)
  if not data then return end
  if utf8.len(data) then
    fields.data = data
  else
    fields.data_base64 = needs "mime".b64(data)
  end
end

function M.data_of(fields)
  if fields.data_base64 then return (needs "mime".unb64(fields.data_base64)) end
  return fields.data
end

-- The fields of a znode. An ephemeral one has the session that owns it. Servers do not say whether a znode is a container or has a TTL.
function M.fields(path, stat)
  local fields = { path = path }
  for key, value in pairs(stat) do fields[key] = value end
  fields.ephemeral_owner, fields.session = nil, stat.ephemeral_owner
  return fields
end

return M
