/*
 * The library's list of watches, as in the C client: a watch is added when its request is answered,
 * under "data" if the znode exists, under "absence" if an exists found nothing. An event removes
 * the watches that it concerns. An event without a watch is not reported.
 */
#include <string.h>

#include "sim/process.h"
#include "sim/world.h"
#include "sim/world_alloc.h"

struct watched {
    struct zr_sim_entry entry; /* first member */
    unsigned on;
    char path[];
};

static unsigned concern(const struct zr_request *answered)
{
    bool there = answered->status == ZR_OK;
    if (answered->op == ZR_OP_CHILDREN)
        return there ? ZR_SIM_ON_CHILDREN : 0;
    if (answered->op == ZR_OP_EXISTS && answered->status == ZR_NO_NODE)
        return ZR_SIM_ON_ABSENCE;
    return there ? ZR_SIM_ON_DATA : 0;
}

void zr_sim_watched_add(struct zr_handle *handle, const struct zr_request *answered)
{
    unsigned on = answered->watch ? concern(answered) : 0;
    size_t length = on != 0 ? strlen(answered->path) : 0;
    if (on == 0)
        return;
    struct watched *watched =
        (struct watched *)zr_sim_index_find(&handle->watched, answered->path, length);
    if (watched == NULL) {
        watched = zr_sim_alloc(sizeof(*watched) + length + 1);
        memcpy(watched->path, answered->path, length + 1);
        zr_sim_index_add(&handle->watched, &watched->entry, watched->path, length);
    }
    watched->on |= on;
}

bool zr_sim_watched_take(struct zr_handle *handle, enum zr_event_kind event, const char *path)
{
    static const unsigned concerns[] = {
        [ZR_CREATED] = ZR_SIM_ON_DATA | ZR_SIM_ON_ABSENCE,
        [ZR_CHANGED] = ZR_SIM_ON_DATA | ZR_SIM_ON_ABSENCE,
        [ZR_CHILDREN_CHANGED] = ZR_SIM_ON_CHILDREN,
        [ZR_DELETED] = ZR_SIM_ON_DATA | ZR_SIM_ON_ABSENCE | ZR_SIM_ON_CHILDREN,
    };
    struct watched *watched =
        (struct watched *)zr_sim_index_find(&handle->watched, path, strlen(path));
    if (watched == NULL || (watched->on & concerns[event]) == 0)
        return false;
    watched->on &= ~concerns[event];
    if (watched->on == 0) {
        zr_sim_index_remove(&handle->watched, &watched->entry);
        zr_sim_release(watched);
    }
    return true;
}

bool zr_sim_watched_on(const struct zr_handle *handle, const char *path)
{
    return zr_sim_index_find(&handle->watched, path, strlen(path)) != NULL;
}

void zr_sim_watched_remove(struct zr_handle *handle, const char *path)
{
    struct zr_sim_entry *entry = zr_sim_index_find(&handle->watched, path, strlen(path));
    if (entry == NULL)
        return;
    zr_sim_index_remove(&handle->watched, entry);
    zr_sim_release(entry);
}

struct zr_sim_packet *zr_sim_watched_packet(struct zr_handle *handle)
{
    if (handle->watched.count == 0)
        return NULL;
    struct zr_sim_packet *packet = zr_sim_packet_new(handle->conn, ZR_SIM_WATCHES);
    const struct zr_sim_entry *entry = NULL;
    packet->last_zxid = handle->last_zxid;
    packet->rewatches = zr_sim_alloc(handle->watched.count * sizeof(*packet->rewatches));
    while ((entry = zr_sim_index_next(&handle->watched, entry)) != NULL) {
        const struct watched *watched = (const struct watched *)entry;
        packet->size += 4 + entry->length;
        packet->rewatches[packet->rewatch_count++] =
            (struct zr_sim_rewatch){zr_sim_copy(watched->path, entry->length), watched->on};
    }
    return packet;
}

static void drop(struct zr_sim_entry *entry)
{
    zr_sim_release(entry);
}

void zr_sim_watched_fini(struct zr_handle *handle)
{
    zr_sim_index_fini(&handle->watched, drop);
}
