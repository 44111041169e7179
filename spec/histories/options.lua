-- The options of the programs in this folder.
--
--     parse(list, values, flags)     values and flags are sets of names; each option is `--name value`, a flag `--name`
--
-- Gives the values by name, and true for each flag.

return function(list, values, flags)
  local options, i = {}, 1
  while list[i] do
    local name = list[i]:match "^%-%-(%l+)$"
    if flags and flags[name] then
      options[name], i = true, i + 1
    elseif values[name] and list[i + 1] then
      options[name], i = list[i + 1], i + 2
    else
      error("unknown argument " .. list[i], 0)
    end
  end
  return options
end
