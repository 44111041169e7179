-- What n processes cost the servers, counted in simulated worlds: the rows of docs/scale.md. `make bench-scale N=1000 [ONLY=fair,unfair]`

local scale = require "spec.support.scale"

local N, ONLY = math.floor(tonumber(arg[1])), arg[2]

for _, kind in ipairs { { "contest", scale.CONTESTS }, { "change", scale.CHANGES } } do
  for _, name in ipairs(kind[2]) do
    if ONLY == "" or ("," .. ONLY .. ","):find("," .. name .. ",", 1, true) then
      print(scale[kind[1]](name, N))
      io.stdout:flush()
    end
  end
end
