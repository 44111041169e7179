rockspec_format = "3.0"
package = "zkrecipes"
version = "scm-1"
source = { url = "git+https://github.com/zkrecipes/zkrecipes.git" }

description = {
  summary = "Locks and other coordination over Apache ZooKeeper, for coroutines",
  detailed = [[
    Fair locks with fencing tokens, watches, and all of ZooKeeper's own requests, for Lua coroutines, in C
    over the ZooKeeper C client. Waiting never blocks the host: plain Lua with a loop of its own, or an
    event loop. Needs the single-threaded client with its static archive: on Debian and Ubuntu
    `apt-get install libzookeeper-st-dev`.
  ]],
  license = "MIT",
  labels = { "zookeeper", "lock", "coordination", "coroutine" },
}

dependencies = { "lua >= 5.1, < 5.5" }

-- The header is not asked for: it comes with the archive, and LuaRocks would name it when the archive is missing.
external_dependencies = { ZOOKEEPER = { library = "libzookeeper_st.a" } }

build = {
  type = "builtin",
  modules = {
    ["zkrecipes.adapters.builtin"] = "lua/zkrecipes/adapters/builtin.lua",
    ["zkrecipes.check"] = "lua/zkrecipes/check.lua",
    ["zkrecipes.coroutines"] = "lua/zkrecipes/coroutines.lua",
    ["zkrecipes.host"] = "lua/zkrecipes/host.lua",
    ["zkrecipes"] = "lua/zkrecipes/init.lua",
    ["zkrecipes.loop"] = "lua/zkrecipes/loop.lua",
    ["zkrecipes.objects"] = "lua/zkrecipes/objects.lua",
    ["zkrecipes.queue"] = "lua/zkrecipes/queue.lua",
    ["zkrecipes.run"] = "lua/zkrecipes/run.lua",
    ["zkrecipes.session"] = "lua/zkrecipes/session.lua",
    ["zkrecipes.tasks"] = "lua/zkrecipes/tasks.lua",
    ["zkrecipes.testing"] = "lua/zkrecipes/testing.lua",
    ["zkrecipes.testing.server"] = "lua/zkrecipes/testing/server.lua",
    ["zkrecipes.testing.supervisor"] = "lua/zkrecipes/testing/supervisor.lua",
    ["zkrecipes.testing.wire"] = "lua/zkrecipes/testing/wire.lua",
    ["zkrecipes.timers"] = "lua/zkrecipes/timers.lua",
    ["zkrecipes.wait"] = "lua/zkrecipes/wait.lua",
    ["zkrecipes.core"] = {
      sources = {
        "src/core/alloc.c",
        "src/core/call.c",
        "src/core/claim.c",
        "src/core/emit.c",
        "src/core/engine.c",
        "src/core/ensure.c",
        "src/core/listing.c",
        "src/core/names.c",
        "src/core/seat.c",
        "src/core/session.c",
        "src/core/session_open.c",
        "src/core/signal.c",
        "src/core/status.c",
        "src/core/table.c",
        "src/core/task.c",
        "src/core/timer.c",
        "src/core/vacate.c",
        "src/core/verbs.c",
        "src/core/watch.c",
        "src/lua/args.c",
        "src/lua/engine.c",
        "src/lua/lists.c",
        "src/lua/method.c",
        "src/lua/misuse.c",
        "src/lua/module.c",
        "src/lua/object.c",
        "src/lua/sink.c",
        "src/lua/slots.c",
        "src/lua/task.c",
        "src/recipes/contenders.c",
        "src/recipes/contest.c",
        "src/recipes/eyes.c",
        "src/recipes/hold.c",
        "src/recipes/lock.c",
        "src/recipes/raw.c",
        "src/recipes/raw_multi.c",
        "src/recipes/raw_results.c",
        "src/recipes/recipes.c",
        "src/recipes/room.c",
        "src/recipes/semaphore.c",
        "src/recipes/semaphore_limit.c",
        "src/recipes/semaphore_watch.c",
        "src/recipes/session_class.c",
        "src/recipes/watchpoint.c",
        "src/zk/client.c",
        "src/zk/closing.c",
        "src/zk/completion.c",
        "src/zk/connection.c",
        "src/zk/handle.c",
        "src/zk/io.c",
        "src/zk/lease.c",
        "src/zk/loop.c",
        "src/zk/mailbox.c",
        "src/zk/reply.c",
        "src/zk/report.c",
        "src/zk/resolver.c",
        "src/zk/servers.c",
        "src/zk/thread.c",
        "src/zk/zk_client.c",
      },
      defines = { "_GNU_SOURCE" },
      incdirs = { "src", "$(ZOOKEEPER_INCDIR)" },
      -- The client is linked from its archive, and a version script keeps its functions to ourselves: in a
      -- process that has loaded the multi-threaded client too, the one would else be bound to the other.
      -- This build type has no linker flags; what follows the comma behind a directory reaches the linker
      -- together with the run path.
      libdirs = {
        "$(ZOOKEEPER_LIBDIR)",
        "$(ZOOKEEPER_LIBDIR),-z,nodelete,--version-script,src/lua/exports.map",
      },
      libraries = { ":libzookeeper_st.a", "m", "dl", "pthread" },
    },
  },
}

test = { type = "command", command = "make test" }
