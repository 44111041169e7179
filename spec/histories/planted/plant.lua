-- `make planted`: plants each bug of the lists in this folder into a copy of its file, and checks that the histories catch it.
--
--     plant.lua [--harness NAMES] [--recipe NAME] [--bug NAME]
--
-- A bug is { name, file, old, new }, where `old` must occur exactly once in the file: a list that no longer fits the code fails. Optional
-- fields: also ({ file, old, new }, a second place), harness (see harnesses.lua; default "engine"), run (arguments of the program; default
-- below), asan (only the address sanitizer catches it). The history of near.lua is tried first.
--
-- For a bug in C, only its file is compiled again and linked with the objects that make has built: to a program or, for a harness in Lua,
-- to the module. The search path finds this module first, or the copy of a file in Lua.

local harnesses = require "spec.histories.harnesses"
local near = require "spec.histories.near"
local parse = require "spec.histories.options"

local FOLDER = "build/planted"
local LIMIT = 3600 -- seconds after which a bug counts as not caught; a quiet machine takes some seconds
local NOT_BUILT = 99
local CRASHES = { [134] = "it is aborted", [135] = "a bus error", [139] = "a segmentation fault" } -- a bug may free what is in use
local RUN = { engine = "--recipe lock --seeds 20000", lease = "--recipe lease", queue = "--recipe queue" }

local options = parse(arg, { harness = true, recipe = true, bug = true })

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

local function output(command)
  local pipe = assert(io.popen(command))
  local text = pipe:read("*a")
  pipe:close()
  return text
end

