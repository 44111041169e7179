-- Weaker rules of the lease, which allow two valid holders. See plant.lua; spec/histories/lease/aims.c aims at most of them. One weaker
-- rule is missing here: that without the time by which pings may be late. It fails only if the leader pauses twice, at the right moments.

local function bug(name, old, new, also)
  return { name = name, file = "src/core/lease.c", old = old, new = new, also = also, harness = "lease" }
end

return {
  -- The rule of the first version: a heartbeat every T/4; a heartbeat counts once another one, sent T/8 after its answer, was answered.
  bug("one later heartbeat proves one",
    "#define BEATS 16 /* in a timeout */\n" ..
      "#define LATE 40  /* the part of a timeout by which the leader's pings may be late */\n#define STAGES 4",
    "#define BEATS 4\n#define LATE 8\n#define STAGES 1"),
  bug("a quarter of a tick is enough", "/ 2 + 2 * (timeout_us / LATE)", "/ 4 + 2 * (timeout_us / LATE)"),
  bug("half of a short timeout is a tick", "return timeout_us / 2 > 2 * SECOND_US ? timeout_us / 2 : 2 * SECOND_US;",
    "return timeout_us / 2;"),
  bug("the rule without h", "    lease->timeout_us / LATE, ping_us(lease->tick_us", "    ping_us(lease->tick_us",
    { old = "#define STAGES 4", new = "#define STAGES 3" }),
  bug("the rule without the heartbeat after i", "        lease->timeout_us / LATE, 1, /*", "        1, /*",
    { old = "#define STAGES 4", new = "#define STAGES 3" }),
  bug("the rule without j", "LATE, 1, /*", "LATE, /*", { old = "#define STAGES 4", new = "#define STAGES 3" }),
  bug("h is timed from when k was sent", "{sent_us, now_us, 0}", "{sent_us, sent_us, 0}"),
  bug("a lease that is over is noticed late", "now_us >= lease->deadline_us;",
    "now_us >= lease->deadline_us + lease->timeout_us / 20;"),
  bug("a lease that is over is extended", "if (!over && until", "if (until"),
  bug("a handshake counts from its answer", "    extend(lease, began_us, now_us);", "    extend(lease, now_us + 0 * began_us, now_us);"),
  bug("only the first timeout counts", "lease->timeout_us == 0 || timeout_us < lease->timeout_us)", "lease->timeout_us == 0)"),
  bug("a smaller timeout does not shorten the lease", "if (until(lease, began_us) < lease->deadline_us)", "if (false)"),
  bug("the largest timeout counts", "timeout_us < lease->timeout_us)", "timeout_us > lease->timeout_us)"),
}
