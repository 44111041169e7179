-- The file of a watched copy: which files it uses, which it leaves alone, and their age.
-- Tags: sanitize

local zk = require "zkrecipes"
local core = require "zkrecipes.core"
local env = require "spec.support.env"
local files = require "spec.support.tree_file"
local run, raises = env.run, env.raises

local LIMIT = files.LIMIT
local shell, place, read, write, forged = files.shell, files.place, files.read, files.write, files.forged
local prepared, alone, content = files.prepared, files.alone, files.content

describe("the file of a tree", function()
  it("is not used if it is damaged or truncated anywhere, and is replaced", run(function()
    local file, log, said, clean = place()
    local session, namespace = prepared(file)
    local text, away = read(file), alone(namespace, log)
    local function refused(bad, why)
      local before = said(why)
      write(file, bad)
      local tree = away:tree("/c", { file = file })
      assert.is_nil(tree.source)
      assert.same({}, content(tree))
      assert.equal(math.huge, tree:age())
      tree:close()
      env.eventually("it is in the log", function() zk.sleep(0) return said(why) == before + 1 end)
      assert.equal(bad, read(file))
    end
    for at = 18, #text - 1, 7 do
      refused(text:sub(1, at), "is not used: it is damaged")
      refused(text:sub(1, at - 1) .. string.char((text:byte(at) + 1) % 256) .. text:sub(at + 1), "is not used: it is damaged")
    end
    refused(text .. "x", "is not used: it is damaged")
    refused("zkrecipes tree 2\n" .. text:sub(18), "is not used: it is of another version")
    -- With a correct hash.
    for cut = 1, 200, 3 do
      refused(forged(text, function(rest) return rest:sub(1, -1 - cut) end), "is not used: it is damaged")
    end
    local tree = session:tree("/c", { file = file })
    assert(tree:ready(LIMIT))
    tree:close()
    local good = away:tree("/c", { file = file })
    assert.equal("file", good.source)
    away:close()
    session:close()
    clean()
  end))

  it("is neither used nor replaced if it belongs to another tree", run(function()
    local file, log, said, clean = place()
    local session, namespace = prepared(file)
    local text = read(file)
    local function left_alone(why, options, path, given)
      local before = said(why)
      local one = env.session { namespace = given or namespace, log = log }
      options.file = file
      local tree = one:tree(path or "/c", options)
      assert.is_nil(tree.source)
      assert(tree:ready(LIMIT))
      tree:close()
      env.eventually("it is in the log", function() zk.sleep(0) return said(why) == before + 1 end)
      one:close()
    end
    left_alone("is not used: it is of another tree; it is not replaced either", { depth = 1 })
    left_alone("of another tree", { filter = { "/c/a" } })
    left_alone("of another tree", {}, "/c/a")
    left_alone("of another tree", {}, nil, env.namespace())
    assert.equal(text, read(file))
    write(file, "mine\n")
    left_alone("it is no file of a tree", {})
    write(file, "")
    left_alone("it is no file of a tree", {})
    assert.equal("", read(file))
    write(file, text)
    shell("ln %s %s.second", file, file)
    left_alone("it has a second name", {})
    shell("rm %s.second && chmod 620 %s", file, file)
    left_alone("other users may write it", {})
    shell("chmod 600 %s && mv %s %s.real && ln -s %s.real %s", file, file, file, file, file)
    left_alone("it is no plain file", {})
    assert.equal(text, read(file .. ".real"))
    shell("rm %s && mkfifo %s", file, file)
    left_alone("it is no plain file", {})
    shell("rm %s && mkdir %s", file, file)
    left_alone("it is no plain file", {})
    session:close()
    clean()
  end))

  it("stays unchanged if it cannot be written, and the log reports that once", run(function()
    local file, log, said, clean = place()
    local session, namespace = prepared(file)
    local text = read(file)
    assert(session:set("/c/b", "new"))
    local one = env.session { namespace = namespace, log = log }
    local replace = core.replace_file
    local missing = file .. ".no/tree"
    local tree = one:tree("/c", { file = missing })
    assert(tree:ready(LIMIT))
    assert(tree:ready(LIMIT))
    tree:close()
    local pattern = "cannot write .* No such file or directory; the file stays"
    env.eventually("it is in the log", function() zk.sleep(0) return said(pattern) == 1 end)
    assert.is_nil(tree.problem)
    local nothing, message = replace(missing, "x")
    assert.is_nil(nothing)
    assert.matches("cannot write", message)
    assert.equal(text, read(file))
    one:close()
    session:close()
    clean()
  end))

  it("is never shown as too young: its age counts from the last proof, and is unknown if the clock was set back", run(function()
    local file, _, _, clean = place()
    local session, namespace = prepared(file)
    local text, away = read(file), alone(namespace)
    local function age(ms)
      write(file, forged(text, function(rest) return (rest:gsub("^%d+", ("%.0f"):format(ms), 1)) end))
      local tree = away:tree("/c", { file = file })
      assert.equal("file", tree.source)
      return tree:age()
    end
    local now = core.wall_ms()
    local hour = age(now - 3600e3)
    assert.is_true(hour >= 3600 and hour < 3600 + LIMIT)
    assert.is_true(age(now - 40 * 365 * 86400e3) > 40 * 365 * 86400 - 1)
    assert.equal(math.huge, age(now + 3600e3))
    assert.is_true(age(0) > 50 * 365 * 86400 or age(0) == math.huge)
    away:close()
    session:close()
    clean()
  end))

  it("can be read only by its user", run(function()
    local file, _, _, clean = place()
    local session = prepared(file)
    local pipe = io.popen("stat -c %a " .. file)
    assert.equal("600\n", pipe:read "*a")
    pipe:close()
    local list = io.popen(("ls %s*"):format(file))
    assert.equal(file .. "\n", list:read "*a") -- no other file is left
    list:close()
    session:close()
    clean()
  end))

  it("needs an absolute path", run(function()
    local session = env.session()
    for _, path in ipairs { "tree", "./tree", "", "/", "/tmp/", "/tmp/a\0b" } do
      raises("'tree' %(option 'file': absolute path of a file expected, got '", function() session:tree("/c", { file = path }) end)
    end
    raises("'tree' %(option 'file': string expected, got number", function() session:tree("/c", { file = 1 }) end)
    session:close()
  end))
end)
