-- If zkr was started with a standard descriptor closed (`>&-`), the next file that is opened gets its number: a connection to a server, for
-- example, into which messages would then be written. So such a descriptor is opened first, the wrong way round: reading standard input
-- and writing to the others fail as if they were closed. Must be loaded before luv.

local opened = {} -- for as long as zkr runs

for number = 0, 2 do
  local file = io.open("/proc/self/fdinfo/" .. number)
  if file then
    file:close()
  else
    opened[number] = io.open("/dev/null", number == 0 and "a" or "r")
  end
end

return opened
