-- Plants each bug of planted_*.lua into a copy of its file, and sees that the histories catch it.
--
--     plant.lua FOLDER [NAME]      FOLDER: where make has built the simulator's objects
--
-- A bug is { name, file, old, new }, where `old` must occur exactly once in the file: a list that
-- no longer fits the code fails. Further fields: run (arguments for histories; random histories of
-- the lock if there are none), test (another program of the folder, instead of histories).
-- Nothing else is compiled again than the one file.

local folder, only, part, parts = (...), select(2, ...)
local limit = 120 -- seconds a bug may take

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

local function planted(bug)
  local text = read(bug.file)
  local from, to = text:find(bug.old, 1, true)
  if not from then return nil, "the text it replaces is not there" end
  if text:find(bug.old, to + 1, true) then return nil, "the text it replaces is there twice" end
  return text:sub(1, from - 1) .. bug.new .. text:sub(to + 1)
end

-- Builds the program with the bug in it.
local function build(bug, program)
  local text, problem = planted(bug)
  if not text then return nil, problem end
  local base = folder .. "/planted/" .. bug.name:gsub("%W+", "-")
  local object = folder .. bug.file:gsub("^src", ""):gsub("c$", "o")
  local objects = output(("ls %s/core/*.o %s/recipes/*.o %s/sim/*.o"):gsub("%%s", folder))
  write(base .. ".c", text)
  local others = {}
  for _, path in ipairs(lines(objects)) do
    if path ~= object then others[#others + 1] = path end
  end
  local cc, flags = os.getenv "CC", os.getenv "CFLAGS"
  local said, well = output(("%s %s -w -c -o %s.o %s.c && %s %s -o %s %s.o %s/spec/%s.o %s"):format(
    cc, flags, base, base, cc, flags, base, base, folder, program, table.concat(others, " ")))
  if not well then return nil, said end
  return base
end

-- What the program has to say against the bug, and after how many histories; or nil.
local function verdict(said, well)
  if well then return nil end
  local crash = said:match "AddressSanitizer: ([%w-]+)" or said:match "runtime error: ([^\n]+)"
  local after, name, what = said:match "after (%d+) histories: (%-%-[^:]*): ([^\n]*)"
  if not after then return crash or said:match "FAILED: ([^\n]*)" or said:match "[^\n]*", "-", "" end
  return crash and what .. " (" .. crash .. ")" or what, after, name
end

local function try(bug)
  local program = bug.test or "histories"
  local path, problem = build(bug, program)
  if not path then return { bug.name, "NOT BUILT: " .. problem, "-", 0, failed = true } end
  local arguments = bug.test and "" or "--first " .. (bug.run or "--recipe lock --seeds 20000")
  local began = os.time()
  local said, well = output(("ASAN_OPTIONS=detect_leaks=0:abort_on_error=1 UBSAN_OPTIONS=abort_on_error=1 " ..
    "timeout %d %s %s"):format(limit, path, arguments))
  local what, after, name = verdict(said, well)
  return { bug.name, what or "NOT CAUGHT", after or "-", os.time() - began, name, failed = not what }
end

-- ---- All of them ------------------------------------------------------------------------------

local function all_bugs()
  local bugs = {}
  for _, path in ipairs(lines((output "ls spec/sim/planted_*.lua"))) do
    for _, bug in ipairs(dofile(path)) do
      if not only or only == "" or bug.name == only then bugs[#bugs + 1] = bug end
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
  os.exit(failed == 0 and passed > 0)
end

if part then work() else main() end
