/*
 * A handle allocates in advance everything that it needs to report its end: whatever fails later,
 * ENDED and the final state can be reported. Its configuration is copied, because open only borrows
 * it.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "zk/handle.h"

#include <string.h>

#include "core/alloc.h"
#include "zk/io.h"

struct zr_credential *zr_credential_new(const char *scheme, struct zr_bytes bytes)
{
    size_t scheme_room = strlen(scheme) + 1;
    struct zr_credential *credential =
        zr_secret_alloc(sizeof *credential + scheme_room + bytes.length);
    if (credential == NULL)
        return NULL;
    char *room = (char *)(credential + 1);
    credential->scheme = memcpy(room, scheme, scheme_room);
    if (bytes.length > 0)
        memcpy(room + scheme_room, bytes.at, bytes.length);
    credential->bytes = (struct zr_bytes){room + scheme_room, bytes.length};
    return credential;
}

void zr_credential_add(struct zr_handle *handle, struct zr_credential *credential)
{
    struct zr_credential **end = &handle->credentials;
    while (*end != NULL)
        end = &(*end)->next;
    *end = credential;
}

static bool copy_credentials(struct zr_handle *handle, const struct zr_zk_config *config)
{
    for (size_t i = 0; i < config->auth_count; i++) {
        const struct zr_auth *auth = &config->auth[i];
        struct zr_credential *credential = zr_credential_new(auth->scheme, auth->credential);
        if (credential == NULL)
            return false;
        zr_credential_add(handle, credential);
    }
    return true;
}

static void init(struct zr_handle *handle)
{
    zr_outlet_init(&handle->outlet);
    zr_list_init(&handle->todo);
    zr_list_init(&handle->out);
    zr_list_init(&handle->client.multis);
    handle->client.fd = handle->parting_fd = handle->poll_index = handle->warden.fd = -1;
    handle->close_by_us = INT64_MAX;
}

struct zr_handle *zr_handle_new(const struct zr_zk_config *config, void *owner, struct zr_io *io,
                                struct zr_mailbox *inbox)
{
    struct zr_handle *handle = zr_alloc(sizeof *handle);
    if (handle == NULL)
        return NULL;
    init(handle);
    handle->owner = owner;
    handle->io = io;
    handle->inbox = inbox;
    handle->timeout_ms = config->timeout_ms;
    handle->write_heartbeat = config->write_heartbeat;
    zr_lease_init(&handle->lease, config->tick_us);
    handle->warden.wanted = config->guardian;
    bool wanted = config->tls.wanted || config->sasl.wanted;
    if (wanted)
        handle->client.secure = zr_secure_new(&config->tls, &config->sasl, zr_io_outbox(io));
    bool secured = !wanted || handle->client.secure != NULL;
    if (secured && zr_report_init(handle) && copy_credentials(handle, config))
        return handle;
    zr_handle_free(handle);
    return NULL;
}

void zr_handle_free(struct zr_handle *handle)
{
    zr_resolution_free(handle->resolution);
    zr_secure_free(handle->client.secure);
    zr_report_fini(handle);
    zr_free(handle->addresses);
    while (handle->credentials != NULL) {
        struct zr_credential *next = handle->credentials->next;
        zr_secret_free(handle->credentials);
        handle->credentials = next;
    }
    explicit_bzero(handle->client.password, sizeof handle->client.password);
    zr_free(handle);
}

void zr_handle_refuse(struct zr_handle *handle, struct zr_request *request, enum zr_status status)
{
    request->status = status;
    request->sent = false;
    zr_list_append(&handle->out, &request->message.link);
}
