-- Who writes a tree that the workers of an nginx share (openresty/shared/writer.lua), in simulated processes that are switched at each
-- access to the dictionary, killed, and stopped, and that cannot read /proc at times; and what an entry of the dictionary says (copy.lua).
-- In nginx: spec/adapters/openresty_shared_spec.lua, spec/adapters/openresty_proc_spec.lua.

local CLOCK = "zkrecipes.openresty.shared.clock"
local PROCESSES = "zkrecipes.openresty.shared.processes"
local WRITER, COPY = "zkrecipes.openresty.shared.writer", "zkrecipes.openresty.shared.copy"

local world -- { now, alive = pid > true, blind: no process can read /proc }

-- A dictionary, like that of nginx. Each access may switch to another process.
local function new_dict(switch, room)
  local all, count, dict = {}, 0, {}
  local function put(key, value)
    if all[key] == nil then
      if count >= room then return nil, "no memory" end
      count = count + 1
    end
    all[key] = value
    return true
  end
  function dict:get(key) switch() return all[key] end -- luacheck: ignore 212
  function dict:safe_set(key, value) switch() return put(key, value) end -- luacheck: ignore 212
  function dict:safe_add(key, value) -- luacheck: ignore 212
    switch()
    if all[key] ~= nil then return nil, "exists" end
    return put(key, value)
  end
  function dict:replace(key, value) -- luacheck: ignore 212
    switch()
    if all[key] == nil then return nil, "not found" end
    return put(key, value)
  end
  function dict:delete(key) -- luacheck: ignore 212
    switch()
    if all[key] ~= nil then count = count - 1 end
    all[key] = nil
  end
  dict.all = all
  return dict
end

local function proc(pid)
  if world.blind then return nil, "Too many open files", 24 end
  if not world.alive[pid] then return nil, "No such file or directory", 2 end
  local fields = {}
  for i = 4, 52 do fields[i - 3] = i == 22 and "1000" or "0" end
  local text = ("%d (nginx: (a) b) S %s\n"):format(pid, table.concat(fields, " "))
  return { read = function() return text end, close = function() end }
end

-- Its kill and errno; PUC Lua has no other.
local ffi = { cdef = function() end, cast = function(_, fn) return fn end, errno = function() return 3 end,
  C = { kill = function(pid) return world.alive[pid] and 0 or -1 end } }

