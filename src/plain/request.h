#ifndef ZR_PLAIN_REQUEST_H
#define ZR_PLAIN_REQUEST_H

/*
 * request.h: plain ZooKeeper requests as methods of the session. Thread: the host's.
 */

#include "core/object.h"

/* The options of `create`. */
struct zr_create_options {
    bool ephemeral, sequential, container, parents;
    int64_t ttl_us, timeout_us;
    struct zr_acls acl;
};
extern const struct zr_option zr_create_options[];

/* The options of `reconfig`. */
struct zr_reconfig_options {
    struct zr_bytes joining, leaving, members;
    int64_t timeout_us;
};
extern const struct zr_option zr_reconfig_options[];

/* The options of all others. */
struct zr_request_options {
    int64_t timeout_us; /* -1: the session's patience */
};
extern const struct zr_option zr_request_options[];

typedef enum zr_status zr_start(struct zr_object *self, struct zr_args *args,
                                struct zr_task **task);

zr_start zr_plain_create, zr_plain_get, zr_plain_set, zr_plain_exists, zr_plain_delete,
    zr_plain_children, zr_plain_get_acl, zr_plain_set_acl, zr_plain_sync, zr_plain_add_auth,
    zr_plain_reconfig, zr_plain_multi, zr_plain_multi_in, zr_plain_transact, zr_plain_delete_tree,
    zr_await_gone;

/* A method whose last argument is a struct zr_request_options. */
#define ZR_PLAIN_METHOD(word, letters, function)                                                   \
    {                                                                                              \
        .name = (word), .args = letters "o?", .options = zr_request_options,                       \
        .options_size = sizeof(struct zr_request_options), .start = (function)                     \
    }

#define ZR_PLAIN_METHODS                                                                           \
    {.name = "create",                                                                             \
     .args = "pd?o?",                                                                              \
     .options = zr_create_options,                                                                 \
     .options_size = sizeof(struct zr_create_options),                                             \
     .start = zr_plain_create},                                                                    \
        {.name = "reconfig",                                                                       \
         .args = "o",                                                                              \
         .options = zr_reconfig_options,                                                           \
         .options_size = sizeof(struct zr_reconfig_options),                                       \
         .start = zr_plain_reconfig},                                                              \
        ZR_PLAIN_METHOD("get", "p", zr_plain_get), ZR_PLAIN_METHOD("set", "pd?v?", zr_plain_set),  \
        ZR_PLAIN_METHOD("exists", "p", zr_plain_exists),                                           \
        ZR_PLAIN_METHOD("delete", "pv?", zr_plain_delete),                                         \
        ZR_PLAIN_METHOD("delete_tree", "p", zr_plain_delete_tree),                                 \
        ZR_PLAIN_METHOD("children", "p", zr_plain_children),                                       \
        ZR_PLAIN_METHOD("get_acl", "p", zr_plain_get_acl),                                         \
        ZR_PLAIN_METHOD("set_acl", "pav?", zr_plain_set_acl),                                      \
        ZR_PLAIN_METHOD("sync", "p", zr_plain_sync),                                               \
        ZR_PLAIN_METHOD("add_auth", "sd", zr_plain_add_auth),                                      \
        ZR_PLAIN_METHOD("multi", "m", zr_plain_multi),                                             \
        {.name = "multi_in",                                                                       \
         .args = "mso?",                                                                           \
         .options = zr_request_options,                                                            \
         .options_size = sizeof(struct zr_request_options),                                        \
         .start = zr_plain_multi_in,                                                               \
         .inner = true},                                                                           \
    {                                                                                              \
        .name = "transact", .args = "mo?", .options = zr_request_options,                          \
        .options_size = sizeof(struct zr_request_options), .start = zr_plain_transact,             \
        .inner = true                                                                              \
    }

#endif
