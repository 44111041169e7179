-- The man pages and the completions of zkr.

local env = require "spec.support.env"
local process = require "spec.support.process"
local terminals = require "spec.support.terminal"
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
  after_each(terminals.clear)

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

  -- Writes the completion to a file of this name in a new folder, which is returned.
  local function folder_with(name, shell)
    local folder = process.output "mktemp -d"
    local file = assert(io.open(folder .. "/" .. name, "w"))
    file:write((zkr.run { "completion", shell }))
    file:close()
    return folder
  end

  it("completes commands and options in fish", function()
    local folder = folder_with("zkr.fish", "fish")
    local function complete(line)
      return process.output(("HOME=%s fish --no-config -c 'source %s/zkr.fish; complete -C \"%s\"' 2>&1 | cut -f1"):format(folder, folder,
        line))
    end
    local commands = {}
    for name in (complete "zkr " .. "\n"):gmatch "(%l+)\n" do commands[name] = true end
    for _, name in ipairs(names) do assert.is_true(commands[name], name) end
    assert.are.equal("doctor", complete "zkr doc")
    assert.are.equal("--container", complete "zkr create --con")
    assert.are.equal("put\ntake\nwork", complete "zkr queue ")
    os.execute("rm -r " .. folder)
  end)

  it("completes commands and options in zsh", env.run(function()
    local folder = folder_with("_zkr", "zsh")
    local terminal = terminals.open(("env HOME=%s PS1=shell: zsh -f -i"):format(folder), "")
    terminal:shows "shell:"
    terminal:type(("fpath=(%s $fpath); autoload -U compinit; compinit -u -D; echo rea''dy\n"):format(folder))
    terminal:shows "\nready\n"
    -- Typing `echo` in front of the line, at its end, shows the words that it was completed to.
    for typed, completed in pairs { ["zkr doc\t"] = "zkr doctor", ["zkr create --con\t"] = "zkr create --container",
      ["zkr queue ta\t"] = "zkr queue take", ["zkr lock --sh\t"] = "zkr lock --shared" } do
      terminal:type(typed .. "\1echo is: \n")
      terminal:shows("\nis: " .. completed:gsub("%-", "%%-") .. "\n")
    end
    terminal:type "exit\n"
    assert.are.equal(0, (terminal:finish()))
    os.execute("rm -r " .. folder)
  end))

  it("knows no other shell", function() assert.are.equal(2, select(2, zkr.run { "completion", "tcsh" })) end)
end)
