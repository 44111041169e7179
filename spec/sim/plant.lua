-- Plants each bug of spec/*/planted_*.lua into a copy of its file, and sees that the histories catch it.
--
--     plant.lua FOLDER [NAME]      FOLDER: where make has built the simulator's objects
--
-- The folder built for the address sanitizer is for the bugs that need it (asan = true), the plain one
-- for all others.
--
-- A bug is { name, file, old, new }, where `old` must occur exactly once in the file: a list that
-- no longer fits the code fails. Further fields: also ({ file, old, new }, a second place), run (arguments
-- for histories, if not random ones of the lock), program (if not histories).
-- Nothing else is compiled again than the one file. A bug in a Lua file is found by worlds (spec/worlds); `run` is for them.

local folder, only, part, parts = (...), select(2, ...)
local limit = 3600 -- seconds after which a bug counts as not caught; a quiet machine takes some seconds

local function read(path)
  local file = assert(io.open(path, "rb"))
  local text = file:read("*a")
  file:close()
  return text
end

local function write(path, text)
  local file = assert(io.open(path, "wb"))
  file:write(text)
  file:close()
end

-- What a command prints, and whether it ended well.
local function output(command)
  local pipe = assert(io.popen("{ " .. command .. "; } 2>&1; echo status $?"))
  local text = pipe:read("*a")
  pipe:close()
  return text:gsub("status %d+\n$", ""), text:match("status (%d+)\n$") == "0"
end

local function lines(text)
  local list = {}
  for line in text:gmatch("[^\n]+") do list[#list + 1] = line end
  return list
end

-- ---- One bug ----------------------------------------------------------------------------------

local function replaced(text, edit)
  local from, to = text:find(edit.old, 1, true)
  if not from then return nil, "what it replaces is not there" end
  if text:find(edit.old, to + 1, true) then return nil, "what it replaces is there twice" end
  return text:sub(1, from - 1) .. edit.new .. text:sub(to + 1)
end

-- Writes the files with the bug in them; their names without the ending, by the object they replace.
local function planted(bug, base)
  local texts, bases = {}, {}
  for place, edit in ipairs { bug, bug.also } do
    local file = edit.file or bug.file
    local text, problem = replaced(texts[file] or read(file), edit)
    if not text then return nil, file .. ": " .. problem end
    texts[file] = text
    bases[folder .. file:gsub("^src", ""):gsub("c$", "o")] = base .. place
    write(base .. place .. ".c", text)
  end
  return bases
end

local function compile(command, ...)
  local said, well = output((os.getenv "CC" .. " " .. os.getenv "CFLAGS" .. " " .. command):format(...))
  return well and true or nil, said
end

-- Builds the histories with the bug in them. Gives the program.
local function build(bug)
  local program = folder .. "/planted/" .. bug.name:gsub("%W+", "-")
  local bases, problem = planted(bug, program)
  if not bases then return nil, problem end
  local objects = { ("%s/spec/%s.o"):format(folder, bug.program or "histories") }
  for _, source in ipairs(lines((output "find src/core src/plain src/recipes src/sim -name '*.c' | sort"))) do
    local path = folder .. source:gsub("^src", ""):gsub("c$", "o")
    local base = bases[path]
    if base then
      local built, said = compile("-w -c -o %s.o %s.c", base, base)
      if not built then return nil, said end
    end
    objects[#objects + 1] = base and base .. ".o" or path
  end
  local linked, said = compile("-fno-lto -o %s %s", program, table.concat(objects, " "))
  return linked and program, said
end

-- What the program has to say against the bug, and after how many histories; or nil.
local function verdict(said, well)
  if well then return nil end
  local crash = said:match "AddressSanitizer: ([%w-]+)" or said:match "runtime error: ([^\n]+)"
  local after, name, what = said:match "after (%d+) histories: (%-%-[^:]*): ([^\n]*)"
  if not after then return crash or said:match "[^\n]*", "-", "" end
  return crash and what .. " (" .. crash .. ")" or what, after, name
end

-- A copy of the Lua file with the bug in it, which is found first. Gives the command that runs the worlds.
local function prepare(bug)
  local place = folder .. "/planted/" .. bug.name:gsub("%W+", "-")
  local text, problem = replaced(read(bug.file), bug)
  if not text then return nil, bug.file .. ": " .. problem end
  local copy = place .. bug.file:gsub("^lua", "")
  output("rm -rf " .. place .. " && mkdir -p " .. copy:match "^(.*)/")
  write(copy, text)
  return ("env LUA_PATH='%s/?.lua;%s' %s spec/worlds/main.lua"):format(place, os.getenv "LUA_PATH", arg[-1])
end

local function try(bug)
  local path, problem = (bug.file:find "%.lua$" and prepare or build)(bug)
  if not path then return { bug.name, "NOT BUILT: " .. problem, "-", 0, failed = true } end
  local arguments = "--first " .. (bug.run or "--recipe lock --seeds 20000")
  local began = os.time()
  local said, well = output(("ASAN_OPTIONS=detect_leaks=0:abort_on_error=1 UBSAN_OPTIONS=abort_on_error=1 " ..
    "timeout %d %s %s"):format(limit, path, arguments))
  local what, after, name = verdict(said, well)
  return { bug.name, what or "NOT CAUGHT", after or "-", os.time() - began, name, failed = not what }
end

-- ---- All of them ------------------------------------------------------------------------------

local function all_bugs()
  local bugs = {}
  for _, path in ipairs(lines((output "ls spec/*/planted_*.lua"))) do
    for _, bug in ipairs(dofile(path)) do
      local here = (bug.asan or false) == (folder:find "asan$" ~= nil)
      if here and (not only or only == "" or bug.name == only) then bugs[#bugs + 1] = bug end
    end
  end
  return bugs
end

local function row(result)
  return ("%-52s %-64s %6s %4d s"):format(result[1], result[2]:sub(1, 64), result[3], result[4])
end

-- Every `parts`th bug, from the `part`th on.
local function work()
  local bugs = all_bugs()
  for i = tonumber(part), #bugs, tonumber(parts) do
    local result = try(bugs[i])
    print((result.failed and "failed " or "passed ") .. row(result))
    io.stdout:flush()
  end
end

local function main()
  local jobs = tonumber((output "nproc"):match "%d+")
  local pipes, passed, failed = {}, 0, 0
  output("mkdir -p " .. folder .. "/planted")
  for job = 1, jobs do
    pipes[job] = io.popen(("%s %s %s '%s' %d %d"):format(arg[-1], arg[0], folder, only or "", job, jobs))
  end
  print(("%-52s %-64s %6s"):format("bug", "caught by", "after"))
  for i = 1, #all_bugs() do
    local line = pipes[(i - 1) % jobs + 1]:read "*l" or "failed without a word"
    print((line:gsub("^%w+ ", "")))
    if line:find "^passed" then passed = passed + 1 else failed = failed + 1 end
  end
  print(("%d passed, %d failed"):format(passed, failed))
  os.exit(failed == 0)
end

if part then work() else main() end
