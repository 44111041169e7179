#ifndef ZR_CONNECTION_H
#define ZR_CONNECTION_H

/*
 * connection.h: handles the events of a handle's connection: it tells the host and keeps the lease.
 * Called from the library's callbacks, so nothing here calls the library. The I/O thread.
 */

#include <stdbool.h>
#include <stdint.h>

#include "zk/handle.h"

/* The library says that it is connected. Any TCP server can cause that. */
void zr_connection_up(struct zr_handle *handle, bool writable, int32_t timeout_ms);

/* Stores the address of the other side in client->peer; "" if there is none. */
void zr_connection_learn_peer(struct zr_client *client);

/* The request that proves the connection was answered, or failed. session_id: the library's at
   this time. */
void zr_connection_answer(struct zr_handle *handle, bool answered, int64_t session_id);

/* A heartbeat came back; `proof`: from the leader. */
void zr_connection_beaten(struct zr_handle *handle, bool proof);

/* The connection is gone; the session may live. */
void zr_connection_lost(struct zr_handle *handle);

/* The session is over or the credentials were refused. */
void zr_connection_over(struct zr_handle *handle, enum zr_message_kind kind);

/* When the next heartbeat, or the first request, is due; INT64_MAX: none. */
int64_t zr_connection_due_us(const struct zr_handle *handle);

#endif
