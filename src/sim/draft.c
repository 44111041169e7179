/* The newest record of a path counts; a path without one is looked up in the leader's tree. */
#include "sim/draft.h"

#include <string.h>

#include "sim/world.h"
#include "sim/world_alloc.h"

void zr_sim_draft_init(struct zr_sim_draft *draft, struct zr_sim_world *world,
                       struct zr_sim_txn *txn, size_t parts)
{
    *draft = (struct zr_sim_draft){.world = world, .txn = txn};
    draft->records = draft->few;
    if (parts * 2 > sizeof(draft->few) / sizeof(draft->few[0]))
        draft->records = zr_sim_alloc(parts * 2 * sizeof(*draft->records));
}

void zr_sim_draft_fini(struct zr_sim_draft *draft)
{
    if (draft->records != draft->few)
        zr_sim_release(draft->records);
}

void zr_sim_draft_note(struct zr_sim_draft *draft, const struct zr_sim_record *record)
{
    draft->records[draft->count++] = *record;
}

static bool of_tree(const struct zr_sim_draft *draft, struct zr_sim_record *record)
{
    struct zr_sim_world *world = draft->world;
    const struct zr_sim_node *node =
        zr_sim_tree_find(&world->servers[0].tree, record->path, record->length);
    if (node == NULL)
        return false;
    bool announced = world->now_us < node->announced_until;
    record->exists = true;
    record->version = node->stat.version;
    record->cversion = announced ? node->announced : node->stat.cversion;
    record->aversion = node->stat.aversion;
    record->children = node->stat.child_count;
    record->owner = node->stat.ephemeral_owner;
    record->acl = node->acl;
    return true;
}

static bool same_path(const struct zr_sim_record *record, const char *path, size_t length)
{
    return record->length == length && memcmp(record->path, path, length) == 0;
}

bool zr_sim_draft_find(const struct zr_sim_draft *draft, const char *path, size_t length,
                       struct zr_sim_record *found)
{
    if (length == 1)
        length = 0; /* the root */
    for (size_t i = draft->count; i-- > 0;)
        if (same_path(&draft->records[i], path, length)) {
            *found = draft->records[i];
            return found->exists;
        }
    *found = (struct zr_sim_record){.path = path, .length = length};
    return of_tree(draft, found);
}
