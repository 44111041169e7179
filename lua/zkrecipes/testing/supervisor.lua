-- One supervised server process.
--
-- A test runner can die without any clean-up (kill -9, a crash of a C module). So the JVM is not a child of the runner: its
-- parent is a small bash process, the supervisor, whose standard input is a pipe from the runner. When that pipe ends, the
-- runner is gone: the supervisor kills the JVM and removes the temporary folder. The same pipe carries the commands, one word
-- per line. The answers come back through a fifo in the folder; reading it blocks, so neither side has to poll.
--
-- Descriptors leak: a process that the runner starts later may inherit the runner's end of the pipe and keep it open. So the
-- supervisor closes what it has inherited, and checks every half second whether its parent is still the runner. If the
-- supervisor itself is killed, the kernel kills the JVM too (setpriv --pdeathsig).

local M = {}

---`ports COUNT` sets `found`. They lie below the kernel's range for outgoing connections, so that no client occupies one
---before the server binds it. All processes of a user take them in turn: a port is free for a while when its server
---restarts, and another program that looks for one then must not find it. `claim COUNT` sets `at`: the ports behind it
---are the caller's. Without the file, which must be in a folder of the user's own, or without its lock: any.
local PORTS = [==[
set +e
claim() {
  local folder=/tmp/zkrecipes-$UID line=
  at=$((RANDOM % 12000))
  mkdir -m 700 "$folder"
  [[ -O $folder && ! -L $folder ]] && command exec 9<>"$folder/port" || return
  if flock -w 60 9; then
    read -r line <&9
    [[ $line =~ ^[0-9]{1,5}$ ]] && at=$((10#$line))
    echo "$(((at + $1) % 12000))" >"$folder/port"
  fi
  exec 9>&-
} 2>/dev/null
ports() {
  local i port
  found=()
  while ((${#found[@]} < $1)); do
    claim $(($1 - ${#found[@]}))
    for ((i = $1 - ${#found[@]}; i > 0; i--)); do
      port=$((20000 + (at + i) % 12000))
      (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || found+=($port)
    done
  done
}
]==]

---Looks for Java and the server's jars, makes one folder with a fifo per member and picks free ports.
---Prints Java, the class path, Netty's jar, then a line per member: client, quorum, election and TLS port, folder.
local PREPARE = PORTS .. [==[
java=${JAVA_HOME:+$JAVA_HOME/bin/}java
if ! type -P "$java" >/dev/null; then echo "no_java"; exit; fi
if [[ $ZOOKEEPER_HOME ]]; then jars="$ZOOKEEPER_HOME/conf:$ZOOKEEPER_HOME/lib/*:$ZOOKEEPER_HOME/*"
elif [[ $CLASSPATH == *zookeeper* ]]; then jars=$CLASSPATH
elif [[ -r /usr/share/java/zookeeper.jar ]]; then
  jars=/usr/share/java/zookeeper.jar:/usr/share/java/slf4j-simple.jar
else echo "no_server"; exit; fi
echo "$java"
echo "$jars"
# The manifest of Debian's zookeeper.jar names all of Netty but this; a server with TLS needs it.
ls /usr/share/java/netty-codec.jar 2>/dev/null || echo
ports $((4 * $1))
for ((i = 0; i < $1; i++)); do
  folder=$(mktemp -d "${TMPDIR:-/tmp}/zkrecipes.XXXXXX") && mkfifo "$folder/status" || exit
  echo "${found[*]:4 * i:4} $folder"
done
]==]

local SUPERVISE = [==[
folder=$1 port=$2 limit=$3 config=$4; shift 4
trap '' INT HUP QUIT PIPE
trap 'halt; rm -rf "$folder"' EXIT
trap 'exit 1' TERM
for fd in /proc/$$/fd/*; do
  fd=${fd##*/}
  [[ $fd == [0-9]* ]] && ((fd > 2)) && eval "exec $fd>&-"
done
exec 8<>"$folder/status" >>"$folder/log" 2>&1
umask 077
mkdir -p "$folder/data"
printf '%s\n' "$config" >"$folder/zoo.cfg"
[[ $config =~ server_id=([0-9]+) ]] && echo "${BASH_REMATCH[1]}" >"$folder/data/myid"
setpriv --pdeathsig KILL true 2>/dev/null && set -- setpriv --pdeathsig KILL "$@"

say() { echo "$*" >&8; }
halt() {
  [[ $pid ]] && kill -KILL "$pid" && wait "$pid"
  pid= tick=0.5
} 2>/dev/null
ask() {
  local line s
  { exec {s}<>"/dev/tcp/127.0.0.1/$port"; } 2>/dev/null || return
  printf %s "$1" >&"$s"
  answer=
  # A server asked in the middle of its start may never answer on this connection: give up soon, then later.
  while read -r -t "$patience" -u "$s" line; do answer+=$line$'\n'; done
  (($? > 128)) && patience=1
  exec {s}>&-
} 2>/dev/null
# That the configuration names our folder proves that no other program's server has the port.
serves() { ask conf; [[ $answer == *"$folder/data"* ]] && ask srvr && [[ $answer == *Mode:* ]]; }
launch() {
  halt
  "$@" </dev/null 8>&- &
  pid=$! tick=0.02 patience=0.1 starting=1 deadline=$((SECONDS + limit))
}
settle() {
  if serves; then say "ok $pid"
  elif ! kill -0 "$pid"; then pid=; say "exited"
  elif ((SECONDS > deadline)); then halt; say "silent"
  else return; fi
  starting= tick=0.5
} 2>/dev/null
signal() { if [[ $pid ]] && kill -"$1" "$pid"; then say ok; else say dead; fi; } 2>/dev/null
# A thread may run on for a moment after the signal was sent.
stopped() { [[ -z $(grep -LsE $'^State:\t[TtZX]' "/proc/$pid"/task/*/status) ]]; }
pause() {
  local try
  if [[ $pid ]] && kill -STOP "$pid"; then
    for ((try = 0; try < 200; try++)); do stopped && break; done
    say ok
  else say dead; fi
} 2>/dev/null
orphan() {
  [[ -r /proc/$$/stat ]] && read -r _ _ _ parent _ <"/proc/$$/stat" && ((parent != PPID))
}
partial=
while :; do
  read -r -t "${tick:-0.5}" word; got=$?
  # The time may be over in the middle of a line: the rest comes with the next read.
  word=$partial$word partial=
  if ((got == 0)); then
    case $word in
      start) launch "$@" ;;
      kill) halt; say ok ;;
      pause) pause ;;
      resume) signal CONT ;;
      quit) exit ;;
    esac
  elif ((got <= 128)) || orphan; then exit
  else partial=$word
  fi
  [[ $starting ]] && settle
done
]==]

-- What was loaded into the test by force, a sanitizer for instance, is not meant for the servers.
local BASH = "LD_PRELOAD= exec bash -c "

local function quote(text)
  return "'" .. tostring(text):gsub("'", "'\\''") .. "'"
end

---Runs a bash script with arguments and returns what it printed.
---@param script string
---@param ... string|number its arguments $1, $2, ...
---@return string output
function M.bash(script, ...)
  local words = { BASH .. quote(script) .. " zkrecipes-testing" }
  for i = 1, select("#", ...) do words[#words + 1] = quote((select(i, ...))) end
  local pipe = assert(io.popen(table.concat(words, " "), "r"))
  local output = pipe:read("*a")
  pipe:close()
  return output
end

---Free ports of 127.0.0.1, so many, for servers that cannot choose one themselves.
---@param count integer
---@return integer[]
function M.ports(count)
  local ports = {}
  for port in M.bash(PORTS .. 'ports $1; echo "${found[*]}"', count):gmatch("%d+") do ports[#ports + 1] = tonumber(port) end
  assert(#ports == count, "no free ports were found (is bash installed?)")
  return ports
end

local MISSING = {
  no_java = "no Java found: install Debian's package \"default-jre-headless\", or set JAVA_HOME",
  no_server = "no ZooKeeper server found: install Debian's package \"libzookeeper-java\", or set ZOOKEEPER_HOME or "
    .. "CLASSPATH",
}

---Prepares folders and ports for `count` members.
---@param count integer
---@return table|nil places one {folder=, client=, quorum=, election=, secure=} each, and the fields `java`, `jars`, `netty`
---@return string? message what is missing and what to install
function M.prepare(count)
  local output = M.bash(PREPARE, count)
  local lines = {}
  for line in output:gmatch("([^\n]*)\n") do lines[#lines + 1] = line end
  if MISSING[lines[1]] then return nil, MISSING[lines[1]] end
  if #lines < count + 3 then return nil, "no temporary folder for a test server could be made (is bash installed?)" end
  local places = { java = lines[1], jars = lines[2], netty = lines[3] }
  for i = 1, count do
    local client, quorum, election, secure, folder = lines[i + 3]:match("^(%d+) (%d+) (%d+) (%d+) (.+)$")
    places[i] = { folder = folder, client = client, quorum = quorum, election = election, secure = secure }
  end
  return places
end

local Supervisor = {}
Supervisor.__index = Supervisor

---Starts the supervisor of one server; the server itself starts at `send("start")`.
---@param place table from `prepare`
---@param limit number seconds the server may take to serve
---@param config string its zoo.cfg
---@param command string[] program and arguments
---@return table supervisor
function M.spawn(place, limit, config, command)
  local words = { BASH .. quote(SUPERVISE), "zkrecipes-testing", quote(place.folder), place.client, limit,
    quote(config) }
  for _, word in ipairs(command) do words[#words + 1] = quote(word) end
  local pipe = assert(io.popen(table.concat(words, " "), "w"))
  -- Opening a fifo waits for its other end, so from here on the supervisor has set its traps.
  local status = assert(io.open(place.folder .. "/status", "r"))
  return setmetatable({ pipe = pipe, status = status }, Supervisor)
end

---Sends one command without waiting: start, kill, pause, resume, quit.
function Supervisor:send(word)
  self.pipe:write(word, "\n")
  self.pipe:flush()
end

---Waits for the answer to the command sent before.
---@return string answer "ok PID", "ok", "dead", "exited", "silent"; "gone" when the supervisor was killed
function Supervisor:wait()
  return self.status:read("*l") or "gone"
end

---Ends server and supervisor and removes the folder.
function Supervisor:quit()
  self:send("quit")
  self.status:read("*a") -- ends when the supervisor has
  self.status:close()
  self.pipe:close()
end

return M
