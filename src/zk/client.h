#ifndef ZR_CLIENT_H
#define ZR_CLIENT_H

/*
 * client.h: wraps the client library; all other code uses it through this file. Everything here
 * needs the turn (loop.h), and never runs inside one of the library's callbacks. Replies and
 * notices go to the handle's `out`; what happened to the connection is in handle->client.
 */

#include <stdbool.h>
#include <stdint.h>

#include "zk/handle.h"

/*
 * Makes the library's handle for handle->addresses, without waiting. If there was a session, it
 * continues that session. False: no memory, or the library refuses the addresses.
 */
bool zr_client_open(struct zr_handle *handle);

/* Begins a turn: timeouts, pings, reconnects. Sets fd, events and wait_us. Not when dead. */
void zr_client_prepare(struct zr_handle *handle, int64_t now_us);

/* The descriptor is ready (poll's revents), or client->again is set: sends and receives, a bounded
   number of messages. */
void zr_client_process(struct zr_handle *handle, short revents);

/* True when a request can be given to the library now; an ADD_AUTH has to wait for its turn. */
bool zr_client_ready(const struct zr_handle *handle, const struct zr_request *request);

/* Sends it, or answers at once that it was not sent. keeps: request, until it is in `out`. */
void zr_client_submit(struct zr_handle *handle, struct zr_request *request);

/* Around a batch: what is sent in between leaves in full packets. */
void zr_client_cork(struct zr_handle *handle, bool on);

/* True if the socket is ready for exactly these of poll's events. Does not wait. */
bool zr_client_polls(const struct zr_client *client, short events);

/* Sends what is gathered for TLS. After all that sends in a turn. */
void zr_client_flush(struct zr_handle *handle);

/* Sends the request that proves a new connection, or a heartbeat. */
void zr_client_beat(struct zr_handle *handle, int64_t now_us);

/*
 * Ends the session on a connection with nothing unsent: sends the close request and frees the
 * library's handle. gives: a descriptor of the socket, on which the server's goodbye will come, or
 * -1. What is still in flight fails.
 */
int zr_client_part(struct zr_handle *handle);

/* After zr_client_part: closes that descriptor. */
void zr_client_parted(struct zr_handle *handle);

/* Frees the library's handle at once; what is in flight fails. The session may live on. */
void zr_client_drop(struct zr_handle *handle);

#endif
