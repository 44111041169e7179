/*
 * Faults of a connection that the client library does not notice: frames that it cannot read,
 * answers to other requests, and servers that are silent.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "zk/client_parts.h"
#include "zk/clock.h"
#include "zk/connection.h"
#include "zk/decode.h"
#include "zk/receive.h"
#include "zk/report.h"

void zr_client_look_for_nonsense(struct zr_client *client, int rc)
{
    if (rc == ZNOTHING && client->up && zr_receive_stuck(&client->incoming))
        zr_decode_blame("an answer for which there is no memory");
    else if (rc == ZRUNTIMEINCONSISTENCY)
        zr_decode_blame("an answer to a different request");
    else if (rc == ZOK && !client->up && !client->dead &&
             zoo_state(client->zh) == ZOO_CONNECTED_STATE)
        zr_decode_blame("an event of an unknown type");
}

bool zr_client_polls(const struct zr_client *client, short events)
{
    struct pollfd one = {.fd = client->fd, .events = events};
    return client->fd >= 0 && poll(&one, 1, 0) == 1 && one.revents == events;
}

/* Is the answer to the handshake, or to the request that proves the connection, not here yet? */
static bool is_awaited(const struct zr_client *client)
{
    return client->fd >= 0 && (!client->up || (client->asked && !client->proved));
}

/* If this thread was held up, the answer may be here already, unread. */
void zr_client_look_for_silence(struct zr_handle *handle, int64_t now_us)
{
    struct zr_client *client = &handle->client;
    if (!is_awaited(client) || client->again || zr_client_polls(client, POLLIN))
        return;
    int64_t due_us = zr_handshake_due_us(&client->handshake);
    if (now_us < due_us) {
        client->wait_us = zr_earlier_us(client->wait_us, due_us - now_us);
        return;
    }
    char line[256];
    const char *stage = client->secure != NULL ? zr_secure_stage(client->secure) : NULL;
    bool tls = stage != NULL && strcmp(stage, "TLS") == 0;
    zr_connection_learn_peer(client);
    snprintf(line, sizeof line, "%s did not answer%s%s within %.1f s%s",
             client->peer[0] != '\0' ? client->peer : "the server",
             stage != NULL ? " the handshake of " : "", stage != NULL ? stage : "",
             (double)(now_us - client->handshake.since_us) / 1e6,
             tls ? "; is this its port for TLS (secureClientPort)?" : "");
    zr_handshake_late(&client->handshake);
    zr_client_cut(client);
    client->wait_us = 0;
    zr_report_note(handle, 'W', line);
}
