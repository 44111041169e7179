-- docs/security.md, typed through: its blocks run in one shell, in their order, exactly as they stand in the page.

local process = require "spec.support.process"
local zkr = require "spec.support.zkr"

-- The servers' addresses are fixed in the page. With a network of its own, nothing else can have their ports.
local ALONE = process.holds("unshare -rnpf --kill-child true")
  and "unshare -rnpf --kill-child bash -c 'ip link set lo up; exec bash \"$@\"' bash" or "bash"

local function write(path, text)
  local file = assert(io.open(path, "w"))
  file:write(text)
  file:close()
end

-- The page's commands as a script. After each command with an output it prints a mark. Programs become files.
local function script_of(page, folder, here)
  local parts, expected = { "trap 'kill $(jobs -p) 2>/dev/null' EXIT" }, {}
  parts[#parts + 1] = ("export LUA_PATH='%s/lua/?.lua;%s/lua/?/init.lua;;' LUA_CPATH='%s/build/5.4/?.so;;' PATH='%s/bin':$PATH")
    :format(here, here, here, here)
  for kind, block in page:gmatch "\n```(%l+)\n(.-)```" do
    if kind == "lua" then
      write(folder .. "/" .. block:match "^%-%- (%S+)\n", block)
    elseif kind == "sh" then
      parts[#parts + 1] = "{ " .. block .. "} >/dev/null 2>&1"
    else
      for _, command in ipairs(zkr.commands_of(block)) do
        parts[#parts + 1] = command.text .. "\nprintf '\\1'"
        expected[#expected + 1] = command
      end
    end
  end
  return table.concat(parts, "\n"), expected
end

local _ = zkr.supported and describe("docs/security.md", function()
  local folder

  before_each(function() folder = process.output "mktemp -d" end)
  after_each(function() os.execute("rm -r " .. folder) end)

  it("does what it shows", function()
    local here = process.output "pwd"
    local file = assert(io.open "docs/security.md")
    local script, expected = script_of(file:read "a", folder, here)
    file:close()
    write(folder .. "/script", script:gsub("ZKR_TIMEOUT=40", "ZKR_TIMEOUT=300") .. "\n")
    local said = process.output(("cd %s && env HOME=/nonexistent timeout 1500 %s script 2>&1"):format(folder, ALONE)) .. "\n"
    local at = 1
    for answer in said:gmatch "([^\1]*)\1" do
      assert.are.equal("$ " .. expected[at].text .. "\n" .. expected[at].output, "$ " .. expected[at].text .. "\n" .. answer)
      at = at + 1
    end
    assert.are.equal(#expected + 1, at, said)
    assert.is_true(#expected >= 10)
  end)
end)
