-- Bugs of the driver, the verbs and the session. See plant.lua.

return {
  { name = "sort by name instead of by number",
    file = "src/core/seats.c",
    old = "return (one->sequence > other->sequence) - (one->sequence < other->sequence);",
    new = "return strcmp(one->name, other->name);" },
  { name = "trust a listing that was asked for earlier",
    file = "src/core/listing.c",
    old = "zr_list_append(&running->following.tasks, &task->in_signal);",
    new = "zr_list_append(&running->current.tasks, &task->in_signal);" },
  { name = "a lost listing is not asked for again",
    file = "src/core/listing.c",
    old = "if (outcome == ZR_CONNECTION_LOSS) {",
    new = "if (false) {" },
  { name = "whoever leaves hands over, not only the head",
    file = "src/core/seat.c",
    old = "task->word = seat->word;",
    new = "task->word = 1;" },
  { name = "any word of the one ahead is enough",
    run = "--recipe election --seeds 5000",
    file = "src/core/task.c",
    old = "if (task->enough == NULL || !task->enough(task, word))", new = "if (task->enough == NULL)" },
  { name = "a lost create is not looked up",
    file = "src/core/seat.c",
    old = "        seat->state = ZR_SEAT_UNSURE;\n    } else {",
    new = "        seat->state = ZR_SEAT_NONE;\n    } else {" },
  { name = "adopt a node without asking whose it is",
    run = "--recipe unfair --seeds 20000",
    file = "src/core/seat.c",
    old = "return stat->ephemeral_owner == seat->session->id &&",
    new = "return" },
  -- The proof of a connection is a sync too, so this bug alone changes nothing. Here the proof is also made a plain read.
  { name = "believe the listing without a sync",
    file = "src/core/vacate.c",
    old = "zr_call_new_full(seat->session, ZR_OP_SYNC, seat->dir",
    new = "zr_call_new_full(seat->session, ZR_OP_EXISTS, \"/\"",
    also = {
      file = "src/sim/packet.c",
      old = [[
#include "sim/server.h"
#include "sim/world_alloc.h"

struct zr_sim_packet *zr_sim_packet_new(struct zr_sim_conn *conn, enum zr_sim_kind kind)
{
    struct zr_sim_packet *packet = zr_sim_alloc(sizeof(*packet));
    packet->refs = 1;
    packet->kind = kind;
    if (conn != NULL)
        packet->conn = zr_sim_conn_ref(conn);
    packet->through_leader = kind == ZR_SIM_CONNECT || kind == ZR_SIM_BEAT || kind == ZR_SIM_CLOSE;]],
      new = [[
#include "sim/process.h"
#include "sim/world_alloc.h"

struct zr_sim_packet *zr_sim_packet_new(struct zr_sim_conn *conn, enum zr_sim_kind kind)
{
    struct zr_sim_packet *packet = zr_sim_alloc(sizeof(*packet));
    packet->refs = 1;
    packet->kind = kind;
    if (conn != NULL)
        packet->conn = zr_sim_conn_ref(conn);
    packet->through_leader = kind == ZR_SIM_CONNECT || kind == ZR_SIM_CLOSE ||
        (kind == ZR_SIM_BEAT && conn->handle->phase == ZR_SIM_PROVED);]] } },
  { name = "a lost delete is not repeated",
    file = "src/core/vacate.c",
    old = "if (task->outcome == ZR_OK || task->outcome == ZR_NO_NODE)\n        gone(task);\n    else if",
    new = "if (task->outcome != ZR_NO_MEMORY)\n        gone(task);\n    else if" },
  { name = "clean up without waiting for the create that is out",
    file = "src/core/vacate.c",
    old = "if (seat->state == ZR_SEAT_NONE || unsent || zr_seat_over(seat)) {",
    new = "if (seat->state < ZR_SEAT_UNSURE || unsent || zr_seat_over(seat)) {" },
  { name = "no token after a lost create",
    file = "src/core/seat.c",
    old = "    seat->czxid = stat->czxid;\n    zr_call_free(seat->call);",
    new = "    zr_call_free(seat->call);" },
  { name = "the limit of the counter is ignored",
    file = "src/core/contend.c",
    old = "if (seat->sequence < 0 || seat->sequence >= ZR_SEQUENCE_LIMIT)",
    new = "if (seat->sequence < 0)" },
  { name = "list before the create",
    file = "src/core/contend.c",
    old = [[
    enum zr_status status = zr_seat_create(seat, task);
    if (status == ZR_OK)
        status = zr_listing_ask(task, seat->dir);
]],
    new = [[
    enum zr_status status = zr_listing_ask(task, seat->dir);
    if (status == ZR_OK)
        status = zr_seat_create(seat, task);
]] },
  { name = "watch with exists",
    run = "--recipe lock --seeds 1", -- the exact counts of requests, which follow, catch it
    file = "src/core/watch_gone.c",
    old = "zr_call_new_full(watch->session, ZR_OP_GET, watch->path",
    new = "zr_call_new_full(watch->session, ZR_OP_EXISTS, watch->path" },
  { name = "an idle watch is never taken back",
    run = "--recipe semaphore --seeds 20000",
    file = "src/core/watch.c",
    old = "    zr_timer_start(&session->engine->timers, &session->sweep, due_us(first_idle(session)), sweep);\n",
    new = "" },
  { name = "a watch is taken back, and the answer may be lost",
    run = "--recipe semaphore --seeds 20000",
    file = "src/core/watch.c",
    old = "if (status != ZR_SERVER_ERROR || watch->kept == 0)",
    new = "if (watch->kept == 0)" },
  { name = "an answer for which there was no memory leaves no watch",
    run = "--recipe semaphore --seeds 60000",
    file = "src/core/watch_follow.c",
    old = "(request->status == ZR_NO_MEMORY || request->status == ZR_TOO_LARGE) && request->sent;",
    new = "false;" },
  { name = "requests of a lost handle are in flight forever",
    file = "src/core/session_above.c",
    old = "    session->in_flight = 0;\n",
    new = "" },
  { name = "gone before it was watched: nobody is woken",
    file = "src/core/watch_gone.c",
    old = "    else if (outcome != ZR_OK)\n        zr_signal_fire(&watch->gone, outcome == ZR_NO_NODE ? ZR_OK : outcome);",
    new = "    else if (outcome != ZR_OK && outcome != ZR_NO_NODE)\n        zr_signal_fire(&watch->gone, outcome);" },
  { name = "a watch is left behind after its event",
    file = "src/core/watch_event.c",
    old = "    zr_presence_event(watch, kind);\n    zr_watch_drop_if_unused(watch);",
    new = "    zr_presence_event(watch, kind);" },
  { name = "any event is taken for the deletion",
    file = "src/core/watch_event.c",
    old = "if (kind == ZR_DELETED || status != ZR_OK)",
    new = "if (kind != ZR_CHILDREN_CHANGED)" },
  { name = "events that got lost for want of memory are ignored",
    file = "src/core/watch_event.c",
    old = "        fire_all(session);\n        return;",
    new = "        return;" },
  { name = "free the watches at a session event",
    file = "src/core/session_above.c",
    old = "    zr_signal_fire(&session->changed, ZR_OK);\n",
    new = "    zr_signal_fire(&session->changed, ZR_OK);\n    if (session->state == ZR_SUSPENDED)\n" ..
      "        zr_watches_drop(session, ZR_OK);\n" },
  { name = "a lease that is over is not looked at",
    file = "src/core/session.c",
    old = "        watch_lease(session);\n    else\n        lease_ran_out(session);",
    new = "        watch_lease(session);" },
  { name = "another session on a reconnect is not noticed",
    file = "src/core/session.c",
    old = "!fresh && session->id != notice->session_id",
    new = "false",
    also = {
      file = "src/sim/client_protocol.c",
      old = "bool other = handle->session_id != 0 && handle->session_id != packet->session_id;",
      new = "bool other = false;" } },
  { name = "messages of an old handle are heard",
    asan = true,
    file = "src/core/session.c",
    old = "else if (generation == session->now)",
    new = "else" },
  { name = "a second wake overwrites the first outcome",
    run = "--recipe lock --small",
    file = "src/core/task.c",
    old = [[
    if (zr_linked(&task->in_ready))
        return; /* the task sees only the outcome that woke it first */
    task->outcome = outcome;
]],
    new = [[
    task->outcome = outcome;
    if (zr_linked(&task->in_ready))
        return;
]] },
  { name = "a task goes on inside whatever woke it",
    asan = true,
    file = "src/core/task.c",
    old = "    zr_list_append(&task->session->engine->ready, &task->in_ready);\n",
    new = "    task->resume(task);\n" },
  { name = "a failure is reported inside the start",
    file = "src/core/verbs.c",
    old = "    zr_part_begin(task, zr_part_done);\n    zr_task_wake(task, status);\n",
    new = "    task->outcome = status;\n    zr_part_done(task);\n" },
  { name = "the waiter is told when the clean-up is through",
    file = "src/core/task.c",
    old = [[
    report(task, status);
    end(task);
}

void zr_task_interrupt(struct zr_task *task, enum zr_status status)
{
    if (task->phase != ZR_RUNNING)
        return;
    zr_task_note_doubt(task);
    report(task, status);
]],
    new = [[
    report(task, task->phase == ZR_CLEANING && !task->reported ? task->status : status);
    end(task);
}

void zr_task_interrupt(struct zr_task *task, enum zr_status status)
{
    if (task->phase != ZR_RUNNING)
        return;
    task->status = status;
    if (task->kind->clean == NULL)
        report(task, status);
]] },
  { name = "a grant that crosses a cancellation wins too",
    asan = true,
    file = "src/core/task.c",
    old = "    stop_waiting(task);\n    task->phase = ZR_CLEANING;\n",
    new = "    task->phase = ZR_CLEANING;\n" },
  { name = "reported twice",
    asan = true,
    file = "src/core/task.c",
    old = "    if (task->reported)\n        return;\n",
    new = "" },
  { name = "a dropped task is left behind",
    file = "src/core/task.c",
    old = "    else\n        zr_task_release(task);\n}\n\nvoid zr_task_detach",
    new = "}\n\nvoid zr_task_detach" },
}