local function lines(text)
  local list = {}
  for line in text:gmatch("[^\n]+") do list[#list + 1] = line end
  return list
end

-- ---- Which bugs -------------------------------------------------------------------------------

local function harness_of(bug)
  for _, harness in ipairs(harnesses) do
    if harness.name == (bug.harness or "engine") then return harness end
  end
  error(bug.name .. ": there is no such harness: " .. bug.harness, 0)
end

local function is_chosen(bug)
  local recipe = (bug.run or RUN[bug.harness or "engine"]):match "%-%-recipe (%S+)"
  return (not options.bug or options.bug == bug.name) and (not options.recipe or options.recipe == recipe)
    and harnesses.is_chosen(harness_of(bug), options.harness)
end

local function chosen()
  local bugs, known = {}, {}
  for _, path in ipairs(lines(output "ls spec/histories/planted/*.lua | grep -v /plant.lua")) do
    for _, bug in ipairs(dofile(path)) do
      assert(not known[bug.name], bug.name .. " is there twice")
      known[bug.name] = true
      if is_chosen(bug) then bugs[#bugs + 1] = bug end
    end
  end
  return bugs
end

-- ---- How a bug is built and run ---------------------------------------------------------------

-- Builds once what all bugs of this build need. Returns the folder of its objects, the commands that compile and link, and the objects of
-- each program, or of the module.
local parts = {}
local function parts_of(target, san)
  local name = target .. san
  if parts[name] then return parts[name] end
  local told = lines(output(("%s --no-print-directory -s SAN=%s %s"):format(os.getenv "MAKE", san, target)))
  assert(#told >= 4, "make " .. target .. " has failed")
  parts[name] = { folder = told[1], compile = told[2], link = told[3], objects = told[4], lease_histories = told[5] }
  return parts[name]
end

local function replaced(text, edit)
  local from, to = text:find(edit.old, 1, true)
  if not from then return nil, "what it replaces is not there" end
  if text:find(edit.old, to + 1, true) then return nil, "what it replaces is there twice" end
  return text:sub(1, from - 1) .. edit.new .. text:sub(to + 1)
end

-- Returns the files with the bug: path > text. Or nil and the reason.
local function edited(bug)
  local texts = {}
  for _, edit in ipairs { bug, bug.also } do
    local file = edit.file or bug.file
    local text, problem = replaced(texts[file] or read(file), edit)
    if not text then return nil, file .. ": " .. problem end
    texts[file] = text
  end
  return texts
end

-- Returns the commands that compile the files with the bug, link them with the other objects, and write `result`. Most bugs are caught in
-- the first history, so more optimization would cost more than it saves.
local function build(bug, place, texts, part, objects, result)
  local commands, count = {}, 0
  for file, text in pairs(texts) do
    count = count + 1
    local copy = place .. "/" .. count
    write(copy .. ".c", text)
    commands[count] = ("%s -w -g0 -O1 -c -o %s.o %s.c || exit %d"):format(part.compile, copy, copy, NOT_BUILT)
    local object, found = part.folder .. file:gsub("^src", ""):gsub("c$", "o"), false
    objects = objects:gsub("%S+", function(path)
      found = found or path == object
      return path == object and copy .. ".o"
    end)
    assert(found, bug.name .. ": " .. object .. " is no part of the program")
  end
  commands[count + 1] = ("%s -s -o %s %s || exit %d"):format(part.link, result, objects, NOT_BUILT)
  return table.concat(commands, "\n")
end

-- The functions in_* return the commands that build the program with the bug, and the program.
local function in_c(bug, place, texts)
  local name = harness_of(bug).program
  local part, program = parts_of("planted-programs", bug.asan and "asan" or ""), place .. "/" .. name
  return build(bug, place, texts, part, part[name] or part.objects, program), program
end

local function in_module(bug, place, texts)
  local part = parts_of("planted-module", "")
  output(("mkdir %s/zkrecipes"):format(place))
  local commands = build(bug, place, texts, part, part.objects, place .. "/zkrecipes/core.so")
  return ("%s\nexport LUA_CPATH='%s/?.so;%s'"):format(commands, place, os.getenv "LUA_CPATH"), arg[-1] .. " " .. harness_of(bug).script
end

local function in_lua(bug, place, texts)
  for file, text in pairs(texts) do
    local copy = place .. file:gsub("^lua", "")
    output("mkdir -p " .. copy:match "^(.*)/")
    write(copy, text)
  end
  local path = ("%s/?.lua;%s/?/init.lua;%s"):format(place, place, os.getenv "LUA_PATH")
  return ("export LUA_PATH='%s'"):format(path), arg[-1] .. " " .. harness_of(bug).script
end

local function way_of(bug)
  if bug.file:find "%.lua$" then return in_lua end
  return harness_of(bug).program and in_c or in_module
end

-- The arguments that run only the history of near.lua, or nil.
local function nearest(bug)
  local known = near[bug.name]
  if type(known) == "string" then return ("--shape '%s'"):format(known) end
  return known and "--seeds 1 --from " .. known
end

-- Writes the files to build and run the bug. Returns their folder; or nil and the reason.
local function prepare(bug)
  local place = FOLDER .. "/" .. bug.name:gsub("%W+", "-")
  local texts, problem = edited(bug)
  if not texts then return nil, problem end
  output(("rm -rf %s && mkdir -p %s"):format(place, place))
  local commands, program = way_of(bug)(bug, place, texts)
  local run = bug.run or RUN[bug.harness or "engine"]
  if #harness_of(bug).recipes == 1 then run = run:gsub("%-%-recipe %S+ ?", "") end
  local try = ("timeout %d %s --first %s"):format(LIMIT, program, run)
  local first = nearest(bug) and ("%s %s || exit\n"):format(try, nearest(bug)) or ""
  write(place .. "/try", ("%s\nexport ASAN_OPTIONS=detect_leaks=0:abort_on_error=1 UBSAN_OPTIONS=abort_on_error=1\n%sexec %s\n")
    :format(commands, first, try))
  return place
end

-- ---- The results ------------------------------------------------------------------------------

-- Returns the violation that the program found, after how many histories, and in which one; or nil and the first line of the output.
local function verdict(said, status)
  local crash = said:match "AddressSanitizer: ([%w-]+)" or said:match "runtime error: ([^\n]+)" or CRASHES[status]
  local after, name, what = said:match "after (%d+) histories: ([^:]*): ([^\n]*)"
  if status == NOT_BUILT then return nil, "NOT BUILT: " .. said:match "[^\n]*" end
  if status == 0 or not (after or crash) then return nil, "NOT CAUGHT: " .. said:match "[^\n]*" end
  if not after then return crash, "-", "" end
  return crash and what .. " (" .. crash .. ")" or what, after, name
end

local function show(name, what, after, seconds, where)
  print(("%-64s %-64s %6s %4d s  %s"):format(name, what:sub(1, 64), after, seconds, where))
  io.stdout:flush()
end

-- Prints the result of a bug whose run has ended. True: the bug was caught.
local function tell(bug, place, status, seconds)
  local what, after, name = verdict(read(place .. "/said"), status)
  show(bug.name, what or after, what and after or "-", seconds, what and name or "")
  return what ~= nil
end

-- Runs the prepared bugs, as many at once as there are processors, and prints each result when the run ends.
local function run(by_place)
  local places = {}
  for place in pairs(by_place) do places[#places + 1] = place end
  table.sort(places)
  local list = os.tmpname() -- a unique name: another run may use the same folder at the same time
  write(list, table.concat(places, "\n") .. "\n")
  local pipe = io.popen(("xargs -a %s -n 1 -P $(nproc) bash -c 'bash $0/try >$0/said 2>&1; echo $0 $? $SECONDS'"):format(list))
  local passed, told = 0, {}
  for line in pipe:lines() do
    local place, status, seconds = line:match "^(%S+) (%d+) (%d+)$"
    told[place] = true
    if tell(by_place[place], place, tonumber(status), tonumber(seconds)) then passed = passed + 1 end
  end
  pipe:close()
  os.remove(list)
  for _, place in ipairs(places) do
    if not told[place] then show(by_place[place].name, "NOT RUN", "-", 0, "") end
  end
  return passed
end

-- ---- The whole ---------------------------------------------------------------------------------

output("mkdir -p " .. FOLDER)
local bugs, by_place = chosen(), {}
print(("%-64s %-64s %6s"):format("bug", "caught by", "after"))
for _, bug in ipairs(bugs) do
  local place, problem = prepare(bug)
  if place then by_place[place] = bug else show(bug.name, "NOT BUILT: " .. problem, "-", 0, "") end
end
local passed = next(by_place) and run(by_place) or 0
print(("%d passed, %d failed"):format(passed, #bugs - passed))
os.exit(#bugs > 0 and passed == #bugs)
