-- The examples and the demo show what they promise, end by themselves and leave nothing on the server.

local env = require "spec.support.env"
local matrix = require "spec.adapters.matrix"
local process = require "spec.support.process"
local zk = require "zkrecipes"

-- Every file of examples/, with one of the last lines that it prints.
local TURNS = "^%a+: turn 1\n%a+: turn 1\n%a+: turn 2\n%a+: turn 2\nthe loop has ended, it ticked: true$"
local EXAMPLES = {
  ["acl.lua"] = "^reader reads: for two\nreader writes: no_auth\nstranger reads: no_auth$",
  ["copas.lua"] = TURNS,
  ["config.lua"] = "^limit 10, search off\nlimit 20, search off\nlimit 20, search on\nlimit 20, search on\n"
    .. "config [^\n]+: the data of version are not shown: the codec's decode failed: no setting: %?$",
  ["counter.lua"] = "^together: 40\nreset\ntoo late, it has 0$",
  ["cqueues.lua"] = TURNS,
  ["election.lua"] = "\nno leader\nthe end$",
  ["timer.lua"] = "^first: beat new, the last run is unknown\nfirst: beat new, the last run done\nfirst: beat new, the last run done\n"
    .. "second: beat new, the last run cut\nsecond: beat new, the last run done\nthe end$",
  ["barrier.lua"] = "^closed: 0 steps\nopened: 6 steps$",
  ["ids.lua"] = "^mine: 1, 2\ntheirs: 101, 102\nmine: 3\nnames: 17 letters, one after the other$",
  ["guardian.lua"] = "\nthe next holder, %d%.%d+ s after kill %-9$",
  ["lock.lua"] = "\nstep 3\nreleased$",
  ["lock_ways.lua"] = "^asked, and let go\ninside twice\nturns: 5$",
  ["loop.lua"] = "^request number 1\nrequest number 2\nthe loop has ended$",
  ["queue.lua"] = "^queued: 6\nacked together: 2\ndead letter: broken, attempts: 2\nleft: 0$",
  ["group.lua"] = "^1 of 3: red at port 8001\n2 of 3: green at port 8002\n3 of 3: blue at port 8003\n"
    .. "changed\tgreen\tport 8002\tport 9000\nleft\tred$",
  ["partitioner.lua"] = "^red %d+, green %d+, blue %d+\nred %d+, green %d+\n%d+ shards of blue moved, and 0 others$",
  ["presence.lua"] = "^one at port 8001, two at port 8002\none at port 8001, two at port 9002\ntwo at port 9002\nnobody$",
  ["multilock.lua"] = "\nthe last one: %a+ > %a+$",
  ["registry.lua"] = "^red 20, green 20, blue 20\nred 10, green 20, blue 30\nred 30, green 0, blue 30\nred 0, green 0, blue 60$",
  ["rwlock.lua"] = "\nwriting, alone\na third reads, token %x+\nread by two: true$",
  ["script.lua"] = "^run number 1$",
  ["semaphore.lua"] = "\nall permits at once\n3 permits are free now$",
  ["sim.lua"] = "^passed: a job changes hands in 40 worlds, 40 hours of virtual time$",
  ["luv.lua"] = TURNS,
  ["poll.lua"] = TURNS,
  ["session.lua"] = "\nstill there: false\n.*followed to the end$",
  ["unfair_lock.lua"] = "^turns: 20$",
  ["successor.lua"] = "\nand now: new, old 2, old 3\n.*old 2 leads\nold 3 leads$",
  ["worker_id.lua"] = "\nids: %d+, %d+\nin order: true$",
  ["topic.lua"] = "^again: 4\nbilling: order 1 order 2 order 3 order 4\nbilling: order 3 order 4\nmissed: 14, then order 16$",
  ["two_phase.lua"] = "^60\tcommitted\n60\taborted\t'north' voted no: not enough money\n40\tcommitted\nnorth has 0, south has 100$",
  ["tree.lua"] = "^version 1%.0\nadded : %- > 1%.0\nadded /limit: %- > 10\nchanged /limit: 10 > 20\n"
    .. "removed /limit: 20 > %-\nleft: zkrecipes%-example%-tree 1%.0\nclosed$",
  ["sasl.lua"] = "^for nobody else\nno_auth\nauth_failed\tthe server refused user 'bob'$",
  ["tls.lua"] = "^for nobody else\nits certificate is not from a CA that the session trusts$",
  ["testing.lua"] = "^passed: it was told of the loss and stopped$",
}

