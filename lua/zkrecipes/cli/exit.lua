-- The exit statuses of zkr, for all commands. docs/zkr.md has the same table.
return {
  OK = 0,
  NO = 1, -- there is no such znode; or the answer is no, for example because the znode exists already
  USAGE = 2, -- the command line, the environment or the configuration file is wrong
  LOST = 123, -- the session was lost while the command held something
  LATE = 124, -- not acquired in time
  FAILED = 125, -- zkr failed, for example because no server answers
  NOT_EXECUTABLE = 126, -- the command to run cannot be executed
  NOT_FOUND = 127, -- the command to run was not found
  SIGNAL = 128, -- 128 + N: ended by signal N
}
