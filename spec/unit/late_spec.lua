-- What is loaded when: require "zkrecipes" reads what every program needs, and the Lua of a recipe is read at its first use.
--
-- Tags: sanitize

local env = require "spec.support.env"
local process = require "spec.support.process"

-- The interpreter's last word may be a relative path.
local INTERPRETER = env.interpreter():gsub("%S+$", function(word)
  return word:find "^[^/]+/" and process.output "pwd" .. "/" .. word or word
end)

-- Runs a program of its own in this folder. It prints one line. before: a command for its shell.
local function run(program, folder, before)
  local path = os.tmpname()
  local file = assert(io.open(path, "w"))
  file:write(program)
  file:close()
  local text = process.output(("cd '%s' && %s %s %s 2>&1"):format(folder or ".", before or "", INTERPRETER, path))
  os.remove(path)
  return text
end

-- For programs: the names of the files that are loaded.
local LOADED = [[
  local function loaded(which)
    local names = {}
    for name in pairs(package.loaded) do names[#names + 1] = name:match("^zkrecipes%.(" .. (which or ".") .. ".*)") end
    table.sort(names)
    return table.concat(names, " ")
  end
]]

-- For programs: a session without a server, and what makes an object of each recipe.
local EACH = [[
  local zk = require "zkrecipes"
  local session = zk.session { hosts = "127.0.0.1:1" }
  local METHODS = { "config", "election", "group", "ids", "lock", "multilock", "partitioner", "presence", "queue", "registry", "rwlock",
    "semaphore", "snowflake", "topic", "tree", "two_phase" }
]]

local ALWAYS = "adapters.builtin check classes core escape host.coroutines host.dispatch host.fifo host.host host.loop host.run "
  .. "host.scopes host.tasks host.timers host.wait host.waiters late module path recipes recipes.lock.own_holds session "
  .. "status.activity status.queue_lengths status.status"

local function with(names, more)
  local list = {}
  for name in (names .. " " .. more):gmatch "%S+" do list[#list + 1] = name end
  table.sort(list)
  return table.concat(list, " ")
end

local function recipes_on_disk()
  return with(process.output "cd lua/zkrecipes && find recipes -name '*.lua' | sed 's/.lua$//; s|/|.|g'", "")
end

describe("a program loads", function()
  it("only what a lock needs", function()
    assert.equal(ALWAYS, run(LOADED .. 'require "zkrecipes" print(loaded())'))
    local program = LOADED .. [[
      local zk = require "zkrecipes"
      zk.run(function()
        local session = zk.session { hosts = HOSTS, timeout = 15 }
        assert(assert(session:lock("/late-spec", { data = "me" }):acquire(200)):release())
        print(loaded())
      end)
    ]]
    assert.equal(with(ALWAYS, "recipes.lock.lock"), run(("local HOSTS = %q"):format(env.server().hosts) .. program))
  end)

  it("the ways of a lock that it asks for", function()
    local function needs(option) return run(LOADED .. EACH .. "session:lock('/l', { " .. option .. " }) print(loaded())") end
    assert.equal(with(ALWAYS, "recipes.lock.lock"), needs "reentrant = true")
    assert.equal(with(ALWAYS, "recipes.lock.lock recipes.lock.cohort recipes.lock.turn limit collected"), needs "cohort = true")
    assert.equal(with(ALWAYS, "recipes.lock.lock recipes.lock.revocable lost_answers limit"), needs "on_request = print")
  end)

  it("all recipes with zk.preload(), and no more later", function()
    local found = run(LOADED .. EACH .. [[
      assert(zk.preload() == true)
      local before, SECOND = loaded(), { semaphore = 2 }
      for _, name in ipairs(METHODS) do
        local made, problem = pcall(session[name], session, name == "multilock" and { session:lock "/l" } or "/" .. name, SECOND[name])
        assert(made or name == "partitioner", problem) -- which would wait for a server
      end
      session:lock("/c", { cohort = true })
      session:lock("/r", { on_request = print })
      assert(loaded() == before)
      print(loaded "recipes%.")
    ]])
    assert.equal(recipes_on_disk(), found)
  end)
end)

-- Uses each recipe in a simulated world.
local USE = [[
  local function use(session)
    local function serve() return true end
    local with = { assert(session:lock("/l"):acquire(9)), assert(session:lock("/c", { cohort = true }):acquire(9)),
      assert(session:lock("/r", { on_request = print }):acquire(9)), assert(session:rwlock("/w"):read(9)),
      assert(session:semaphore("/s", 2):acquire(9)), assert(session:multilock { session:lock "/m" }:acquire(9)),
      assert(session:election("/e"):campaign(9)), assert(session:snowflake("/f"):acquire(9)) }
    local topic = session:topic "/t"
    assert(topic:publish("x", { id = "x" }) and topic:subscribe { name = "n" })
    assert(session:group("/g"):join "x")
    assert(session:partitioner("/p", { "a" }, { settle = 0 }):ready(9))
    local registry = session:registry "/i"
    assert(registry:register("web", { address = "h", port = 1 }))
    assert(registry:await("web", 1, 9) and registry:pick("web", "random"))
    assert(session:two_phase("/2"):serve("a", { prepare = serve, commit = serve, abort = serve }))
    assert(session:two_phase("/2"):run("id", "", { "a" }, 9) == "committed")
    assert(session:queue("/q"):put "x" and session:ids("/n"):next() and session:config("/k"):set "x" and session:tree "/t")
    assert(session:presence("/o", "x"):ready(9))
    return with
  end
]]

describe("after zk.preload()", function()
  it("each recipe works without a free descriptor, as after chroot", function()
    assert.equal("good", run(EACH .. USE .. [[
      local world = require "zkrecipes.sim".new { seed = 1 }
      assert(zk.preload())
      local files, problem, number = {}, nil, nil
      repeat
        files[#files + 1], problem, number = io.open "/dev/null"
      until problem
      assert(number == 24, problem) -- EMFILE
      world:run(function() use(world:session()) end, { fail_fast = false })
      assert(not io.open "/dev/null")
      print "good"
    ]], nil, "ulimit -n 100 &&"))
  end)
end)

describe("the first use of a recipe", function()
  it("raises misuse at the caller's line", function()
    assert.equal("good", run(EACH .. [[
      for _, name in ipairs(METHODS) do
        local method = session[name]
        for self, text in pairs { [session] = "bad argument #1 to '" .. name, [42] = "calling '" .. name .. "' on a bad self" } do
          local line
          local ok, problem = pcall(function()
            line = debug.getinfo(1, "l").currentline
            local result = method(self, 42) return result
          end)
          assert(not ok and problem:find((":%d: %s"):format(line + 1, text), 1, true), name .. ": " .. tostring(problem))
        end
        assert(session[name] ~= method, name .. " is still the loader")
      end
      print "good"
    ]]))
  end)
end)

describe("<close>", function()
  it("releases holds of every recipe and counts that, whether the lock's Lua is loaded or not", function()
    local closed = run [[
      local world = require "zkrecipes.sim".new()
      world:run(function()
        local zk = world:process()
        local session = zk.session()
        for i, take in ipairs {
          function() return session:semaphore("/s", 1):acquire(100) end,
          function() return session:election("/e"):campaign(100) end,
          function() return session:lock("/l"):acquire(100) end,
          function() return session:lock("/c", { cohort = true }):acquire(100) end,
        } do
          for round = 1, 2 do -- it is free again
            local hold = assert(take())
            debug.getmetatable(hold).__close(hold)
            local status = zk.status()
            assert(status.released == 2 * (i - 1) + round and #status.holds == 0, i)
          end
        end
      end)
    ]]
    assert.equal("", closed)
  end)
end)

describe("a wrapper of a method", function()
  it("stays when the recipe is loaded, by a call or by zk.preload()", function()
    assert.equal("good", run(EACH .. [[
      local methods, calls = require "zkrecipes.core".classes.session.methods, 0
      for _, name in ipairs(METHODS) do
        local method = methods[name]
        methods[name] = function(...)
          calls = calls + 1
          return method(...)
        end
      end
      assert(session:rwlock "/w" and session:lock "/l" and session:rwlock "/w" and calls == 3)
      assert(zk.preload())
      assert(session:queue "/q" and session:semaphore("/s", 2) and calls == 5)
      print "good"
    ]]))
  end)
end)

-- ---- Another copy of the package -----------------------------------------------------------------

local function library()
  for template in package.cpath:gmatch "[^;]+" do
    local path = template:gsub("?", "zkrecipes/core")
    if process.exists(path) then return path end
  end
end

describe("a package that", function()
  local folder

  before_each(function()
    folder = process.output "mktemp -d"
    os.execute(("cp -r lua/zkrecipes '%s' && cp '%s' '%s/zkrecipes/'"):format(folder, library(), folder))
  end)

  after_each(function() os.execute(("rm -rf '%s'"):format(folder)) end)

  -- Runs it in the folder, with this package, which a relative path names.
  local function run_here(program)
    return run('package.path, package.cpath = "./?.lua;./?/init.lua;" .. package.path, "./?.so;" .. package.cpath ' .. EACH .. program,
      folder)
  end

  it("a relative path has found is found later, whatever the program changes", function()
    assert.equal("good", run_here [[
      local path = package.path
      assert(require "luv".chdir "/" == 0)
      package.path = ""
      assert(session:queue "/q" and package.path == "")
      package.path = nil
      assert(session:topic "/t" and package.path == nil)
      package.path = path
      local source = debug.getinfo(package.loaded["zkrecipes.recipes.queue.item"].given, "S").source
      assert(source:find "^@/.*/zkrecipes/recipes/queue/item%.lua$", source)
      print "good"
    ]])
  end)

  for file, use in pairs {
    ["lock/cohort"] = 'session:lock("/l", { cohort = true })',
    ["queue/queue"] = 'session:queue "/q"',
    ["queue/arguments"] = 'session:queue "/q"', -- which other files of the queue load
  } do
    it("has lost a file fails the call, and the next one tries again: " .. file, function()
      assert.equal("good", run_here(("local file = 'zkrecipes/recipes/%s.lua' local function use() return %s end"):format(file, use) .. [[
        os.rename(file, file .. ".not")
        local other = "lua/" .. file -- in package.path
        os.execute(("mkdir -p $(dirname %s) && echo 'return true' >%s"):format(other, other))
        for _, load in ipairs { use, use, zk.preload, zk.preload } do
          local found, message, code = load()
          assert(not found and code == "unsupported" and message:find "a part of the package zkrecipes cannot be loaded", message)
        end
        os.rename(file .. ".not", file)
        assert(use() and zk.preload())
        print "good"
      ]]))
    end)
  end

  it("cannot be loaded, because the program has no 'require' any more, says so", function()
    assert.equal("good", run_here [[
      local real = require
      require = nil
      local queue, message, code = session:queue "/q"
      assert(not queue and code == "unsupported" and message:find "^session:queue: a part of the package.*'require'", message)
      require = real
      assert(session:queue "/q")
      print "good"
    ]])
  end)

  -- Under the thread sanitizer the module does not find its own file when it is loaded.
  local _ = not os.getenv "TSAN_OPTIONS" and it("is upgraded meanwhile is not mixed with what is loaded", function()
    assert.equal("session:queue: the package zkrecipes was upgraded or removed, or can no longer be read, since this process loaded it; "
      .. "restart the process unsupported good", run_here [[
      assert(session:lock "/l")
      os.execute "cp -p zkrecipes/core.so same && mv same zkrecipes/core.so" -- the same package again
      assert(session:rwlock "/w")
      os.execute "touch -d '2001-01-01' zkrecipes/core.so"
      local queue, message, code = session:queue "/q"
      assert(not queue and session:lock "/l" and session:rwlock "/w")
      print(message, code, "good")
    ]]:gsub("\t", " "))
  end)

  it("is upgraded after zk.preload() runs on", function()
    assert.equal("good", run_here [[
      assert(zk.preload())
      os.execute "rm -r zkrecipes"
      assert(session:queue "/q" and session:lock("/l", { cohort = true }) and zk.preload())
      print "good"
    ]])
  end)

  it("is in no folder is found as the program has arranged it", function()
    assert.equal("good", run(("local here = %q"):format(folder) .. [[

      package.path, package.cpath = here .. "/?.lua;" .. here .. "/?/init.lua;" .. package.path, here .. "/?.so;" .. package.cpath
      local text = io.open(here .. "/zkrecipes/late.lua"):read "*a"
      package.preload["zkrecipes.late"] = function() return (loadstring or load)(text, "=bundle")() end
    ]] .. EACH .. [[
      package.preload["zkrecipes.recipes.presence.presence"] = function() _G.was_here = true return true end
      assert(session:presence "/p" and was_here)
      print "good"
    ]]))
  end)
end)
