-- Bugs of the watched copy. See plant.lua.

local function bug(name, file, old, new, seeds)
  return { name = "tree: " .. name, file = "src/" .. file, harness = "worlds",
    run = "--recipe tree" .. (seeds and " --seeds " .. seeds or ""), old = old, new = new }
end

local function in_file(name, old, new)
  return { name = "tree: " .. name, file = "lua/zkrecipes/recipes/tree/file.lua", harness = "worlds", run = "--recipe tree --seeds 1200",
    old = old, new = new }
end

return {
  bug("a request of an earlier session is sent in the next", "recipes/tree/read.c",
    "read->call->bound = read->call->request.watch = true;", "read->call->request.watch = true;"),
  bug("an answer that came before the event is taken from another tree", "recipes/tree/read.c",
    "    struct zr_tree_read *read = find(node, op);\n",
    "    struct zr_tree_node *other = ZR_HOLDER(zr_watch_next(node->follower.watch, NULL), struct zr_tree_node, follower);\n" ..
    "    if (op == ZR_OP_GET && other != node && node->state != NULL && other->state != NULL && ++other->state->refs > 0) {\n" ..
    "        node->needs &= ~(unsigned)ZR_ON_NODE;\n        zr_tree_show(node, other->state);\n" ..
    "        zr_tree_answered(node);\n        return ZR_OK;\n    }\n" ..
    "    struct zr_tree_read *read = find(node, op);\n"),
  bug("a tree that is closed takes a request back for which others wait", "recipes/tree/read.c",
    "    if (zr_list_empty(&read->shares))\n        free_read(read);\n", "    free_read(read);\n"),
  bug("one tree is given an answer for which others wait", "recipes/tree/read.c",
    "    while ((node = first_of(read)) != NULL) {", "    if ((node = first_of(read)) != NULL) {"),
  bug("an answer of an earlier session is given to all", "recipes/tree/read.c",
    "        if (stale)\n            zr_tree_answered(node);\n        else\n", ""),
  bug("a filter takes names from other trees", "recipes/tree/node.c",
    "        names->at[count++] = name;\n    }\n", "        names->at[count++] = name;\n    }\n    names->count = count;\n"),
  bug("shared data are freed with the request", "recipes/tree/answer.c",
    "    state->refs++;\n    return state;\n", "    return state;\n"),
  bug("nothing is read again in a new session", "core/watch_event.c",
    "    zr_watch_tell(watch, ZR_ON_NODE | ZR_ON_CHILDREN);\n", ""),
  bug("an event that was lost tells nobody", "core/watch_event.c",
    "used_up != 0 ? used_up : ZR_ON_NODE | ZR_ON_CHILDREN", "used_up"),
  bug("an event of the data does not make it read again", "recipes/tree/load.c",
    "unsigned needs = leaf ? used_up & ZR_ON_NODE : used_up;", "unsigned needs = used_up & ZR_ON_CHILDREN;"),
  bug("a root that is gone is not awaited", "recipes/tree/answer.c",
    "node->needs = exists ? 0 : ZR_ON_NODE;", "node->needs = 0;"),
  bug("the children of a root that came back are not listed", "recipes/tree/answer.c",
    "        node->needs |= ZR_ON_CHILDREN;\n", "        node->needs |= 0;\n"),
  bug("what is gone is still shown", "recipes/tree/node.c",
    "    zr_tree_hide(node);\n", ""),
  bug("a znode that was made again is told as changed", "recipes/tree/changes.c",
    "!zr_tree_same_znode(before, now)", "before == now"),
  bug("readers are not told of what is gone", "recipes/tree/picture.c",
    "zr_list_append(&node->tree->log, &node->entry.link);", "zr_list_append((struct zr_list *)(node->state != NULL ? " ..
    "&node->tree->log.head : node->tree->log.head.next), &node->entry.link);"),
  bug("the position passes what is still to be added", "recipes/tree/changes.c",
    "    reader->before = hold(before);\n", "    move_to(reader, &node->entry.link);\n    reader->before = hold(before);\n"),
  bug("the age forgets what is to be read again", "recipes/tree/picture.c",
    "return settled < proof_us ? settled : proof_us;", "return settled == 0 ? settled : proof_us;"),
  bug("the age counts from the notice of a break", "core/session_proof.c",
    "    session->proof_us = later(session->proof_us, notice->proof_us);",
    "    session->proof_us = later(zr_engine_now_us(session->engine), notice->proof_us);"),
  bug("close leaves the watches", "core/watch_follow.c",
    "    zr_watch_unfollow(watch);\n", "    (void)watch;\n"),
  bug("the filter leaves nothing out", "recipes/tree/node.c",
    "!sound || !zr_tree_wants(node, name)", "!sound"),
  bug("the filter leaves out the way to what is wanted", "recipes/tree/filter.c",
    "follow(&pattern, name))", "follow(&pattern, name) && *pattern == '\\0')"),
  bug("the filter leaves out what is below", "recipes/tree/filter.c",
    "follow(&pattern, name))", "next_name(&pattern) > 0 && follow(&pattern, name))"),
  bug("only the first pattern counts", "recipes/tree/filter.c",
    "filter += strlen(filter) + 1", "filter += strlen(filter)"),
  bug("a star stands for nothing", "recipes/tree/filter.c",
    "star = p++;", "star = p++ + pattern_length;"),
  bug("a rest never ends", "recipes/tree/load.c",
    "    zr_list_move(&tree->queue, &tree->resting);\n", ""),
  bug("the root of a file is as young as its reading", "recipes/tree/pack.c",
    "date_root(tree, reader.since_us)", "date_root(tree, now_us)"),
  bug("what a file says is never read again", "recipes/tree/pack.c",
    "    zr_tree_keep(node, parent, reader->since_us);\n", "    node->kept = true;\n    node->parent = parent;\n"),
  in_file("a file counts from when it is written", "file.clock() - age_ms", "file.clock()"),
  in_file("a file counts from when it is read", "inner.restore(tree, copy, age_of(file, proven_ms))", "inner.restore(tree, copy, 0)"),
}
