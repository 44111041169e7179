/* The newest record of a path counts. A path without a record is looked up in the leader's tree. */
#include "sim/outstanding.h"

#include <string.h>

#include "sim/world.h"
#include "sim/world_alloc.h"

void zr_sim_outstanding_init(struct zr_sim_outstanding *outstanding, struct zr_sim_world *world,
                             struct zr_sim_txn *txn, size_t parts)
{
    *outstanding = (struct zr_sim_outstanding){.world = world, .txn = txn};
    outstanding->records = outstanding->few;
    if (parts * 2 > sizeof(outstanding->few) / sizeof(outstanding->few[0]))
        outstanding->records = zr_sim_alloc(parts * 2 * sizeof(*outstanding->records));
}

void zr_sim_outstanding_fini(struct zr_sim_outstanding *outstanding)
{
    if (outstanding->records != outstanding->few)
        zr_sim_release(outstanding->records);
}

void zr_sim_outstanding_note(struct zr_sim_outstanding *outstanding,
                             const struct zr_sim_record *record)
{
    outstanding->records[outstanding->count++] = *record;
}

static bool of_tree(const struct zr_sim_outstanding *outstanding, struct zr_sim_record *record)
{
    struct zr_sim_world *world = outstanding->world;
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

bool zr_sim_outstanding_find(const struct zr_sim_outstanding *outstanding, const char *path,
                             size_t length, struct zr_sim_record *found)
{
    if (length == 1)
        length = 0; /* the root */
    for (size_t i = outstanding->count; i-- > 0;)
        if (same_path(&outstanding->records[i], path, length)) {
            *found = outstanding->records[i];
            return found->exists;
        }
    *found = (struct zr_sim_record){.path = path, .length = length};
    return of_tree(outstanding, found);
}
