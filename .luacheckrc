-- `min` is what every Lua from 5.1 to 5.4 has.
std = "min"
max_line_length = 140
files["lua/zkrecipes/openresty"] = { read_globals = { "ngx" } }
files["lua/zkrecipes/adapters/openresty.lua"] = { read_globals = { "ngx" } }
files["spec"] = { std = "max+busted" }
files["fuzz"] = { std = "max" }
files["dev"] = { std = "max" }
files["examples"] = { std = "max" }
files["lua/zkrecipes/meta"] = { ignore = { "211", "212", "213", "241", "511" } }
