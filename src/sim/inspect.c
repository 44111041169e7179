/* What a driver may inspect: the leader's tree, not what the clients have seen. */
#include <string.h>

#include "sim/world.h"

static const struct zr_sim_tree *truth(const struct zr_sim_world *world)
{
    return &world->servers[0].tree;
}

static int64_t sum(const int64_t counts[ZR_SIM_OPS], int op)
{
    int64_t total = 0;
    for (int i = 0; i < ZR_SIM_OPS; i++)
        if (op == ZR_SIM_ANY_OP || op == i)
            total += counts[i];
    return total;
}

int64_t zr_sim_requests(const struct zr_zk *zk, int op)
{
    return sum(((const struct zr_sim_process *)zk)->requests, op);
}

int64_t zr_sim_all_requests(const struct zr_sim_world *world, int op)
{
    return sum(world->requests, op);
}

int64_t zr_sim_fault_count(const struct zr_sim_world *world, enum zr_sim_fault fault)
{
    return world->met[fault];
}

int64_t zr_sim_break_count(const struct zr_sim_world *world)
{
    return world->breaks;
}

size_t zr_sim_watch_count(const struct zr_sim_world *world)
{
    size_t count = 0;
    for (size_t i = 0; i < world->server_count; i++)
        count += world->servers[i].watches.count;
    return count;
}

size_t zr_sim_session_count(const struct zr_sim_world *world)
{
    return world->session_count;
}

bool zr_sim_session_alive(const struct zr_sim_world *world, int64_t session)
{
    return zr_sim_session_find((struct zr_sim_world *)world, session) != NULL;
}

int64_t zr_sim_zxid(const struct zr_sim_world *world)
{
    return world->zxid;
}

void zr_sim_observe(struct zr_sim_world *world, void (*saw)(void *with, int64_t zxid), void *with)
{
    world->saw = saw;
    world->with = with;
}

bool zr_sim_stat(const struct zr_sim_world *world, const char *path, struct zr_stat *stat)
{
    const struct zr_sim_node *node = zr_sim_tree_find(truth(world), path, strlen(path));
    if (node != NULL)
        *stat = zr_sim_node_stat(node);
    return node != NULL;
}

int64_t zr_sim_changes(const struct zr_sim_world *world)
{
    return truth(world)->changes;
}

static struct zr_sim_view view_of(const struct zr_sim_node *node)
{
    return (struct zr_sim_view){node->path, node->data, zr_sim_node_stat(node)};
}

bool zr_sim_look(const struct zr_sim_world *world, const char *path, struct zr_sim_view *view)
{
    const struct zr_sim_node *node = zr_sim_tree_find(truth(world), path, strlen(path));
    if (node != NULL)
        *view = view_of(node);
    return node != NULL;
}

/* ---- The tree ------------------------------------------------------------------------------ */

static bool is_hidden(const struct zr_sim_node *node)
{
    return strcmp(node->path, "/zookeeper") == 0;
}

/* The first child; if there is none, the next sibling; if there is none, the parent's next
   sibling. */
static const struct zr_sim_node *next_node(const struct zr_sim_node *top,
                                           const struct zr_sim_node *node)
{
    const struct zr_sim_node *next = is_hidden(node) ? NULL : zr_sim_next_child(node, NULL);
    for (; next == NULL && node != top; node = node->parent)
        next = zr_sim_next_child(node->parent, node);
    return next;
}

void zr_sim_walk(const struct zr_sim_world *world, const char *path,
                 void (*visit)(void *with, const struct zr_sim_view *view), void *with)
{
    const struct zr_sim_node *top = zr_sim_tree_find(truth(world), path, strlen(path));
    for (const struct zr_sim_node *node = top; node != NULL; node = next_node(top, node)) {
        struct zr_sim_view view = view_of(node);
        if (!is_hidden(node))
            visit(with, &view);
    }
}

size_t zr_sim_count(const struct zr_sim_world *world, const char *path)
{
    size_t count = 0;
    const struct zr_sim_node *top = zr_sim_tree_find(truth(world), path, strlen(path));
    for (const struct zr_sim_node *node = top; node != NULL; node = next_node(top, node))
        count += !is_hidden(node);
    return count > 0 ? count - 1 : 0;
}

static void dump_one(void *with, const struct zr_sim_view *view)
{
    const struct zr_stat *stat = &view->stat;
    fprintf(with, "%s czxid=%llx mzxid=%llx pzxid=%llx version=%d cversion=%d", view->path,
            (unsigned long long)stat->czxid, (unsigned long long)stat->mzxid,
            (unsigned long long)stat->pzxid, (int)stat->version, (int)stat->cversion);
    if (stat->ephemeral_owner != 0)
        fprintf(with, " owner=%016llx", (unsigned long long)stat->ephemeral_owner);
    if (view->data.at == NULL)
        fputs(" null\n", with);
    else
        fprintf(with, " \"%.*s\"\n", (int)view->data.length, view->data.at);
}

void zr_sim_dump(const struct zr_sim_world *world, const char *path, FILE *to)
{
    zr_sim_walk(world, path, dump_one, to);
}
