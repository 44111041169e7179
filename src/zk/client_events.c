/*
 * What the client library calls, beside the completions of requests (completion.c): the watcher,
 * the log, and the answer to the request that proves a connection.
 */
#include <stdio.h>
#include <string.h>

#include "zk/client_parts.h"
#include "zk/completion.h"
#include "zk/connection.h"
#include "zk/decode.h"
#include "zk/library_log.h"
#include "zk/report.h"

#define SASL_REQUIRED (-124) /* as the protocol has it */

/* The server accepts no request of ours. */
static void is_refused(struct zr_handle *handle)
{
    char line[256];
    zr_connection_learn_peer(&handle->client);
    snprintf(line, sizeof line,
             "%s demands SASL, or another authentication (sessionRequireClientSASLAuth, "
             "enforce.auth.schemes): set the option 'sasl', or what it demands",
             handle->client.peer[0] != '\0' ? handle->client.peer : "the server");
    zr_report_note(handle, 'W', line);
    zr_connection_over(handle, ZR_MSG_AUTH_FAILED);
}

void zr_client_on_proof(int rc, const char *path, const void *with)
{
    (void)path;
    (void)with;
    struct zr_client *client = &zr_completion_handle->client;
    const clientid_t *id = zoo_client_id(client->zh);
    client->pending--;
    bool answered = rc == ZOK && zr_decode_result() == ZR_OK;
    if (answered) {
        memcpy(client->password, id->passwd, sizeof client->password);
        zr_handshake_answered(&client->handshake);
    }
    if (rc == SASL_REQUIRED)
        is_refused(zr_completion_handle);
    zr_connection_answer(zr_completion_handle, answered, id->client_id);
}

static void on_session(struct zr_handle *handle, int state)
{
    if (state == ZOO_CONNECTED_STATE || state == ZOO_READONLY_STATE)
        zr_connection_up(handle, state == ZOO_CONNECTED_STATE, zoo_recv_timeout(handle->client.zh));
    else if (state == ZOO_EXPIRED_SESSION_STATE)
        zr_connection_over(handle, ZR_MSG_EXPIRED);
    else if (state == ZOO_AUTH_FAILED_STATE)
        zr_connection_over(handle, ZR_MSG_AUTH_FAILED);
    else
        zr_connection_lost(handle);
}

void zr_client_on_event(zhandle_t *zh, int type, int state, const char *path, void *with)
{
    (void)zh;
    struct zr_handle *handle = with;
    if (type == ZOO_SESSION_EVENT)
        on_session(handle, state);
    else if (type == ZOO_CREATED_EVENT)
        zr_report_event(handle, ZR_CREATED, path);
    else if (type == ZOO_DELETED_EVENT)
        zr_report_event(handle, ZR_DELETED, path);
    else if (type == ZOO_CHANGED_EVENT)
        zr_report_event(handle, ZR_CHANGED, path);
    else if (type == ZOO_CHILD_EVENT)
        zr_report_event(handle, ZR_CHILDREN_CHANGED, path);
}

/* If we close the connection, the library says that the server did. The log has the reason already.
   If the library closes it because the server is silent, it does not know what is missing. */
void zr_client_on_log(const char *line)
{
    const struct zr_client *client = &zr_completion_handle->client;
    bool told = client->secure != NULL && zr_secure_failure(client->secure) != NULL;
    bool ours = client->cutting || client->unfit || told;
    if (ours && zr_library_log_is_end(line))
        return;
    if (!zr_library_log_is_late(line) || !zr_client_note_silence(zr_completion_handle))
        zr_report_log(zr_completion_handle, line);
}
