-- Bugs of the queue. See plant.lua.

local function bug(name, file, old, new)
  file = file:find "%.c$" and "src/recipes/queue/" .. file or ("lua/zkrecipes/recipes/queue/%s.lua"):format(file)
  return { name = "queue: " .. name, file = file, harness = "queue", old = old, new = new }
end

local told = bug("a put that waits for the next bucket is not told", "plain.c",
  "    lane->epoch++;\n    zr_signal_fire(&lane->moved, ZR_OK);\n", "    lane->epoch++;\n")
told.also = { old = "(lane->flight -= put->count) == 0)", new = "(lane->flight -= put->count) > 1000)" }

local served = bug("an item that was claimed in a session that is over is served", "stock.c",
  "if (zr_session_valid(queue->znode.session, claim->generation)) {", "if (true) {")
served.also = { file = "src/recipes/queue/wait.c", old = "return claim->taken ? ZR_OK", new = "return claim != NULL ? ZR_OK" }

return {
  bug("ack without the version of its claim", "parts.c", "add(parts, ZR_OP_DELETE, put->from.at)->version = put->version;",
    "add(parts, ZR_OP_DELETE, put->from.at);"),
  bug("ack does not end its claim", "parts.c", "    if (put->claim.at != NULL)\n        add(parts, ZR_OP_DELETE, put->claim.at);\n",
    "    if (put->claim.at != NULL && !put->held)\n        add(parts, ZR_OP_DELETE, put->claim.at);\n"),
  bug("claims outlive their session", "work.c", ".path = claim->claimed, .data = tag, .mode = ZR_EPHEMERAL};",
    ".path = claim->claimed, .data = tag};"),
  bug("a claim whose answer is lost is left behind", "work.c", "    if (task->outcome == ZR_OK)\n        done(task);\n",
    "    if (task->outcome == ZR_OK && task->call->request.op != ZR_OP_MULTI)\n        all_gone(task);\n"
    .. "    else if (task->outcome == ZR_OK)\n        done(task);\n"),
  bug("a claim is made of an item in any version", "work.c", ".data = text, .version = claim->version};",
    ".data = text, .version = ZR_ANY_VERSION};"),
  bug("an item that was refused counts as claimed", "work.c", "    zr_work_drop(worker, at);\n    zr_work_claim(task);",
    "    worker->got = at + 1;\n    zr_work_claim(task);"),
  bug("after a lost answer a refused transaction counts as done", "work.c",
    "    if (task->outcome == ZR_OK && says_ours(worker, &task->call->request)) {", "    if (task->outcome == ZR_OK) {"),
  served,
  bug("an item is given to a caller that runs too late for it", "wait.c", "return claim->taken ? ZR_OK",
    "return claim != NULL ? ZR_OK"),
  bug("only one item goes back from the stock", "stock.c", "    zr_stock_drop(queue);\n    zr_object_unref",
    "    give_back(shift(&queue->consumer));\n    zr_object_unref"),
  bug("an item of the stock is given twice", "stock.c", "    consumer->stock_count--;\n",
    "    zr_list_append(&consumer->stock, link);\n    zr_object_ref(&ZR_HOLDER(link, struct zr_claim, in_stock)->object);\n"),
  bug("an ack_all without an answer counts as done", "ack_all.c", "    if (status == ZR_OK)\n        ack->at = ack->to;",
    "    if (status == ZR_OK || unknown)\n        ack->at = ack->to;"),
  bug("an ack_all does not remember that its answer may be lost", "ack_all.c",
    "        ack->items[i].claim->doubts[ZR_DOUBT_ACK] = true;\n", ""),
  bug("an ack_all without the versions of its claims", "ack_all.c", ".path = claim->path, .version = claim->version};",
    ".path = claim->path, .version = ZR_ANY_VERSION};"),
  bug("an ack_all does not end its claims", "ack_all.c", ".op = ZR_OP_DELETE, .path = claim->claimed, .version = ZR_ANY_VERSION};",
    ".op = ZR_OP_CHECK, .path = claim->claimed, .version = ZR_ANY_VERSION};"),
  bug("an ack_all that was refused counts as done", "ack_all.c", "    if (status == ZR_OK)\n        ack->at = ack->to;",
    "    if (status == ZR_OK || zr_was_faster(status))\n        ack->at = ack->to;"),
  bug("an ack_all goes on behind the first item of a request that was refused", "ack_all.c",
    "        ack->alone = ack->to;\n    else {", "        ack->alone = ack->to, ack->at++;\n    else {"),
  bug("put_all counts the items that it wanted to put", "put_all.c", "    all->at += all->put.count;",
    "    all->at += next_count(all, 0);"),
  bug("put_all counts the item that failed", "put_all.c", "(int64_t)of(task)->at);", "(int64_t)of(task)->at + 1);"),
  bug("a claim is made in another session than its presence", "work.c", "    call->bound = true;\n", ""),
  bug("a lost answer of a put counts as done", "append.c", "if (!zr_item_in_list(name, put->tag) ||", "if ("),
  bug("only the first item of a list shows that it was put", "append.c", "zr_item_in_list(name, put->tag)",
    "zr_item_has_tag(name, put->tag)"),
  bug("a lost answer of a put with an id counts as done", "append.c",
    "return answer->status == ZR_OK && zr_put_says_ours(zr_put_of(task), answer->data_reply);", "return true;"),
  bug("a lost answer of a move or an ack counts as done", "append.c", "    return answer->status == ZR_NO_NODE;", "    return true;"),
  bug("a void znode counts as an item", "batch.c",
    "zr_is_item(names->at[i], delayed) && !zr_is_void(names->at[i], queue->bucket_size)", "zr_is_item(names->at[i], delayed)"),
  bug("a void znode is not deleted", "look.c", "        if (zr_is_void(name, zr_queue_of(task)->bucket_size)) {",
    "        if (false) {"),
  bug("an item whose znode is void is not put again", "plain.c", "    if (zr_is_void(put->created, queue->bucket_size)) {",
    "    if (false) {"),
  bug("an item whose void znode was deleted is not put again", "append.c",
    "    else if (put->voided[0] != '\\0')\n        void_missing(task);\n", ""),
  bug("an item is in a transaction if its void znode is there", "append.c", "(!put->plain && zr_is_void(name, size))", "false"),
  bug("the next bucket begins too early", "plain.c", "    if (number >= queue->bucket_size - 1)",
    "    if (number >= queue->bucket_size - 2)"),
  told,
  bug("a put into a bucket that is gone does not look for another one", "append.c", [[
    if (put->lane->tail == put->bucket)
        zr_lane_set_tail(put->lane, -1);
    zr_put_append(task);
}

/* A consumer]], "    zr_put_append(task);\n}\n\n/* A consumer"),
  bug("the next bucket of dead letters counts as one", "next_bucket.c", "zr_lane_priority(lane->name) >= 0 ? 4 : 3;", "4;"),
  bug("the last bucket is not watched", "look.c", "    if (look->watches && newest)", "    if (false)"),
  bug("an event at the last bucket tells nobody", "idle.c", "        zr_consumer_stirred(lookout->queue);", "        (void)0;"),
  bug("what was created in the last bucket does not count", "glance.c", "    return lane->creates != before;", "    return false;"),
  bug("a glance leaves no watch", "glance.c", "    lane->newest.glance = true;\n", [[
    if (lane->newest.follower.watch != NULL) {
        lane->newest.stands = true;
        zr_queue_read(task, ZR_OP_CHILDREN, lane->path, zr_bucket_name(bucket, name), next);
        return;
    }
    lane->newest.glance = true;
]]),
  bug("the watch stays at the bucket before", "glance.c",
    "    if (lane->watched != bucket)\n        zr_lookout_part(&lane->newest);\n", ""),
  bug("a put does not look whether its bucket is sealed", "parts.c", "add(parts, ZR_OP_CHECK, path)->version = 0;",
    "add(parts, ZR_OP_CHECK, path);"),
  bug("a put does not seal its bucket when it makes the next one", "next_bucket.c",
    "{.op = ZR_OP_SET, .path = full, .data = {\"\", 0}, .version = 0},", "{.op = ZR_OP_CHECK, .path = full, .version = 0},"),
  bug("buckets are deleted before they are sealed", "look.c", "    if (look->empty && look->sealed)", "    if (look->empty)"),
  bug("the dead are not noticed", "consumer.c", "    if (consumer->watching && !consumer->consumers.stands)", "    if (false)"),
  bug("lanes are listed without a watch", "look_lanes.c", [[
    if (zr_search_of(task)->watches)
        zr_lookout_read(task, &queue->consumer.lanes, ZR_OP_CHILDREN,]], [[
    if (false)
        zr_lookout_read(task, &queue->consumer.lanes, ZR_OP_CHILDREN,]]),
  bug("a lane is listed without a watch", "look_lanes.c", "    else if (look->watches && !look->lane->in.stands)", "    else if (false)"),
  bug("later is looked at without a watch", "later.c", "    if (look->watches)", "    if (false)"),
  bug("a watch that was used up counts as set", "idle.c", "    lookout->stands = false;\n    if (lookout->glance)",
    "    if (lookout->glance)"),
  bug("no look after the lock is acquired", "idle.c", "    queue->consumer.watching = true;\n    zr_consumer_happened(queue);",
    "    queue->consumer.watching = true;"),
  bug("a poison item goes round forever", "read_items.c",
    "readable && claim->entry.attempts >= claim->queue->consumer.attempts;", "false;"),
  bug("items sorted by name, not by number", "batch.c", "memcmp(a + strlen(a) - DIGITS, b + strlen(b) - DIGITS, DIGITS);",
    "strcmp(a, b);"),
  bug("a move forgets to delete", "parts.c", "    add(parts, ZR_OP_DELETE, put->from.at)->version = put->version;\n", ""),
  bug("take, remove and bury do not look for claims", "parts.c", "    if (put->claim.at != NULL && !put->held)\n", "    if (false)\n"),
  bug("what cannot be read is looked at again and again", "read_items.c", "        status = zr_leave_out(claim);\n", "        (void)0;\n"),
  bug("an ack does not remember that its answer may be lost", "finish.c", "    options->doubted = claim->doubts[doubt];\n", ""),
  bug("two processes use the same tags", "put.c", "put->tagged = zr_queue_of(task)->session_id;", "put->tagged = 1;"),
  bug("a list is there in part", "names.c", ">= size - zr_item_number(name);", ">= 0 && zr_item_number(name) >= size;"),
  bug("the names of a list do not say that others follow", "put.c", "put->count - 1 - item, put->number);",
    "0 * item, put->number);"),
  bug("two processes have the same name in consumers", "attend.c", "zr_session_tag(session, session->id, tag);",
    "zr_session_tag(session, 1, tag);"),
  bug("a take whose answer is lost counts as done", "take.c", "    if (task->outcome == ZR_OK && same)\n        gone(task);",
    "    if (task->outcome == ZR_OK && same) {\n        zr_worker_of(task)->claims[0]->taken = true;\n"
    .. "        zr_worker_of(task)->got = 1;\n        zr_work_end(task);\n    }"),
  bug("a watch on a znode stands for its children", "look_lanes.c", "        zr_queue_of(task)->consumer.lanes.stands = false;\n", ""),
  bug("after a take whose answer is lost another session tells", "take.c",
    "    bool same = worker->generation == task->session->generation;", "    bool same = true;"),
  bug("a take gives what has had all its attempts", "read_items.c", "readable && claim->entry.attempts >=",
    "readable && !worker->takes && claim->entry.attempts >="),
  bug("remove does not look for claims", "remove.c", "        options.put_count = ZR_NO_DATA;\n",
    "        options.put_count = options.claim = ZR_NO_DATA;\n"),
  bug("remove looks only once where it is", "remove.c", "answer->stat.mzxid == removal->said_zxid",
    "removal->said_zxid != 0"),
  bug("a removed item leaves no tombstone", "parts.c", "struct zr_request *part = add(parts, put->id_there ?",
    "struct zr_request *part = add(parts, put->removed ? ZR_OP_DELETE : put->id_there ?"),
  bug("redrive does not count attempts from zero", "redrive.c", "    struct zr_append_options options = {.attempts = 0};",
    "    struct zr_append_options options = {.attempts = of(task)->letter->entry.attempts};"),
  bug("what is moved is not counted", "parts.c", "    if (put->out.at != NULL)\n        add(parts, ZR_OP_SET, put->out.at);\n", ""),
  bug("a producer takes all the room that is left", "capacity.c", "rest = least(left / 10, CREDIT_MAX) - room;", "rest = left - room;"),
  bug("put_all does not look how much room there is", "capacity.c", "int64_t room = least(left, (int64_t)put->count),",
    "int64_t room = left > 0 ? (int64_t)put->count : 0,"),
  bug("a simple take does not care who deletes", "simple_take.c", "    if (task->outcome == ZR_OK) {\n        zr_free(of(task)->path);",
    "    if (task->outcome == ZR_OK || task->outcome == ZR_NO_NODE) {\n        zr_free(of(task)->path);"),
  bug("a simple take deletes again when its answer is lost", "simple_take.c", "zr_verb_ask(task, &what, false, ZR_STEP(deleted));",
    "zr_verb_ask(task, &what, true, ZR_STEP(deleted));"),
  bug("a simple take waits without a watch", "simple_take.c", "zr_simple_list(task, simple->waiting > 0, listed);",
    "zr_simple_list(task, false, listed);"),
  bug("a simple take does not look once more before it waits", "simple_take.c",
    "else if (zr_simple_of(task)->watched)", "else if (true)"),
  bug("a simple take that ends does not end its look", "simple_take.c", "    if (take->looks)\n        end_look(task);\n", ""),
  bug("a simple put is done again when its answer is lost", "simple.c", "zr_verb_ask(task, &what, false, ZR_STEP(created));",
    "zr_verb_ask(task, &what, true, ZR_STEP(created));"),
  bug("a simple put whose answer is lost counts as done", "simple.c", "    if (task->outcome == ZR_OK) {\n        one_done(task);",
    "    if (task->outcome == ZR_OK || task->outcome == ZR_CONNECTION_LOSS) {\n        one_done(task);"),
  bug("an id is forgotten too early", "known_id.c", "- put->said_ms < REMEMBER_MS)", "- put->said_ms < REMEMBER_MS / 2)"),
  bug("an id is never forgotten", "known_id.c", "- put->said_ms < REMEMBER_MS)", "- put->said_ms < 1000000000)"),
  bug("an old id is put again by all callers that come at once", "parts.c", [[
    if (put->tombstone != NULL)
        add(&parts, ZR_OP_DELETE, put->tombstone);
]], ""),
  bug("tombstones are removed too early", "tombstones.c", "    if (young)\n        return false;\n", ""),
  bug("tombstones are never removed", "tidy.c", "    if (now_us < queue->tidy_at_us)", "    if (now_us >= queue->tidy_at_us)"),
  bug("tombstones are removed without their ids", "tombstones.c", "i % 2 == 0 ? one->path : one->id,",
    "i % 2 == 0 ? one->path : one->path,"),
  bug("an item with an id is done without a tombstone", "finish.c",
    "    if (claim->entry.has_id)\n        options->lane", "    if (false)\n        options->lane"),
  bug("an item with an id is taken without a tombstone", "take.c", "        if (worker->claims[0]->entry.has_id)",
    "        if (false)"),
  bug("an item with an id is removed without a tombstone", "remove.c",
    "        options.lane = (struct zr_bytes){\"done\", 4};\n", ""),
  bug("an id does not follow its item when that is moved", "parts.c", "    if (put->id_path != NULL)\n        add_id(",
    "    if (put->id_path != NULL && put->from.at == NULL)\n        add_id("),
  bug("each clean-up of a dropped item takes one attempt off", "let_go.c", "    if (claim->leaving || claim->end != ZR_CLAIM_LIVES ||", [[
    if (claim->leaving && claim->end == ZR_CLAIM_LIVES) {
        claim->entry.attempts--;
        zr_free(claim->text);
        claim->text = NULL;
        zr_task_session_over(&claim->task, ZR_OK);
    }
    if (claim->leaving || claim->end != ZR_CLAIM_LIVES ||]]),
  bug("an item without a caller is kept", "worker.c", "    zr_claim_let_go(claim);\n", ""),
  bug("a tombstone in a bucket that is sealed is no reason to ask again", "append.c",
    "else if (status == ZR_BAD_VERSION && part < put->first_part)",
    "else if (status == ZR_BAD_VERSION && part < put->first_part && put->from.at == NULL)"),
  bug("an ack that was done late is a lost claim", "append.c", "    else if (put->doubted)\n", "    else if (false)\n"),
  bug("an item that is given back wakes no consumer", "parts.c", "    add(parts, ZR_OP_SET, put->put_count.at);\n", ""),
  bug("an item is given back in any version", "parts.c", "    item->version = put->version;\n", ""),
  bug("a caller that leaves keeps the idle lock", "wait.c",
    "    if (consumer->waiting == 0)\n        zr_signal_fire(&consumer->work, ZR_OK);\n", ""),
  bug("an item that was claimed is given to a caller that takes", "worker.c", "first != NULL && first->takes == worker->takes",
    "first != NULL"),
  bug("no look after a rest", "idle.c", "    zr_consumer_happened(ZR_HOLDER(timer, struct zr_queue, consumer.rest));", "    (void)timer;"),
  bug("nobody looks when an item is due", "consumer.c", "    zr_consumer_happened(ZR_HOLDER(timer, struct zr_queue, consumer.due));",
    "    (void)timer;"),
  bug("an ack that was canceled is not in doubt", "finish.c", "    claim->doubts[doubt] = true;\n", ""),
  bug("claims count for no bytes", "work.c", "    enum zr_status status = zr_ephemerals_reserve(call);\n",
    "    enum zr_status status = ZR_OK;\n"),
  bug("claims that were not made count for bytes", "work.c",
    "            zr_ephemerals_gone(task->session, full);\n", "            (void)0;\n"),
  bug("a claim counts for bytes after an ack whose answer was lost", "append.c",
    "        zr_ephemerals_gone(task->session, full);\n", "        (void)0;\n"),
  bug("a znode in consumers counts for no bytes", "attend.c", "    status = zr_ephemerals_reserve(*call);\n", "    status = ZR_OK;\n"),
  bug("an idle lock that was lost counts as held", "idle.c",
    "    if (consumer->hold != NULL && !zr_idle_holds(queue)) {", "    if (false) {"),
}
