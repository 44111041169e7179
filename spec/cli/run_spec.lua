-- zkr lock, elect, cron: what the command gets, what it gives back, and what a signal does. (spec/cli/outlive_spec.lua: that it ends.)

local commanded = require "spec.support.commanded"
local env = require "spec.support.env"
local process = require "spec.support.process"
local zk = require "zkrecipes"
local run = env.run

local USAGE, LOST, LATE = 2, 123, 124

local _ = _VERSION == "Lua 5.4" and describe("zkr", function()
  local session, namespace

  before_each(function()
    namespace = env.namespace()
    session = env.session { namespace = namespace }
  end)

  after_each(function()
    commanded.clear()
    session:close()
  end)

  local function start(line, more, ignored) return commanded.start_in(namespace, line, more, ignored) end

  -- Runs it to its end: exit status, output, standard error.
  local function ended(line, more) return start(line, more):finish() end

  -- A file that ends the wait of a command: `until [ -e FILE ]; do sleep 0.1; done`.
  local function gate()
    local path = os.tmpname()
    os.remove(path)
    return { path = path,
      wait = ("until [ -e %s ]; do sleep 0.1; done"):format(path), open = function() assert(io.open(path, "w")):close() end,
      remove = function() os.remove(path) end }
  end

  describe("lock", function()
    it("gives the command's exit status, as a shell does", run(function()
      assert.are.equal(0, (ended "lock /l -- true"))
      assert.are.equal(7, (ended "lock /l -- sh -c 'exit 7'"))
      assert.are.equal(128 + 9, (ended "lock /l -- sh -c 'kill -9 $$'"))
    end))

    it("exits with 126 and 127 as env does", run(function()
      local status, _, err = ended "lock /l -- /etc/passwd"
      assert.are.same({ 126, "zkr: /etc/passwd: Permission denied\n" }, { status, err })
      status, _, err = ended "lock /l -- nonesuch"
      assert.are.same({ 127, "zkr: nonesuch: No such file or directory\n" }, { status, err })
    end))

    it("tells the command what it holds, and others who holds it; releases at the end", run(function()
      local door = gate()
      local zkr = start(("lock /l -- sh -c 'echo $ZKR_PATH $ZKR_TOKEN; %s'"):format(door.wait))
      zkr:prints "\n"
      local holder = session:lock("/l"):contenders()[1]
      assert.are.equal("/l " .. holder.token .. "\n", zkr:read "out")
      assert.are.equal(process.output "hostname", holder.data)
      door.open()
      assert.are.equal(0, (zkr:finish()))
      env.eventually("it is released", function() return #(session:children "/l" or {}) == 0 end, 30)
      door.remove()
    end))

    it("hands its descriptors to the command", run(function()
      local status, out = ended "lock /l -- sh -c 'cat; cat <&5; echo to err >&2' <<'END' 5<<'OTHER'\nto stdin\nEND\nto five\nOTHER\n"
      assert.are.same({ 0, "to stdin\nto five\n" }, { status, out })
    end))

    it("refuses limits and times that mean nothing", run(function()
      for _, option in ipairs { "-n 0", "-n-1", "--grace=-1", "--wait=-1" } do
        local status, out, err = ended(("lock /l %s -- echo ran"):format(option))
        assert.are.same({ USAGE, "" }, { status, out }, option)
        assert.matches("^zkr: [^\n]+\n$", err)
      end
    end))

    it("continues a minder that the command has stopped", run(function()
      local left = "(setsid sh -c \"trap : TERM; while :; do sleep 0.1; done\" &)"
      assert.are.equal(7, (ended(("lock /l --grace 0.2 -- sh -c '%s; kill -STOP $PPID; exit 7'"):format(left), { ZKR_TIMEOUT = "20" })))
    end))

    it("leaves a closed descriptor closed, for zkr and the command", run(function()
      local status, out = ended("lock /l -- sh -c 'f=$(readlink /proc/$$/fd/0 /proc/$$/fd/1); echo $f >&2" ..
        "; echo a || echo refused >&2' 2>&1 >&- <&-")
      assert.are.equal(0, status)
      assert.matches("^/dev/null /dev/null\n.*refused\n$", out)
    end))

    it("exits with 124 if it is not free in time", run(function()
      local hold = session:lock("/l"):acquire()
      local status, _, err = ended "lock /l --try -- true"
      assert.are.same({ LATE, "zkr: /l: it is held\n" }, { status, err })
      env.eventually("the limit passes after an answer", function()
        status, _, err = ended "lock /l --wait 0.2 -- true"
        return status == LATE
      end)
      assert.are.equal("zkr: /l: it was not free in time\n", err)
      hold:release()
    end))

    for _, kind in ipairs { "-n 2", "--shared" } do
      it("lets two hold with " .. kind, run(function()
        local door = gate()
        local first = start(("lock /l %s -- sh -c 'echo holds; %s'"):format(kind, door.wait))
        first:prints "holds"
        assert.are.equal(0, (ended(("lock /l %s --try -- true"):format(kind))))
        door.open()
        first:finish()
        door.remove()
      end))
    end

    it("excludes a third with -n 2, a writer with --shared, and all others with --unfair", run(function()
      local door = gate()
      local all = {}
      for i, options in ipairs { "/n -n 2", "/n -n 2", "/s --shared", "/u --unfair" } do
        all[i] = start(("lock %s -- sh -c 'echo holds; %s'"):format(options, door.wait))
        all[i]:prints "holds"
      end
      for _, options in ipairs { "/n -n 2", "/s", "/u --unfair" } do
        assert.are.equal(LATE, (ended(("lock %s --try -- true"):format(options))))
      end
      door.open()
      for _, zkr in ipairs(all) do assert.are.equal(0, (zkr:finish())) end
      door.remove()
    end))

    it("asks what the command has left running to end, and releases then", run(function()
      local door = gate()
      local left = ("trap \"echo asked; exit\" TERM; touch %s; while :; do sleep 0.1; done"):format(door.path)
      local status, out = ended(("lock /l --grace 15 -- bash -c '(%s) & %s; echo end'"):format(left, door.wait))
      assert.are.same({ 0, "end\nasked\n" }, { status, out })
      door.remove()
    end))

    it("refuses a --grace for which the lease is too short", run(function()
      local status, _, err = ended "lock /l --grace 16 -- true"
      assert.are.equal(USAGE, status)
      assert.matches("^zkr: %-%-grace 16 is more than a quarter of the session's timeout, which is %d+ s; give zkr %-%-timeout 64\n$",
        err:gsub("which is [%d.]+", "which is 10"))
    end))
  end)

  describe("a signal", function()
    it("is passed on to the command, whose exit status counts", run(function()
      for name, number in pairs { INT = 2, TERM = 15, HUP = 1, QUIT = 3, USR1 = 10, USR2 = 12, WINCH = 28 } do
        -- In bash a signal ends `wait`. An INT beside a command that has just ended would be that command's.
        local trap = ("trap \"echo got %s; exit %d\" %s"):format(name, number, name)
        local zkr = start(("lock /l -- bash -c '%s; echo ready; sleep 600 & wait'"):format(trap))
        zkr:prints "ready"
        -- One that comes just before bash begins to wait ends nothing, so it is sent again.
        local due = 0
        env.eventually("the end of zkr", function()
          if zk.now() >= due then
            zkr:signal(name)
            due = zk.now() + 5
          end
          return zkr:over()
        end)
        local status, out = zkr:finish()
        assert.are.same({ number, "ready\ngot " .. name .. "\n" }, { status, out })
      end
    end))

    it("is passed on also if zkr has not heard yet that the command has started", function() env.alone "early_signal" end)

    it("stops and continues the command", run(function()
      local zkr = start "lock /l -- sh -c 'echo $$; exec sleep 600'"
      zkr:prints "\n"
      local pid = zkr:read "out":match "%d+"
      local function state() return process.output("ps -o stat= -p " .. pid):sub(1, 1) end
      zkr:signal "TSTP"
      env.eventually("it is stopped", function() return state() == "T" end)
      zkr:signal "CONT"
      env.eventually("it continues", function() return state() == "S" end)
      zkr:signal "TERM"
      assert.are.equal(143, (zkr:finish()))
    end))

    it("that zkr was started with ignored is ignored by both", run(function()
      local hold = session:lock("/l"):acquire()
      local zkr = start("lock /l -- sh -c 'kill -HUP $$; echo lives; exec sleep 600'", nil, "HUP")
      env.queue_of(session, "/l", 2)
      zkr:signal "HUP"
      hold:release()
      zkr:prints "lives"
      zkr:signal "TERM"
      assert.are.equal(143, (zkr:finish()))
    end))

    it("ends zkr while it waits, and its place in the queue", run(function()
      local hold = session:lock("/l"):acquire()
      local zkr = start "lock /l -- true"
      env.queue_of(session, "/l", 2)
      zkr:signal "TERM"
      local status, _, err = zkr:finish()
      assert.are.same({ 143, "" }, { status, err })
      env.queue_of(session, "/l", 1)
      hold:release()
    end))
  end)

  describe("when the hold", function()
    -- A command that says that it was asked to end, and ends a moment later.
    local POLITE = [[bash -c 'trap "echo asked; exit 0" TERM; echo runs; while :; do sleep 0.1; done']]

    it("is about to end, the command is asked first", run(function()
      local proxy = env.proxy()
      local zkr = start("lock /l --grace 10 -- " .. POLITE, { ZKR_HOSTS = proxy.hosts, ZKR_TIMEOUT = "40" })
      zkr:prints "runs"
      proxy:blackhole()
      env.eventually("the end of the command", function() return zkr:read "out":find "asked" end)
      proxy:heal()
      local status, _, err = zkr:finish()
      assert.are.equal(LOST, status)
      assert.matches("zkr: /l: the hold was lost, or its lease was about to end, so the command was ended\n$", err)
    end))

    it("is taken away by hand, the command is killed at once", run(function()
      local zkr = start("lock /l -- " .. POLITE)
      zkr:prints "runs"
      env.eventually("the znode is deleted", function()
        local holder = session:lock("/l"):contenders()[1]
        return holder and session:delete(holder.path)
      end)
      local status, out = zkr:finish()
      assert.are.same({ LOST, "runs\n" }, { status, out })
    end))
  end)

  describe("the deadline's file", function()
    -- The example of docs/zkr.md in this language.
    local function example(language)
      return assert(process.output "cat docs/zkr.md":match("\n```" .. language .. "\n(.-)```"))
    end

    local function file_with(text, suffix)
      local path = os.tmpname()
      local file = assert(io.open(path .. suffix, "w"))
      file:write(text)
      file:close()
      return path
    end

    it("says until when the command may run, and moves on; the command may run on", run(function()
      local path = file_with(example "sh" .. [=[
        first=$until
        while still_mine && [ "$until" = "$first" ]; do sleep 0.05; done
        still_mine && echo moved
        while still_mine && [ "${now%.*}" -le "${first%.*}" ]; do sleep 0.05; done
        still_mine && echo longer
      ]=], ".sh")
      local status, out = ended(("lock /l -- sh %s.sh"):format(path), { ZKR_TIMEOUT = "20" })
      assert.are.same({ 0, "a step\nmoved\nlonger\n" }, { status, out })
      os.execute(("rm %s %s.sh"):format(path, path))
    end))

    it("can be read in C", run(function()
      local path = file_with(example "c" .. [=[
        #include <stdio.h>
        int main(void)
        {
            printf("%s\n", left() > 0 && left() < 60 ? "mine" : "lost");
        }
      ]=], ".c")
      assert(os.execute(("gcc -Wall -Werror -o %s %s.c"):format(path, path)))
      local status, out = ended("lock /l -- " .. path)
      assert.are.same({ 0, "mine\n" }, { status, out })
      os.execute(("rm %s %s.c"):format(path, path))
    end))

    it("cannot be changed by the command", run(function()
      local status, out, err = ended "lock /l -- sh -c 'echo 9 >/dev/fd/$ZKR_DEADLINE_FD || echo refused'"
      assert.are.equal(0, status)
      assert.are.equal("refused\n", out, err)
    end))
  end)

  describe("elect", function()
    it("runs the command on the leader, then on the next one", run(function()
      local door = gate()
      local first = start(("elect /e -- sh -c 'echo leads; %s'"):format(door.wait))
      first:prints "leads"
      local second = start "elect /e -- echo leads"
      env.queue_of(session, "/e", 2)
      assert.are.equal("", second:read "out")
      assert.are.equal(process.output "hostname", session:election("/e"):leader().value)
      door.open()
      assert.are.equal(0, (first:finish()))
      assert.are.equal(0, (second:finish()))
      door.remove()
    end))

    it("--forever begins again, after a pause if the command ended at once, until a signal", run(function()
      local path = os.tmpname()
      local script = ("echo turn >>%s; [ $(wc -l <%s) -lt 3 ] || exec sleep 600; exit 4"):format(path, path)
      env.eventually("two turns that end at once", function() -- on a busy machine a turn may take more than a second
        process.output(": >" .. path)
        local zkr = start(("elect /e --forever -- sh -c '%s'"):format(script))
        env.eventually("three turns", function() return process.output("wc -l <" .. path) == "3" end)
        zkr:signal "TERM"
        local status, _, err = zkr:finish()
        assert.are.equal(143, status)
        local left, count = err:gsub("zkr: /e: the command ended at once, with status 4\n", "")
        assert.are.equal("", left)
        return count == 2
      end)
      os.remove(path)
    end))
  end)

  it("elect --forever says that the minder was killed, and runs the command again", run(function()
    local zkr = start "elect /e --forever -- sh -c 'echo leads; exec sleep 600'"
    zkr:prints "leads"
    zkr:signal("KILL", zkr:minder())
    zkr:prints "leads\nleads"
    zkr:signal "TERM"
    local status, _, err = zkr:finish()
    assert.are.same({ 143, "zkr: /e: the minder of the command was killed, so the command was killed too\n" }, { status, err })
  end))

  describe("cron", function()
    -- The record of a timer that was called long ago.
    local function record(outcome)
      assert(session:create("/c-timer", ("due 1000000020.000\nended %s\noutcome %s\n"):format(
        outcome == "running" and "0.000" or "1000000021.000", outcome), { parents = true }))
    end

    it("refuses a wrong expression", run(function()
      local status, _, err = ended "cron /c '61 * * * *' -- true"
      assert.are.same({ USAGE, "zkr: '61 * * * *': minute: from 0 to 59 expected, got '61'\n" }, { status, err })
    end))

    it("makes up for missed times on one machine, and remembers", run(function()
      record "done"
      local line = "cron /c '0 0 1 1 *' -- sh -c 'echo $ZKR_DUE $ZKR_MISSED $ZKR_LAST'"
      local first = start(line)
      first:prints "^%d+ %d+ done\n$"
      env.eventually("it is remembered", function() return session:get "/c-timer":find "outcome done\n$" end)
      local second = start(line)
      env.queue_of(session, "/c", 2)
      first:signal "TERM"
      assert.are.equal(143, (first:finish()))
      env.eventually("the second leads", function() return #session:children "/c" == 1 end)
      second:signal "TERM"
      local status, out = second:finish()
      assert.are.same({ 143, "" }, { status, out })
    end))

    it("leaves missed times out with --catch-up none, and repeats a cut run with --recover", run(function()
      record "running"
      local zkr = start "cron /c '0 0 1 1 *' --catch-up none --recover -- sh -c 'echo $ZKR_DUE $ZKR_MISSED $ZKR_LAST'"
      zkr:prints "^1000000020 0 cut\n$"
      env.eventually("it is remembered", function() return session:get "/c-timer":find "outcome done\n$" end)
      zkr:signal "TERM"
      local status, out = zkr:finish()
      assert.are.same({ 143, "1000000020 0 cut\n" }, { status, out })
    end))

    it("notes a run that failed", run(function()
      record "done"
      local zkr = start "cron /c '0 0 1 1 *' -- sh -c 'exit 3'"
      env.eventually("it is reported", function() return zkr:read "err" == "zkr: /c: the command failed with status 3\n" end)
      env.eventually("it is noted", function() return session:get "/c-timer":find "outcome failed\n$" end)
      zkr:signal "TERM"
      zkr:finish()
    end))
  end)
end)
