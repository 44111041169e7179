-- The names of the commands, in the order of `zkr --help`. Each is a file in commands/ that returns
--
--   name = "get"                 as here
--   group = "Znodes"             the heading under which `zkr --help` lists it
--   summary = "..."              one line
--   examples = "zkr ls /a\n..."  lines for its help and its man page; a line begins with `zkr` or is a comment
--   define(parser)               adds arguments and options to the command's parser of argparse
--   run(context, arguments)      does it, in a coroutine; returns the exit status, nil is 0 (see exit.lua and context.lua)
return {
  "ls", "get", "set", "create", "rm", "tree", "stat", "acl", "watch", "export", "import",
  "lock", "elect", "cron",
  "queue", "barrier", "latch", "group", "register", "config", "id",
  "holders", "top", "doctor", "server",
  "completion", "man",
}
