#ifndef ZR_RAW_H
#define ZR_RAW_H

/*
 * raw.h: plain ZooKeeper requests as methods: those of the session, and the writes of a hold, which
 * include a check of the hold's own node. Thread: the host's.
 */

#include "core/object.h"

/* The options of `create`. */
struct zr_create_options {
    bool ephemeral, sequential, container, parents;
    int64_t ttl_us, timeout_us;
    struct zr_acls acl;
};
extern const struct zr_option zr_create_options[];
extern const struct zr_option zr_guarded_create_options[];

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

zr_start zr_raw_create, zr_raw_get, zr_raw_set, zr_raw_exists, zr_raw_delete, zr_raw_children,
    zr_raw_get_acl, zr_raw_set_acl, zr_raw_sync, zr_raw_add_auth, zr_raw_reconfig, zr_raw_multi,
    zr_await_gone;

/* A method whose last argument is a struct zr_request_options. */
#define ZR_RAW_METHOD(word, letters, function)                                                     \
    {                                                                                              \
        .name = (word), .args = letters "o?", .options = zr_request_options,                       \
        .options_size = sizeof(struct zr_request_options), .start = (function)                     \
    }

#define ZR_RAW_METHODS                                                                             \
    {.name = "create",                                                                             \
     .args = "pd?o?",                                                                              \
     .options = zr_create_options,                                                                 \
     .options_size = sizeof(struct zr_create_options),                                             \
     .start = zr_raw_create},                                                                      \
        {.name = "reconfig",                                                                       \
         .args = "o",                                                                              \
         .options = zr_reconfig_options,                                                           \
         .options_size = sizeof(struct zr_reconfig_options),                                       \
         .start = zr_raw_reconfig},                                                                \
        ZR_RAW_METHOD("get", "p", zr_raw_get), ZR_RAW_METHOD("set", "pd?v?", zr_raw_set),          \
        ZR_RAW_METHOD("exists", "p", zr_raw_exists),                                               \
        ZR_RAW_METHOD("delete", "pv?", zr_raw_delete),                                             \
        ZR_RAW_METHOD("children", "p", zr_raw_children),                                           \
        ZR_RAW_METHOD("get_acl", "p", zr_raw_get_acl),                                             \
        ZR_RAW_METHOD("set_acl", "pav?", zr_raw_set_acl), ZR_RAW_METHOD("sync", "p", zr_raw_sync), \
        ZR_RAW_METHOD("add_auth", "sd", zr_raw_add_auth),                                          \
        ZR_RAW_METHOD("multi", "m", zr_raw_multi)

/* Of a hold: self is a struct zr_hold. */
zr_start zr_guarded_create, zr_guarded_set, zr_guarded_delete, zr_guarded_multi;

#define ZR_GUARDED_METHODS                                                                         \
    {.name = "create",                                                                             \
     .args = "pd?o?",                                                                              \
     .options = zr_guarded_create_options,                                                         \
     .options_size = sizeof(struct zr_create_options),                                             \
     .start = zr_guarded_create},                                                                  \
        ZR_RAW_METHOD("set", "pd?v?", zr_guarded_set),                                             \
        ZR_RAW_METHOD("delete", "pv?", zr_guarded_delete),                                         \
        ZR_RAW_METHOD("multi", "m", zr_guarded_multi)

#endif
