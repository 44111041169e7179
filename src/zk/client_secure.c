/*
 * What the client does for TLS and SASL.
 *
 * 1. The library connects. Until the handshake of TLS is over the library is not called, except for
 *    zookeeper_interest, which limits the time.
 * 2. The handshake is over: the library is told that it is connected, and sends its own. If TLS has
 *    failed, that send fails, and the library takes the next server.
 * 3. With SASL: the library is not called until we are authenticated, or that has failed. Then it
 *    receives the answer to its handshake, or an error. If the server has refused the credentials,
 *    the handle is over.
 * 4. What the library sends is gathered, and leaves once per turn. If that fails, the library is
 *    called again at once, so that it learns it by a recv.
 *
 * After TLS or SASL has failed, or has led to no session, the next attempt waits, longer each time.
 * Otherwise a handshake that is refused would be repeated many times per second, and it costs a
 * server much. (With TLS 1.3 the server refuses our certificate after the handshake, and the reason
 * may be lost with the connection.)
 */
#include <poll.h>

#include "zk/client.h"
#include "zk/client_parts.h"
#include "zk/clock.h"
#include "zk/connection.h"
#include "zk/report.h"
#include "zk/secure.h"

#define FIRST_PAUSE_US 100000
#define LONGEST_PAUSE_US 5000000
#define SHARE 6 /* of the session's timeout, at most, so that our pauses do not end the session */

/* ---- Pauses -------------------------------------------------------------------------------- */

static void pause_longer(struct zr_handle *handle, int64_t now_us)
{
    struct zr_client *client = &handle->client;
    int64_t longest_us = (int64_t)handle->timeout_ms * 1000 / SHARE;
    if (longest_us > LONGEST_PAUSE_US)
        longest_us = LONGEST_PAUSE_US;
    client->pause_us = client->pause_us == 0 ? FIRST_PAUSE_US : 2 * client->pause_us;
    if (client->pause_us > longest_us)
        client->pause_us = longest_us;
    client->resume_us = now_us + client->pause_us;
}

bool zr_client_rests(struct zr_handle *handle, int64_t now_us)
{
    struct zr_client *client = &handle->client;
    if (client->proved) {
        client->worked = true;
        client->pause_us = 0;
    }
    if (client->fd >= 0 || client->purging || now_us >= client->resume_us)
        return false;
    client->events = 0;
    client->wait_us = client->resume_us - now_us;
    return true;
}

/* ---- The end of a connection --------------------------------------------------------------- */

static void tell(struct zr_handle *handle)
{
    struct zr_client *client = &handle->client;
    const char *line = zr_secure_failure(client->secure);
    if (line != NULL)
        zr_report_note(handle, 'W', line);
    if (zr_secure_tried(client->secure) && !client->worked)
        pause_longer(handle, zr_now_us());
    if (zr_secure_refused(client->secure))
        zr_connection_over(handle, ZR_MSG_AUTH_FAILED);
}

void zr_client_forget_socket(struct zr_handle *handle)
{
    struct zr_client *client = &handle->client;
    client->fd = -1;
    if (client->secure == NULL)
        return;
    tell(handle);
    zr_secure_drop(client->secure);
    client->again = false;
}

/* ---- A turn -------------------------------------------------------------------------------- */

void zr_client_flush(struct zr_handle *handle)
{
    struct zr_client *client = &handle->client;
    if (client->secure != NULL && !zr_secure_flush(client->secure))
        client->again = true;
}

void zr_client_secure_prepare(struct zr_handle *handle)
{
    struct zr_client *client = &handle->client;
    if (client->secure == NULL)
        return;
    if (client->fd < 0) {
        zr_client_forget_socket(handle);
        return;
    }
    zr_secure_flush(client->secure);
    bool shaking = zr_secure_shaking(client->secure);
    client->worked = client->worked && !shaking;
    client->fd = zr_secure_fd(client->secure);
    client->events = zr_secure_events(client->secure, client->events);
    client->sending |= zr_secure_unsent(client->secure);
    client->again = shaking ? zr_secure_due(client->secure)
                            : !zr_secure_up(client->secure) || zr_secure_holds(client->secure);
    if (client->again)
        client->wait_us = 0;
}

bool zr_client_secure_process(struct zr_handle *handle, int *events)
{
    struct zr_client *client = &handle->client;
    if (client->secure == NULL)
        return true;
    if (!zr_secure_shaking(client->secure)) {
        zr_secure_flush(client->secure);
        *events |= client->again ? ZOOKEEPER_READ : 0;
        return true;
    }
    bool over = zr_secure_shake(client->secure);
    if (zr_secure_heard(client->secure))
        zr_handshake_heard(&client->handshake, zr_now_us());
    *events = ZOOKEEPER_WRITE | ZOOKEEPER_READ;
    return over;
}
