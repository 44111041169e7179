#include <string.h>

#include "core/alloc.h"
#include "core/call.h"
#include "core/ephemerals.h"
#include "core/names.h"
#include "core/sasl_options.h"
#include "core/session_above.h"
#include "core/session_parts.h"
#include "core/strangers.h"
#include "core/tls_options.h"
#include "core/watch.h"
#include "core/watch_absent.h"

/*
 * How a session begins and how its memory ends. It checks and copies the options, joins chroot and
 * namespace into one prefix, and opens the first handle. What happens in between: session.c.
 */

#define DEFAULT_TIMEOUT_US 10000000
#define TIMEOUT_MS_MIN 100      /* with less, a busy machine could not connect */
#define TIMEOUT_MS_MAX 86400000 /* a longer one is taken for an error, see zk/connection.c */
#define TLS_NAME_MAX 255
#define TICK_US_MIN 1000
#define TICK_US_MAX 60000000

#define OPTION(name, type, field)                                                                  \
    {                                                                                              \
        name, type, offsetof(struct zr_session_options, field)                                     \
    }

const struct zr_option zr_session_options[] = {
    OPTION("hosts", 's', hosts),
    OPTION("namespace", 'p', namespace),
    OPTION("timeout", 't', timeout_us),
    OPTION("request_timeout", 't', request_timeout_us),
    OPTION("tick", 't', tick_us),
    OPTION("auth", 'l', auth),
    OPTION("acl", 'a', acl),
    OPTION("tls", 'e', tls),
    OPTION("sasl", 'y', sasl),
    OPTION("strict", 'b', strict),
    OPTION("guardian", 'b', guardian),
    OPTION("log", 'b', logging),
    {NULL, 0, 0},
};

static const char *tls_misuse(const struct zr_session_options *options)
{
    const struct zr_tls_options *tls = &options->tls;
    if (tls->cert == NULL && (tls->key != NULL || tls->password != NULL))
        return "option 'tls': key and password need cert";
    if (tls->name != NULL && (tls->name[0] == '\0' || tls->name[0] == '.'))
        return "option 'tls': a name is not empty, and does not begin with a dot";
    if (tls->name != NULL && strlen(tls->name) > TLS_NAME_MAX)
        return "option 'tls': the name is longer than 255 bytes";
    if (tls->any_server && (tls->ca != NULL || tls->name != NULL))
        return "option 'tls': with verify = false, ca and name say nothing";
    if (tls->wanted && options->guardian)
        return "option 'guardian': the guardian speaks no TLS; see docs/tls.md";
    return NULL;
}

static const char *sasl_misuse(const struct zr_session_options *options)
{
    const char *problem = zr_sasl_options_misuse(&options->sasl);
    if (problem == NULL && options->sasl.wanted && options->guardian)
        problem = "option 'guardian': the guardian speaks no SASL; see docs/sasl.md";
    return problem;
}

const char *zr_session_misuse(const struct zr_session_options *options)
{
    const char *problem = zr_hosts_problem(options->hosts.at);
    if (problem == NULL && options->namespace.length > 0)
        problem = zr_path_problem(options->namespace.at, options->namespace.length);
    if (problem == NULL && options->timeout_us >= 0 &&
        (options->timeout_us / 1000 < TIMEOUT_MS_MIN ||
         options->timeout_us / 1000 > TIMEOUT_MS_MAX))
        problem = "a session timeout must be from 0.1 to 86400 seconds";
    if (problem == NULL && options->request_timeout_us == 0)
        problem = "a request_timeout must be more than 0 seconds; a single request may have "
                  "timeout = 0";
    if (problem == NULL && options->tick_us >= 0 &&
        (options->tick_us < TICK_US_MIN || options->tick_us > TICK_US_MAX))
        problem = "option 'tick' must be from 0.001 to 60 seconds: it is the servers' tickTime";
    if (problem == NULL)
        problem = tls_misuse(options);
    return problem != NULL ? problem : sasl_misuse(options);
}

