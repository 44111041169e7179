-- The documents name what there is: every function and method, every code, no link that leads nowhere.

require "zkrecipes.sim"
local check = require "zkrecipes.check"
local core = require "zkrecipes.core"
local process = require "spec.support.process"
local zk = require "zkrecipes"

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

-- What a document says to type: the lines of its shell blocks, without their comments, and `make ...` in its text.
local function commands(text)
  local list = {}
  for block in text:gmatch("```sh\n(.-)```") do
    for line in block:gmatch("[^\n]+") do list[#list + 1] = line:match("^[^#]*") end
  end
  for line in text:gmatch("`(make [^`\n]+)`") do list[#list + 1] = line end
  return list
end

-- Every `name` in the text, and every word that is to be typed.
local function quoted_or_typed(text)
  local list = {}
  for name in text:gmatch("`([%w_./<>*-]+)`") do list[#list + 1] = name end
  for _, line in ipairs(commands(text)) do
    for word in line:gmatch("%S+") do list[#list + 1] = word:match("^[%w_./*-]+$") end
  end
  return list
end

-- The folders of which documents speak; those of src/ and of lua/zkrecipes/ may stand alone. What is in build/ comes and goes.
local FOLDERS = { bench = true, dev = true, docs = true, examples = true, fuzz = true, lua = true, spec = true, src = true,
  core = true, guardian = true, recipes = true, sim = true, zk = true, adapters = true, jobs = true, meta = true, testing = true }

-- `spec/sim/<recipe>.h` and `fuzz/*.c` are there when one such file is.
local function there(name) return process.holds("ls -d " .. name:gsub("<[^>]*>", "*") .. " >/dev/null") end

-- How a class is called in the pages, and in the definitions. A hold is a hold, of one or of several.
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

  it("say what the Makefile knows", function()
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

  it("hold Lua that compiles", function()
    if _VERSION ~= "Lua 5.4" then return end -- they use <close>
    for _, path in ipairs(ALL) do
      for block in read(path):gmatch("```lua\n(.-)```") do
        local ok, problem = load(block, "=" .. path)
        assert(ok, problem)
      end
    end
  end)
end)