-- The output of the command, and its exit status.
local function run(format, ...)
  local text = process.output(string.format(format, ...) .. " 2>&1; echo status $?")
  local output, status = text:match("^(.-)\n?status (%d+)$")
  return output, status
end

-- The znodes of examples and demos that are left on the server.
local function leftovers()
  local session = zk.session { hosts = env.server().hosts }
  local left = {}
  for _, name in ipairs(assert(session:children("/"))) do
    if name:find("^zkrecipes%-") then left[#left + 1] = name end
  end
  session:close()
  return left
end

describe("the examples", function()
  it("are all listed here", function()
    for name in process.output("cd examples && ls -p | grep -v /"):gmatch("[^\n]+") do
      assert.is_string(EXAMPLES[name], "examples/" .. name .. " is not run by this spec")
    end
  end)

  local function example(name, title, environment)
    it(title .. " runs, twice, and leaves nothing", function()
      for _ = 1, 2 do
        local output, status = run("timeout 300 env %s %s examples/%s %s </dev/null", environment or "", env.interpreter(), name,
          env.server().hosts)
        assert.equal("0", status, output)
        assert.matches(EXAMPLES[name], output)
      end
      assert.same({}, leftovers())
    end)
  end

  for name in pairs(EXAMPLES) do
    local host = name:match("^%w+")
    if not matrix.matrix[host] or matrix.runs(host) then example(name, name) end
  end
  example("copas.lua", "copas.lua with copas 4", "LUA_PATH='spec/support/copas4/?.lua;'\"$LUA_PATH\"")
end)

describe("the demo", function()
  local SUMMARY = { "never two holders at once", "tokens only grew", "the register has the last token",
    "the next one took over", "all others had their turns", "nothing went wrong on the way",
    "no znode left in the lock" }

  it("runs on the user's server, and all its checks hold", function()
    local output, status = run("HOSTS='%s' timeout 300 env %s dev/demo/main.lua </dev/null", env.server().hosts,
      env.interpreter())
    assert.equal("0", status, output)
    assert.matches("KILLED", output)
    for _, line in ipairs(SUMMARY) do assert.matches("\n  " .. line .. " +yes\n", output .. "\n") end
    assert.is_nil(output:find("\27", 1, true), "escape codes though it is no terminal")
    assert.same({}, leftovers())
    local look = "pgrep -f 'demo/[w]orker.lua " .. env.server().hosts .. "'"
    assert(process.eventually(function() return process.output(look) == "" end))
  end)

  it("of nginx runs, and all its checks hold", function()
    local output, status = run("env -u LUA_PATH -u LUA_CPATH ZK_HOSTS='%s' timeout 300 lua5.4 dev/demo/openresty.lua </dev/null",
      env.server().hosts)
    assert.equal("0", status, output)
    assert.matches("nginx ends when it is told to +yes", output)
    assert.same({ "zkrecipes-openresty" }, leftovers()) -- the namespace of the example, which serves on
    local session = zk.session { hosts = env.server().hosts }
    assert(session:delete_tree "/zkrecipes-openresty")
    session:close()
  end)

  it("fails, and says why, when there is no server", function()
    local output, status = run("HOSTS=127.0.0.1:1 timeout 300 env %s dev/demo/main.lua </dev/null", env.interpreter())
    assert.equal("1", status)
    assert.matches("the demo failed: .*not connected", output)
  end)
end)
