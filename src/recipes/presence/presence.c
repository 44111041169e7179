#include "recipes/presence/presence.h"

#include <string.h>

#include "core/alloc.h"

/*
 * session:presence(path, data): an ephemeral znode that exists until the program leaves. Each new
 * session creates it again. keep.c has the steps; this file has the object.
 *
 * ZooKeeper's page calls it group membership; Curator's class is PersistentNode.
 */

static struct zr_presence *of(struct zr_object *self)
{
    return (struct zr_presence *)self;
}

static bool is_forked(const struct zr_presence *presence)
{
    return zr_engine_forked(presence->znode.session->engine);
}

/* ---- Its data ------------------------------------------------------------------------------- */

/* Whether a request with these data can be sent. */
static enum zr_status fits(const struct zr_presence *presence, struct zr_bytes data)
{
    struct zr_call *call;
    enum zr_status status =
        zr_call_new_full(presence->znode.session, ZR_OP_CREATE, presence->znode.full, data, &call);
    if (status == ZR_OK)
        zr_call_free(call);
    return status;
}

static enum zr_status copy(struct zr_bytes data, char **block)
{
    *block = data.at != NULL ? zr_alloc(data.length + 1) : NULL;
    if (data.at == NULL)
        return ZR_OK;
    if (*block == NULL)
        return ZR_NO_MEMORY;
    memcpy(*block, data.at, data.length);
    return ZR_OK;
}

enum zr_status zr_presence_give(struct zr_presence *presence, struct zr_bytes data)
{
    char *block;
    enum zr_status status = fits(presence, data);
    if (status == ZR_OK)
        status = copy(data, &block);
    if (status != ZR_OK)
        return status;
    zr_free((char *)presence->data.at);
    presence->data = (struct zr_bytes){block, data.length};
    presence->seat.data = presence->data;
    presence->wanted++;
    zr_signal_fire(&presence->work, ZR_OK);
    return ZR_OK;
}

/* ---- What can be asked ---------------------------------------------------------------------- */

static enum zr_status call_state(struct zr_object *self, struct zr_args *args, struct zr_sink *sink)
{
    static const char *const words[] = {"joining", "present", "blocked", "left"};
    const struct zr_presence *presence = of(self);
    (void)args;
    if (is_forked(presence))
        return ZR_FORKED;
    zr_emit_string(sink, NULL, words[presence->left ? ZR_PRESENCE_LEFT : presence->state]);
    return ZR_OK;
}

static void get_problem(struct zr_object *self, struct zr_sink *sink)
{
    enum zr_status problem = of(self)->problem;
    if (problem == ZR_OK)
        sink->nothing(sink, NULL);
    else
        zr_emit_string(sink, NULL, zr_status_word(problem));
}

/* ---- The class ------------------------------------------------------------------------------ */

static void forget(struct zr_object *self)
{
    if (!is_forked(of(self)))
        zr_presence_leave(of(self));
}

static void free_presence(struct zr_object *self)
{
    struct zr_presence *presence = of(self);
    zr_seat_fini(&presence->seat);
    zr_free((char *)presence->data.at);
    zr_znode_free(self);
}

static const struct zr_method methods[] = {
    {.name = "ready", .args = "t?", .start = zr_presence_ready},
    {.name = "update", .args = "d?t?", .start = zr_presence_update},
    {.name = "leave", .args = "t?", .start = zr_presence_start_leave},
    {.name = "state", .args = "", .call = call_state},
    {.name = NULL},
};

static const struct zr_property properties[] = {{"path", zr_znode_get_path},
                                                {"session", zr_znode_get_session},
                                                {"problem", get_problem},
                                                {NULL, NULL}};

const struct zr_class zr_presence_class = {"presence", methods, properties, forget, free_presence};

static enum zr_status make(struct zr_session *session, struct zr_args *args,
                           struct zr_object **object)
{
    enum zr_status status = zr_session_usable(session);
    if (status == ZR_OK)
        status =
            zr_znode_new(sizeof(struct zr_presence), &zr_presence_class, session, args, object);
    if (status != ZR_OK)
        return status;
    struct zr_presence *presence = of(*object);
    zr_signal_init(&presence->work);
    zr_signal_init(&presence->news);
    zr_seat_init(&presence->seat, session, presence->znode.full, NULL, ZR_NO_DATA);
    status = zr_presence_give(presence, args->at[1].bytes);
    if (status == ZR_OK)
        zr_presence_keep(presence);
    else
        zr_object_unref(*object);
    return status;
}

const struct zr_recipe zr_presence_recipe = {.name = "presence", .args = "pd?", .make = make};
