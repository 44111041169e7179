-- `min` is what every Lua from 5.1 to 5.4 has.
std = "min"
max_line_length = 140
local in_nginx = { globals = { "ngx" } }
files["lua/zkrecipes/openresty.lua"] = in_nginx
files["lua/zkrecipes/openresty"] = in_nginx
files["lua/zkrecipes/adapters/openresty.lua"] = in_nginx
files["lua/zkrecipes/cli"] = { std = "lua54" }
files["bin"] = { std = "lua54" }
files["spec"] = { std = "max+busted" }
files["fuzz"] = { std = "max" }
files["bench"] = { std = "max" }
files["dev"] = { std = "max" }
files["examples"] = { std = "max" }
files["lua/zkrecipes/meta"] = { ignore = { "211", "212", "213", "241", "511" } }