describe("the writers of a shared tree", function()
  local writers, copy, real_open, real_ngx, real_ffi, pid_now

  setup(function()
    real_open, real_ngx, real_ffi = io.open, rawget(_G, "ngx"), package.loaded.ffi
    io.open = function(path, ...) -- luacheck: ignore 122
      local pid = path:match("^/proc/(%d+)/stat$")
      if pid and world then return proc(tonumber(pid)) end
      return real_open(path, ...)
    end
    rawset(_G, "ngx", { worker = { pid = function() return pid_now end } })
    package.loaded[CLOCK], package.loaded.ffi = { now = function() return world.now end }, ffi
    writers, copy = require(WRITER), require(COPY)
  end)

  teardown(function()
    io.open = real_open -- luacheck: ignore 122
    rawset(_G, "ngx", real_ngx)
    package.loaded[CLOCK], package.loaded[WRITER], package.loaded[COPY], package.loaded[PROCESSES] = nil, nil, nil, nil
    package.loaded.ffi = real_ffi
    world = nil
  end)

  local function pause() coroutine.yield() end

  -- Waits for its turn to write; false: there is a later writer.
  local function begin(writer)
    local done, why
    repeat
      done, why = writer:begin()
      pause()
    until done or why == "over"
    return done
  end

  -- What a worker does.
  local function work(process, dict)
    local writer
    repeat
      pid_now = process.pid
      writer = writers.new(dict, "t:")
      if not writer then pause() end
    until writer
    while true do
      if writer:take() then
        for _ = 1, math.random(6) do
          if not begin(writer) then break end
          process.writes = true
          world.wrote[process.pid] = (world.wrote[process.pid] or 0) + 1
          pause()
          pause()
          process.writes = false
          writer:finish()
        end
        if math.random(2) == 1 then writer:leave() end
      end
      pause()
    end
  end

  local function start(dict, pid)
    local process = { pid = pid, writes = false }
    world.alive[pid] = true
    process.co = coroutine.create(function() work(process, dict) end)
    return process
  end

  local function count_writers(processes)
    local count = 0
    for i = 1, #processes do count = count + (processes[i].writes and 1 or 0) end
    return count
  end

  -- Lets three processes run in turns that the seed decides. Every process that dies is followed by a new one. blinks: /proc cannot be
  -- read now and then.
  local function run(seed, room, steps, blinks)
    math.randomseed(seed)
    world = { now = 100, alive = {}, wrote = {} }
    local dict = new_dict(function() if coroutine.running() then coroutine.yield() end end, room)
    local processes, last = {}, 3
    for i = 1, 3 do processes[i] = start(dict, i) end
    local current = 1
    for _ = 1, steps do
      if math.random(4) == 1 then current = math.random(3) end -- the others are stopped as long
      if math.random(60) == 1 then
        world.alive[processes[current].pid] = nil
        last = last + 1
        processes[current] = start(dict, last)
      end
      if math.random(40) == 1 then world.now = world.now + 11 end
      if blinks and math.random(20) == 1 then world.blind = not world.blind end
      assert(coroutine.resume(processes[current].co))
      assert(count_writers(processes) <= 1, "two processes write; seed " .. seed)
    end
    return last, dict
  end

  it("let at most one process write, whatever is stopped or killed", function()
    local wrote = 0
    for seed = 1, 300 do
      run(seed, 1000, 1000)
      for _ in pairs(world.wrote) do wrote = wrote + 1 end
    end
    assert.is_true(wrote > 1000, wrote .. " processes wrote")
  end)

  it("let at most one process write if the dictionary is full at times", function()
    for seed = 1, 100 do run(seed, 2 + seed % 6, 1000) end
  end)

  it("let at most one process write if /proc cannot be read at times", function()
    local wrote = 0
    for seed = 1, 100 do
      run(seed, 1000, 1000, true)
      for _ in pairs(world.wrote) do wrote = wrote + 1 end
    end
    assert.is_true(wrote > 300, wrote .. " processes wrote")
  end)

  it("are followed once they are dead, also while /proc cannot be read", function()
    world = { now = 100, alive = { true, true }, wrote = {} }
    local dict = new_dict(function() end, 1000)
    pid_now = 1
    local first = writers.new(dict, "t:")
    assert(first:take() and first:begin())
    pid_now = 2
    local second = writers.new(dict, "t:")
    world.blind = true
    assert.is_nil(second:take())
    world.alive[1] = nil
    assert.is_true(second:take())
    assert.is_true(second:begin())
  end)

  it("leave few keys behind", function()
    for seed = 1, 10 do
      local _, dict = run(seed, 1000, 5000)
      local count = 0
      for _ in pairs(dict.all) do count = count + 1 end
      assert.is_true(count < 50, count .. " keys")
    end
  end)

  it("never give two texts of an entry that follow each other the same length", function()
    local stat = { mzxid = "a", version = 1 }
    local first = copy.encode("10.0.0.7", stat, nil, { "x", "y" })
    local second = copy.encode("10.0.0.8", stat, nil, { "x", "y" }, first)
    local third = copy.encode("10.0.0.9", stat, nil, { "x", "y" }, second)
    assert.are_not.equal(#first, #second)
    assert.are_not.equal(#second, #third)
    local dict = { get = function(_, key) return key == "t:=/c" and second or copy.status_text(true, 1) end }
    local shared = { dict = dict, prefix = "t:", path = "/c" }
    assert.same({ "10.0.0.8", stat }, { copy.get(shared, "/c") })
    assert.same({ "x", "y" }, copy.children(shared, "/c"))
  end)
end)
