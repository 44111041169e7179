-- The man pages and the completions of zkr.

local process = require "spec.support.process"
local zkr = require "spec.support.zkr"

local names = require "zkrecipes.cli.list"

local _ = zkr.supported and describe("zkr man", function()
  local function lint(...)
    local page, status = zkr.run { "man", ... }
    assert.are.equal(0, status)
    local file = os.tmpname()
    local handle = assert(io.open(file, "w"))
    handle:write(page)
    handle:close()
    assert.are.equal("", process.output("mandoc -T lint -W warning " .. file))
    os.remove(file)
    return page
  end

  it("prints pages without a warning, for zkr and each command", function()
    local root = lint()
    assert.matches("ZKR_AUTH_FILE", root)
    for _, name in ipairs(names) do
      assert.is_truthy(root:find("zkr\\-" .. name .. "(1)", 1, true))
      local page = lint(name)
      assert.is_truthy(page:find("\n.SH EXAMPLES\n.nf\n", 1, true))
    end
  end)

  it("knows no other command", function()
    local out, status, err = zkr.run { "man", "none" }
    assert.are.same({ "", 2, "zkr: no command 'none'; `zkr --help` lists them\n" }, { out, status, err })
  end)
end)

local _ = zkr.supported and describe("zkr completion", function()
  it("completes commands and options in bash", function()
    local completion = os.tmpname()
    local function complete(...)
      local words = { "zkr", ... }
      for i, word in ipairs(words) do words[i] = zkr.quote(word) end
      return process.output(("bash -c 'source %s; COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); _zkr; echo ${COMPREPLY[@]}' bash %s"):format(
        completion, table.concat(words, " ")))
    end
    local file = assert(io.open(completion, "w"))
    file:write((zkr.run { "completion", "bash" }))
    file:close()
    assert.are.equal("doctor", complete "doc")
    assert.are.equal("--container", complete("create", "--con"))
    os.remove(completion)
  end)

  it("names all commands for zsh and fish", function()
    for _, shell in ipairs { "zsh", "fish" } do
      local out, status = zkr.run { "completion", shell }
      assert.are.equal(0, status)
      for _, name in ipairs(names) do assert.is_truthy(out:find(name, 1, true), shell .. " " .. name) end
    end
    assert.are.equal(2, select(2, zkr.run { "completion", "tcsh" }))
  end)
end)
