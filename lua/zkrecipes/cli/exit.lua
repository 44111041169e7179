-- The exit statuses of zkr, for all commands. docs/zkr.md has the same table.
return {
  OK = 0,
  NO = 1,
  USAGE = 2,
  LOST = 123,
  LATE = 124,
  FAILED = 125,
  NOT_EXECUTABLE = 126,
  NOT_FOUND = 127,
  SIGNAL = 128,

  -- For the man pages.
  texts = {
    { 0, "Done." },
    { 1, "There is no such znode, or the answer is no: the znode exists already, it has another version, no session holds the lock." },
    { 2, "The command line, the environment, the configuration file or the input is wrong." },
    { 123, "What zkr held was lost, or was about to be lost, so the command was ended." },
    { 124, "Not acquired in time." },
    { 125, "zkr failed: for example, no server answers." },
    { 126, "The command to run cannot be executed." },
    { 127, "The command to run was not found." },
    { "128+N", "Ended by signal N." },
  },
}