/* Chroot and namespace become one prefix. */
static enum zr_status set_names(struct zr_session *session,
                                const struct zr_session_options *options)
{
    size_t length = zr_hosts_length(options->hosts.at);
    const char *chroot = options->hosts.at + length;
    const char *namespace = options->namespace.length > 0 ? options->namespace.at : "/";
    session->hosts = zr_copy(options->hosts.at, length);
    session->namespace = zr_path_join(strcmp(chroot, "/") == 0 ? "" : chroot, namespace);
    if (session->hosts == NULL || session->namespace == NULL)
        return ZR_NO_MEMORY;
    if (strcmp(session->namespace, "/") == 0)
        session->namespace[0] = '\0';
    return ZR_OK;
}

static enum zr_status set_auth(struct zr_session *session, const struct zr_auths *auths)
{
    enum zr_status status = ZR_OK;
    for (size_t i = 0; i < auths->count && status == ZR_OK; i++)
        status = zr_session_learn_auth(session, &auths->list[i]);
    return status;
}

static enum zr_status set_options(struct zr_session *session,
                                  const struct zr_session_options *options)
{
    int64_t timeout_us = options->timeout_us >= 0 ? options->timeout_us : DEFAULT_TIMEOUT_US;
    session->asked_timeout_ms = session->timeout_ms = (int32_t)(timeout_us / 1000);
    session->tick_us = options->tick_us >= 0 ? options->tick_us : 0;
    session->request_timeout_us = options->request_timeout_us;
    session->strict = options->strict;
    session->guardian = options->guardian;
    session->logging = options->logging;
    if (options->acl.count > 0) {
        session->acl = (struct zr_acls){zr_acls_copy(&options->acl), options->acl.count};
        if (session->acl.list == NULL)
            return ZR_NO_MEMORY;
    }
    if (!zr_tls_options_copy(&session->tls, &options->tls) ||
        !zr_sasl_options_copy(&session->sasl, &options->sasl))
        return ZR_NO_MEMORY;
    enum zr_status status = set_names(session, options);
    return status == ZR_OK ? set_auth(session, &options->auth) : status;
}

void zr_session_free(struct zr_object *object)
{
    struct zr_session *session = (struct zr_session *)object;
    struct zr_engine *engine = session->engine;
    zr_session_forget_secrets(session);
    zr_free((struct zr_acl *)session->acl.list);
    zr_free(session->hosts);
    zr_free(session->namespace);
    zr_free(session->trouble);
    zr_strangers_fini(session);
    zr_absent_fini(session);
    zr_table_fini(&session->watches);
    zr_table_fini(&session->listings);
    zr_table_fini(&session->seats);
    zr_table_fini(&session->queues);
    zr_table_fini(&session->ephemerals);
    zr_timer_stop(&engine->timers, &session->lease);
    zr_timer_stop(&engine->timers, &session->reopen);
    zr_timer_stop(&engine->timers, &session->sweep);
    zr_unlink(&session->in_engine);
    zr_free(session);
    zr_engine_unref(engine);
}

enum zr_status zr_session_open(struct zr_engine *engine, const struct zr_class *class,
                               const struct zr_session_options *options, struct zr_session **out)
{
    if (zr_engine_forked(engine))
        return ZR_FORKED;
    struct zr_session *session = zr_alloc(sizeof(*session));
    if (session == NULL)
        return ZR_NO_MEMORY;
    session->object = (struct zr_object){class, 1};
    session->engine = engine;
    session->above = &zr_session_above;
    session->users = 1;
    zr_engine_ref(engine);
    zr_signal_init(&session->changed);
    zr_list_init(&session->generations);
    zr_list_init(&session->tasks);
    zr_list_init(&session->ties);
    zr_list_init(&session->queue);
    zr_list_init(&session->idle_watches);
    zr_list_init(&session->absent_watches);
    zr_list_init(&session->strangers_met);
    zr_list_init(&session->to_audit);
    session->watched = (struct zr_budget){
        .limit = ZR_WATCHED_BYTES_COMMON,
        .what = "the paths that it watches; at the limit methods that watch fail with 'full'"};
    session->ephemeral = (struct zr_budget){
        .limit = ZR_EPHEMERAL_BYTES_MAX,
        .what = "the paths of its ephemeral znodes; at the limit creates of them fail with 'full'"};
    zr_list_append(&engine->sessions, &session->in_engine);
    if (set_options(session, options) != ZR_OK) {
        zr_session_free(&session->object);
        return ZR_NO_MEMORY;
    }
    session->states[session->state_count++] = ZR_CONNECTING;
    zr_session_open_handle(session);
    *out = session;
    return ZR_OK;
}
