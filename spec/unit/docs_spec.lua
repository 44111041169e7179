-- The documents name every function, method and code, and every link leads to a file.

require "zkrecipes.sim"
local check = require "zkrecipes.check"
local core = require "zkrecipes.core"
local harnesses = require "spec.histories.harnesses"
local process = require "spec.support.process"
local zk = require "zkrecipes"

assert(zk.preload()) -- so that the classes have all methods

local function read(path)
  local file = assert(io.open(path))
  local text = file:read("*a")
  file:close()
  return text
end

local function files(command)
  local list = {}
  for path in process.output(command):gmatch("[^\n]+") do list[#list + 1] = path end
  return list
end

local function read_all(paths)
  local texts = {}
  for i, path in ipairs(paths) do texts[i] = read(path) end
  return table.concat(texts, "\n")
end

local META = read_all(files("find lua/zkrecipes/meta -name '*.lua'"))
local DOCS = read_all(files("find docs -name '*.md'"))
local ALL = files("ls *.md; find docs -name '*.md' | sort")

-- The commands in a document: the lines of its shell blocks, without comments, and `make ...` in its text.
local function commands(text)
  local list = {}
  for block in text:gmatch("```sh\n(.-)```") do
    for line in block:gmatch("[^\n]+") do list[#list + 1] = line:match("^[^#]*") end
  end
  for line in text:gmatch("`(make [^`\n]+)`") do list[#list + 1] = line end
  return list
end

-- Every `name` in the text, and every word of its commands.
local function quoted_or_typed(text)
  local list = {}
  for name in text:gmatch("`([%w_./<>*-]+)`") do list[#list + 1] = name end
  for _, line in ipairs(commands(text)) do
    for word in line:gmatch("%S+") do list[#list + 1] = word:match("^[%w_./*-]+$") end
  end
  return list
end

-- The folders that documents may name; those of src/ and of lua/zkrecipes/ also without their parents. Not build/, which changes.
local FOLDERS = { bench = true, dev = true, docs = true, examples = true, fuzz = true, lua = true, spec = true, src = true,
  core = true, guardian = true, recipes = true, sim = true, tls = true, zk = true, adapters = true, host = true, meta = true, status = true,
  testing = true }

-- `spec/histories/engine/<recipe>.c` and `fuzz/*.c` exist if at least one such file exists.
local function there(name) return process.holds("ls -d " .. name:gsub("<[^>]*>", "*") .. " >/dev/null") end

-- The name of a class in the pages, and in the definitions. The pages call the hold of a multilock a hold too.
local CALLED = { multihold = "hold" }
local function name_of(class) return class.meta.__name:match("[%w_]+$") end
local function title(name) return (("_" .. name):gsub("_(%l)", string.upper)) end

describe("the documents name", function()
  it("every function of the module", function()
    for name in pairs(zk) do
      assert(META:find("zk." .. name .. "(", 1, true) or META:find("---@field " .. name .. " ", 1, true),
        "zk." .. name .. " is not in the definitions")
      assert(name == "_VERSION" or DOCS:find("zk%." .. name .. "%f[%W]"), "zk." .. name .. " is in no page of docs/")
    end
  end)

  for _, classes in ipairs { core.classes, check.classes } do
    for kind, class in pairs(classes) do
      it("every method of a " .. kind, function()
        local owner = name_of(class)
        for name in pairs(class.methods) do
          if not name:find("^__") then
            assert(META:find("function " .. title(owner) .. ":" .. name .. "(", 1, true),
              owner .. ":" .. name .. " is not in the definitions")
            local called = CALLED[owner] or owner
            assert(DOCS:find("%f[%w_]" .. called .. ":" .. name .. "%f[%W]"), owner .. ":" .. name .. " is in no page of docs/")
          end
        end
      end)
    end
  end

  it("every function for the configuration of nginx", function()
    for name in read("lua/zkrecipes/openresty.lua"):gmatch("function M%.([%l_]+)%(") do
      assert(META:find("function openresty." .. name .. "(", 1, true), "openresty." .. name .. " is not in the definitions")
      assert(DOCS:find('require("zkrecipes.openresty").' .. name .. "(", 1, true), "openresty." .. name .. " is in no page of docs/")
    end
  end)

  it("every code", function()
    local session_page = read("docs/session.md")
    for word in read("src/core/status.def"):gmatch('ZR_STATUS%([%u_]+,%s*"([%l_]+)"') do
      if word ~= "ok" then
        assert(session_page:find("| `" .. word .. "` |", 1, true), word .. " is not in the table of docs/session.md")
        assert(META:find('| "' .. word .. '"', 1, true), word .. " is not in the definitions")
      end
    end
  end)
end)

-- ---- The definitions -----------------------------------------------------------------------------

-- The functions in a text of definitions: name, and the lines of the comment above each; and the comments of each class.
local function defined(text)
  local list, classes, comment = {}, {}, {}
  for line in (text .. "\n"):gmatch("([^\n]*)\n") do
    local name, class = line:match("^function ([%w_.:]+)%("), line:match("^%-%-%-@class zkrecipes%.(%w+)")
    if name then list[#list + 1] = { name = name, comment = comment } end
    if class then classes[class] = (classes[class] or "") .. table.concat(comment, "\n") end
    if line:find("^%-%-%-") then comment[#comment + 1] = line else comment = {} end
  end
  return list, classes
end

-- The sentences of a comment, and its example.
local function said(comment)
  local text = table.concat(comment, "\n") .. "\n"
  local example = text:match("%-%-%-```lua\n(.-)%-%-%-```\n")
  local sentences = text:gsub("%-%-%-```lua\n.-%-%-%-```\n", ""):match("^(.-)%-%-%-@") or text
  return sentences, example and example:gsub("%f[%-]%-%-%-", "")
end

-- The text after `zkrecipes.Code? code`, up to the next tag.
local function codes_of(comment)
  local text = table.concat(comment, "\n"):gsub("\n%-%-%-([^@])", " %1")
  return text:match("zkrecipes%.Code%?? code([^\n]*)")
end

describe("the definitions", function()
  local functions, classes = defined(META)
  local known = { error = true }
  for word in read("src/core/status.def"):gmatch('ZR_STATUS%([%u_]+,%s*"([%l_]+)"') do known[word] = true end

  local function each(fn)
    assert(#functions > 150)
    for _, one in ipairs(functions) do fn(one.name, one.comment) end
  end

  it("describe each function in a sentence", function()
    each(function(name, comment) assert(said(comment):find("%a%a"), name .. ": no sentence") end)
  end)

  it("have an example, which compiles, for each function that waits", function()
    each(function(name, comment)
      local sentences, example = said(comment)
      local waits = table.concat(comment, "\n"):find("---@async", 1, true)
      assert(example or not waits or sentences:find("^%-%-%-As "), name .. ": no example")
      if example then assert((loadstring or load)(example, "=" .. name)) end
    end)
  end)

  it("give the unit of each time limit", function()
    for line in META:gmatch("[^\n]+") do
      if line:find("^%-%-%-@%a+ timeout%?? ") then assert(line:find("seconds", 1, true), line) end
    end
  end)

  it("name existing codes wherever a code is returned", function()
    each(function(name, comment)
      local codes = codes_of(comment)
      if not codes or said(comment):find("^%-%-%-As ") then return end
      assert(codes:find('"%l[%l_]+"') or codes:find("as of %u%a+:%l+"), name .. ": no code")
      for code in codes:gmatch('"([%l_]+)"') do assert(known[code], name .. ": " .. code) end
      for other in codes:gmatch("as of (%u%a+:[%l_]+)") do assert(META:find("function " .. other .. "(", 1, true), name) end
    end)
  end)

  it("name the source of each recipe", function()
    for _, class in ipairs { "Lock", "Rwlock", "Multilock", "Semaphore", "Election", "Queue", "Barrier", "Latch", "CyclicBarrier",
      "DoubleBarrier", "Counter", "Ids", "Presence", "Group", "Partitioner", "Tree" } do
      local above = classes[class]
      assert(above:find("algorithm", 1, true) or above:find("page of recipes", 1, true), class)
    end
  end)

  it("name every adapter", function()
    for path in process.output("ls lua/zkrecipes/adapters"):gmatch("(%w+)%.lua") do
      if path ~= "copas1" then assert(META:find('"' .. path .. '"', 1, true), path) end -- a part of copas
    end
  end)
end)

describe("the documents", function()
  it("link to files that exist", function()
    for _, path in ipairs(ALL) do
      local folder = path:match("^(.*/)") or ""
      for target in read(path):gmatch("%]%(([^)#]+)[^)]*%)") do
        if not target:find("^%a+:") then
          assert(process.exists(folder .. target), path .. " links to " .. target .. ", which is not there")
        end
      end
    end
  end)

  it("begin with the two commands for a new machine", function()
    local readme = read "README.md"
    for _, command in ipairs { "make demo", "make test" } do
      assert(readme:find("\n" .. command .. "\n", 1, true), "README.md does not give the command '" .. command .. "'")
    end
  end)

  it("are all in the index, and on the site", function()
    local index, site = read("docs/README.md"), read("dev/site/mkdocs.yml")
    for path in process.output("cd docs && find * -name '*.md'"):gmatch("[^\n]+") do
      assert(path == "README.md" or index:find("](" .. path .. ")", 1, true), "docs/README.md does not name " .. path)
      assert(site:find(": " .. path .. "\n", 1, true), "dev/site/mkdocs.yml does not name " .. path)
    end
  end)

  it("have the same headings on each page of a recipe", function()
    for path in process.output("ls docs/recipes/*.md"):gmatch("[^\n]+") do
      for _, heading in ipairs { "What is promised", "When the link breaks", "Costs", "Limits" } do
        assert(read(path):find("\n## " .. heading .. "\n", 1, true), path .. " has no heading '" .. heading .. "'")
      end
    end
  end)

  it("name files and folders of the sources that exist", function()
    local names = {}
    for _, path in ipairs(files("git ls-files 2>/dev/null || find . -type f")) do names[path:match("[^/]+$")] = true end
    for _, path in ipairs(ALL) do
      for _, name in ipairs(quoted_or_typed(read(path))) do
        if FOLDERS[name:match("^(%l+)/")] then
          assert(there(name) or there("src/" .. name) or there("lua/zkrecipes/" .. name), path .. " speaks of " .. name)
        elseif name:find("^[%w_]+%.[ch]$") or name:find("^[%w_]+%.lua$") or name:find("^[%w_]+%.def$") then
          assert(names[name], path .. " speaks of " .. name)
        end
      end
    end
  end)

  it("name functions of the core that exist", function()
    local sources = read_all(files("find src -name '*.[ch]'"))
    for _, path in ipairs(ALL) do
      for name in read(path):gmatch("`(zr_[%w_]+)`") do
        assert(sources:find("%f[%w_]" .. name .. "%f[^%w_]"), path .. " speaks of " .. name)
      end
    end
  end)

  it("name targets and variables that the Makefile has", function()
    local makefile = read("Makefile")
    local function known(path, word)
      local variable = word:match("^([%u_]+)=")
      if variable then
        assert(makefile:find("$(" .. variable .. ")", 1, true), path .. " says make " .. word)
      elseif not word:find("^%-") then
        assert(makefile:find("\n" .. word:gsub("%p", "%%%0") .. ":"), path .. " says make " .. word)
      end
    end
    for _, path in ipairs(ALL) do
      for _, line in ipairs(commands(read(path))) do
        for word in (line:match("^make (.*)") or ""):gmatch("%S+") do known(path, word) end
      end
    end
  end)

  local function recipes_of(name)
    for _, harness in ipairs(harnesses) do
      if harness.name == name then return harness.recipes end
    end
  end

  it("give the number of histories, and not more planted bugs than there are", function()
    local page, worlds = read("docs/proof.md"), read("spec/histories/worlds/main.lua")
    local function tells(recipe, count) -- the row of the table: | lock, ... | 100,000 each | ...
      local with_comma = tostring(count):reverse():gsub("(%d%d%d)(%d)", "%1,%2"):reverse()
      for row in page:gmatch("\n(|[^\n]+)") do
        local names, number = row:match("^| ([^|]+) | ([%d,]+)[^|]*|")
        if number == with_comma and (names .. ","):find("%f[%l]" .. recipe .. "%f[%L]") then return end
      end
      error(("docs/proof.md does not say that there are %s histories of %s"):format(with_comma, recipe))
    end
    for _, name in ipairs(recipes_of("engine")) do
      tells(name, read("spec/histories/engine/" .. name .. ".c"):match("%.histories = (%d+),"))
    end
    local seeds, fewer = worlds:match("local SEEDS = (%d+)"), worlds:match("local FEWER = (%b{})")
    for _, name in ipairs(recipes_of("worlds")) do tells(name, fewer:match(name .. " = (%d+)") or seeds) end
    tells("queue", read("spec/histories/queue/histories.lua"):match("local SEEDS = (%d+)"))
    tells("lease", read("spec/histories/lease/lease_histories.c"):match("seeds = (%d+)"))

    local planted = 0
    for path in process.output("ls spec/histories/planted/*.lua | grep -v plant.lua"):gmatch("[^\n]+") do
      planted = planted + #dofile(path)
    end
    local least = tonumber(page:match("more than (%d+) planted bugs"))
    assert(planted > least, ("%d planted bugs"):format(planted))
  end)

  it("contain Lua that compiles", function()
    if _VERSION ~= "Lua 5.4" then return end -- they use <close>
    for _, path in ipairs(ALL) do
      for block in read(path):gmatch("```lua\n(.-)```") do
        local ok, problem = load(block, "=" .. path)
        assert(ok, problem)
      end
    end
  end)
end)
