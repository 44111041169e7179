/*
 * 1. The names are looked up.
 * 2. The library's client is made with the first address. From then on it connects and reconnects
 *    by itself.
 * 3. If it reaches no server for long, the names are looked up again. If they have other addresses
 *    now, a new client takes the session over from the old one.
 *
 * What can go wrong: no name can be resolved, or the client talks to something that is not
 * ZooKeeper. Both are tried again later, with a pause that doubles; after the latter, with another
 * server first. The client that takes over does not know the watches of the old one, so the host is
 * told that any of them may have fired. While the goodbye is awaited there is no client, but no new
 * one may be made either: it would attach itself to the session that ends.
 */
#include "zk/servers.h"

#include <stddef.h>
#include <string.h>

#include "core/alloc.h"
#include "zk/client.h"
#include "zk/connection.h"

#define SECOND_US INT64_C(1000000)
#define FIRST_PAUSE_US (SECOND_US / 2)
#define LONGEST_PAUSE_US (10 * SECOND_US)
#define STALE_US (10 * SECOND_US) /* after so long without a server, look up the names again */

static void pause_longer(struct zr_handle *handle, int64_t now_us)
{
    if (handle->backoff_us == 0)
        handle->backoff_us = FIRST_PAUSE_US;
    handle->resolve_us = now_us + handle->backoff_us;
    handle->backoff_us *= 2;
    if (handle->backoff_us > LONGEST_PAUSE_US)
        handle->backoff_us = LONGEST_PAUSE_US;
}

int64_t zr_servers_due_us(const struct zr_handle *handle)
{
    const struct zr_client *client = &handle->client;
    if (client->unfit)
        return 0;
    if (client->up || client->dead || handle->parting_fd >= 0 || handle->resolution->busy)
        return INT64_MAX;
    return handle->resolve_us;
}

static void replace_unfit(struct zr_handle *handle, int64_t now_us)
{
    if (!handle->client.proved)
        zr_report_note(handle, 'W',
                       "the server does not answer like a ZooKeeper server that accepts writes; "
                       "check the address "
                       "and the port");
    zr_connection_lost(handle);
    zr_client_drop(handle);
    pause_longer(handle, now_us);
}

void zr_servers_step(struct zr_handle *handle, int64_t now_us)
{
    struct zr_client *client = &handle->client;
    if (client->unfit)
        replace_unfit(handle, now_us);
    if (client->proved) {
        handle->backoff_us = 0;
        handle->resolve_us = now_us + STALE_US;
    } else if (zr_servers_due_us(handle) <= now_us) {
        zr_resolution_start(handle->resolution);
    }
}

/* "a,b,c" becomes "b,c,a". */
static void rotate(char *list)
{
    char first[ZR_RESOLVER_ADDRESS];
    char *comma = strchr(list, ',');
    if (comma == NULL || comma - list >= (ptrdiff_t)sizeof first)
        return;
    size_t length = (size_t)(comma - list), rest = strlen(comma + 1);
    memcpy(first, list, length);
    memmove(list, comma + 1, rest);
    list[rest] = ',';
    memcpy(list + rest + 1, first, length);
}

/* If the addresses are the same as before, the first one did not help: moves it to the end. */
static void keep_addresses(struct zr_handle *handle, struct zr_resolution *resolution)
{
    if (handle->addresses != NULL && handle->fingerprint == resolution->fingerprint) {
        rotate(handle->addresses);
        return;
    }
    zr_free(handle->addresses);
    handle->addresses = resolution->addresses;
    handle->fingerprint = resolution->fingerprint;
    resolution->addresses = NULL;
}

static void adopt(struct zr_handle *handle, int64_t now_us)
{
    keep_addresses(handle, handle->resolution);
    zr_client_drop(handle);
    handle->resolve_us = now_us + STALE_US;
    if (handle->client.session_id != 0)
        handle->report.missed = true;
    if (!zr_client_open(handle))
        pause_longer(handle, now_us);
}

void zr_servers_found(struct zr_handle *handle, int64_t now_us)
{
    struct zr_resolution *resolution = handle->resolution;
    struct zr_client *client = &handle->client;
    if (resolution->failure[0] != '\0')
        zr_report_note(handle, 'W', resolution->failure);
    if (resolution->addresses == NULL) {
        pause_longer(handle, now_us);
        return;
    }
    handle->resolve_us = now_us + STALE_US;
    bool wanted = client->zh == NULL || handle->fingerprint != resolution->fingerprint;
    bool adopted = wanted && !client->up && !client->dead && handle->parting_fd < 0;
    if (client->secure != NULL && (adopted || !wanted)) {
        zr_secure_learn(client->secure, resolution->names);
        resolution->names = NULL;
    }
    if (adopted)
        adopt(handle, now_us);
    zr_resolution_forget(resolution);
}
