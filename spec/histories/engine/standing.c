#include "standing.h"

#include "recipes/semaphore/semaphore.h"
#include "process.h"

#define MOST_NODES 1100 /* more are wrong anyway: they pile up */

/* All contenders; read again only after a znode was created or deleted. */
static struct {
    int64_t changes; /* after how many this was read; 0: never */
    int count;
    struct {
        const char *path;
        int64_t czxid, permits, owner;
    } at[MOST_NODES];
} standing;

static void note_permits(void *with, const struct zr_sim_view *view)
{
    (void)with;
    struct zr_seat_name read;
    int64_t permits = zr_stem_read(zr_recipes, view->path, &read) ? zr_permits(&read) : 0;
    if (permits == 0 || standing.count == MOST_NODES)
        return;
    int i = standing.count++;
    standing.at[i].path = view->path;
    standing.at[i].czxid = view->stat.czxid;
    standing.at[i].permits = permits;
    standing.at[i].owner = view->stat.ephemeral_owner;
}

static void look_around(void)
{
    if (standing.changes == zr_sim_changes(now.world))
        return;
    standing.changes = zr_sim_changes(now.world);
    standing.count = 0;
    zr_sim_walk(now.world, now.recipe->dir, note_permits, NULL);
}

static bool is_node_of(const struct zr_seat *seat, const char *path)
{
    return seat != NULL && seat->path != NULL && strncmp(path, seat->path, seat->prefix) == 0;
}

int64_t permits_there(const struct zr_seat *but, int64_t until)
{
    int64_t sum = 0;
    look_around();
    for (int i = 0; i < standing.count; i++)
        if (!is_node_of(but, standing.at[i].path) && standing.at[i].czxid <= until)
            sum += standing.at[i].permits;
    return sum;
}

int64_t czxid_of(const struct zr_seat *seat)
{
    look_around();
    for (int i = 0; i < standing.count; i++)
        if (is_node_of(seat, standing.at[i].path))
            return standing.at[i].czxid;
    return 0;
}

static bool is_connected(int64_t session_id)
{
    EACH_PROCESS(p)
    if (p->session != NULL && p->session->id == session_id)
        return p->session->state == ZR_CONNECTED && !zr_sim_paused(p->zk);
    return false;
}

bool all_connected(int64_t until)
{
    look_around();
    for (int i = 0; i < standing.count; i++)
        if (standing.at[i].czxid <= until && !is_connected(standing.at[i].owner))
            return false;
    return true;
}

void begin_standing(void)
{
    standing.changes = 0;
}
