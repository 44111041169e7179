#ifndef ZR_CLIENT_PARTS_H
#define ZR_CLIENT_PARTS_H

/*
 * client_parts.h: what the files share that see the client library: client.c drives it,
 * client_call.c and client_multi.c give it requests, client_events.c is what it calls,
 * client_faults.c detects what it does not notice, and client_secure.c adds TLS. No other file
 * includes it. The I/O thread.
 */

#include <zookeeper/zookeeper.h>

#include "zk/handle.h"

/* Gives the request to the library and returns its code: ZOK, and the completion will be called;
   or why it was not sent. keeps: request, until the completion. */
int zr_client_call(struct zr_handle *handle, struct zr_request *request);

/* As zr_client_call, for a transaction. */
int zr_client_call_multi(struct zr_handle *handle, struct zr_request *request);

/* The number of parts of the transaction that will be answered next; 0: none is in flight. */
size_t zr_client_multi_parts(const struct zr_handle *handle);

/* The watcher of the handle `with`, for its session and for all paths. */
void zr_client_on_event(zhandle_t *zh, int type, int state, const char *path, void *with);

/* The completion of the request that proves a connection. */
void zr_client_on_proof(int rc, const char *path, const void *with);

/* A line for the log, from inside a call of ours. */
void zr_client_on_log(const char *line);

/*
 * Cuts the connection, so that the library fails all requests in flight and clears its queues. Data
 * received before are still read. False: the library has not noticed the cut yet.
 */
bool zr_client_cut(struct zr_client *client);

/* After zookeeper_process: detects faults that the library does not report. rc: its result. */
void zr_client_look_for_nonsense(struct zr_client *client, int rc);

/* Cuts an attempt to connect that is not answered in time; the next one comes at once. If there is
   time left, client->wait_us is not longer. */
void zr_client_look_for_silence(struct zr_handle *handle, int64_t now_us);

/* The library gives up because the server is silent: notes what is missing. False: nothing of a
   handshake is, or only the library knows which server it is. */
bool zr_client_note_silence(struct zr_handle *handle);

/* ---- TLS; without it, nothing of this does anything ----------------------------------------- */

/* True during the pause after a failure of TLS: the library must not connect yet. Sets wait_us. */
bool zr_client_rests(struct zr_handle *handle, int64_t now_us);

/* After zookeeper_interest: replaces the library's descriptor and events by ours. */
void zr_client_secure_prepare(struct zr_handle *handle);

/* Before zookeeper_process. False: the handshake is not over, so do not call it. */
bool zr_client_secure_process(struct zr_handle *handle, int *events);

/* The library has closed its descriptor, or will. Tells the log why, if TLS has failed. */
void zr_client_forget_socket(struct zr_handle *handle);

#endif
