-- Certificates for test servers and their clients, made by the program `openssl`.

local supervisor = require "zkrecipes.testing.supervisor"

local M = {}

---A CA of its own in the folder $1: ca.pem, ca.key, and what `openssl ca` needs.
local FOUND = [==[
mkdir -p "$1" && cd "$1" && umask 077 || exit
type -P openssl >/dev/null || { echo missing; exit; }
: >index && echo 01 >serial
printf '%s\n' '[ca]' 'default_ca=own' '[own]' 'database=index' 'serial=serial' 'new_certs_dir=.' 'certificate=ca.pem' \
  'private_key=ca.key' 'default_md=sha256' 'policy=any' 'unique_subject=no' '[any]' 'commonName=supplied' \
  '[req]' 'distinguished_name=name' '[name]' '[authority]' 'basicConstraints=critical,CA:true' 'keyUsage=keyCertSign' \
  'subjectKeyIdentifier=hash' >ca.cnf
openssl req -x509 -config ca.cnf -extensions authority -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes \
  -keyout ca.key -out ca.pem -days 3650 -subj "/CN=test CA ${1##*/} $RANDOM" 2>&1
]==]

---In the folder $1, issues a certificate named $2 for the names $3, valid from $4 to $5: $2.pem, $2.key; $2-store.pem is
---what a server needs.
local ISSUE = [==[
cd "$1" && umask 077 || exit
openssl req -new -config ca.cnf -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout "$2.key" -out "$2.csr" \
  -subj "/CN=$2" 2>&1
echo "subjectAltName=$3" >"$2.ext"
openssl ca -batch -config ca.cnf -in "$2.csr" -out "$2.pem" -notext -extfile "$2.ext" -startdate "$4" -enddate "$5" 2>&1
cat "$2.key" "$2.pem" ca.pem >"$2-store.pem"
]==]

local NAMES = "DNS:localhost,IP:127.0.0.1,IP:::1"

---Makes a CA in a folder, which need not exist.
---@param folder string absolute
---@return boolean|nil made
---@return string? message
function M.found(folder)
  local output = supervisor.bash(FOUND, folder)
  if output == "missing\n" then return nil, "no program `openssl` found: install Debian's package \"openssl\"" end
  return true
end

---Issues a certificate by the CA of that folder.
---@param folder string
---@param name string of its files
---@param options? { names?: string, from?: string, to?: string } names like "DNS:zk1,IP:127.0.0.1", default localhost and
---its addresses; times like "20250101000000Z", default since yesterday and for ten years
---@return { ca: string, cert: string, key: string, store: string } files
function M.issue(folder, name, options)
  options = options or {}
  local from = options.from or os.date("!%Y%m%d%H%M%SZ", os.time() - 86400)
  local to = options.to or os.date("!%Y%m%d%H%M%SZ", os.time() + 3600 * 24 * 3650)
  local output = supervisor.bash(ISSUE, folder, name, options.names or NAMES, from, to)
  local base = folder .. "/" .. name
  local file = io.open(base .. ".pem")
  if not file then error("openssl has issued no certificate:\n" .. output, 2) end
  file:close()
  return { ca = folder .. "/ca.pem", cert = base .. ".pem", key = base .. ".key", store = base .. "-store.pem" }
end

return M
