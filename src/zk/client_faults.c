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

#include "zk/client.h"
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

static struct zr_silence silence_of(struct zr_handle *handle)
{
    struct zr_client *client = &handle->client;
    struct zr_silence silence = {client->peer,
                                 client->up ? "the first request" : "the handshake of ZooKeeper",
                                 "is it starting, or overloaded?"};
    zr_connection_learn_peer(client);
    if (client->peer[0] == '\0') {
        bool one = strchr(handle->addresses, ',') == NULL;
        silence.server = one ? handle->addresses : NULL;
        silence.unanswered = "our attempt to connect";
        silence.advice = "is it down, or is a firewall in between?";
    }
    if (client->secure != NULL)
        zr_secure_silence(client->secure, &silence);
    return silence;
}

static void note(struct zr_handle *handle, const struct zr_silence *silence, int64_t now_us)
{
    char line[512];
    snprintf(line, sizeof line, "%s did not answer %s within %.1f s; %s",
             silence->server != NULL ? silence->server : "the server", silence->unanswered,
             (double)(now_us - handle->client.handshake.since_us) / 1e6, silence->advice);
    zr_report_note(handle, 'W', line);
}

bool zr_client_note_silence(struct zr_handle *handle)
{
    if (!is_awaited(&handle->client))
        return false;
    struct zr_silence silence = silence_of(handle);
    if (silence.server != NULL)
        note(handle, &silence, zr_now_us());
    return silence.server != NULL;
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
    struct zr_silence silence = silence_of(handle);
    zr_handshake_late(&client->handshake);
    zr_client_cut(client);
    client->wait_us = 0;
    note(handle, &silence, now_us);
}
