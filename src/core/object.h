#ifndef ZR_OBJECT_H
#define ZR_OBJECT_H

/*
 * object.h: how the engine and the recipes show themselves to a language. A recipe describes its
 * classes, methods, options and results here, once; a binding turns any such description into
 * classes of its language, so that a new recipe needs no code in the binding.
 *
 * Thread: the host's.
 */

#include "core/zk.h"

struct zr_session;
struct zr_stem;
struct zr_task;
struct zr_sink;
struct zr_args;

/* Something a user can hold: a session, a lock, a hold. First member of its struct. */
struct zr_object {
    const struct zr_class *class;
    int refs;
};

/*
 * A method either starts a task that the caller waits for (`start`), or answers at once (`call`),
 * or makes an object (`make`); the other ones are null.
 *
 * `args` says what it takes, one letter each, a '?' behind those that may be left out or nil:
 *   p  path (checked)             args->at[i].bytes
 *   s  string, not null           args->at[i].bytes
 *   d  data: string or nil        args->at[i].bytes, null for nil
 *   i  integer of 32 bits         args->at[i].integer
 *   w  integer up to +-2^53       args->at[i].integer; each Lua has those exactly
 *   v  version, not ZR_ANY_VERSION: left out is "any"    args->at[i].integer
 *   t  seconds, not negative      args->at[i].integer, in microseconds
 *   a  ACL                        args->at[i].acl
 *   m  list of a multi's parts    args->at[i].parts, count
 *   l  list of strings            args->at[i].list, count
 *   h  list of objects            args->at[i].objects, count; their classes are not checked
 *   o  table of options           args->options, a struct laid out as `options` says
 *   r  list of such tables        args->at[i].records, count: structs laid out as `options` says.
 *                                 The first option is data, and must be there; a string in place
 *                                 of a table is this option alone
 * What is left out has given = false (and, for options, the struct zeroed).
 */
struct zr_method {
    const char *name;
    const char *args;
    const struct zr_option *options; /* ends with a null name; null: none */
    size_t options_size;             /* of the struct they are stored in */
    /*
     * borrows: args. gives: task, already running; it reports later, never inside this call.
     * Misuse: sets args->misuse and returns anything; the binding raises it at the caller's line.
     * Any other failure: a status, and no task.
     */
    enum zr_status (*start)(struct zr_object *self, struct zr_args *args, struct zr_task **task);
    /* borrows: args. Puts its results into the sink, or returns a failure, or misuse as above. */
    enum zr_status (*call)(struct zr_object *self, struct zr_args *args, struct zr_sink *sink);
    /* For a method that makes an object; `start` and `call` are null. borrows: args. gives: object,
       with one reference. The binding has made room for it before, so nothing of the language runs
       between this call and the object's first use. */
    enum zr_status (*make)(struct zr_object *self, struct zr_args *args, struct zr_object **object);
    bool inner; /* for the binding alone: users do not get it */
};

/*
 * One option. Types, and what is stored at `offset`:
 *   b  boolean: bool              i  integer: int64_t        t  seconds: int64_t microseconds
 *   n  boolean, true when left out: bool, the negation
 *   s  string: struct zr_bytes    d  data: struct zr_bytes   a  ACL: struct zr_acls
 *   l  list of auth: struct zr_auths                         e  TLS: struct zr_tls_options
 *   c  count: int64_t, 1 or more
 *   y  SASL: struct zr_sasl_options
 * An option that is left out leaves zeroes, except that `t` leaves -1 (no limit).
 */
struct zr_option {
    const char *name;
    char type;
    size_t offset;
};

struct zr_auths {
    const struct zr_auth *list;
    size_t count;
};

struct zr_property {
    const char *name;
    void (*get)(struct zr_object *self, struct zr_sink *sink); /* emits exactly one value */
};

struct zr_class {
    const char *name;                     /* "lock" */
    const struct zr_method *methods;      /* ends with a null name */
    const struct zr_property *properties; /* ends with a null name; may be null */
    /* The user has closed it, dropped it, or lost the last handle to it: let go of what it holds.
       Null: none. Idempotent; the object lives on until its last reference is gone. */
    void (*forget)(struct zr_object *self);
    void (*free)(struct zr_object *self); /* the last reference is gone */
};

/*
 * A recipe is a method of the session that makes an object: `session:lock(path, options)`.
 * It asks no server; misuse as above. gives: object, with one reference.
 */
struct zr_recipe {
    const char *name; /* of the method, and of the class */
    const char *args; /* the first is p, the recipe's path */
    bool inner;       /* as above */
    const struct zr_option *options;
    size_t options_size;
    enum zr_status (*make)(struct zr_session *session, struct zr_args *args,
                           struct zr_object **object);
    const struct zr_stem *const *stems; /* of its nodes' names; ends with null; null: none */
};

#define ZR_ARGS_MAX 6
#define ZR_MISUSE_TEXT 128

struct zr_arg {
    bool given;
    int64_t integer;
    struct zr_bytes bytes;
    struct zr_acls acl;
    union {
        const struct zr_request *parts; /* op, path, data, version, mode, acl of each */
        const struct zr_bytes *list;
        struct zr_object *const *objects;
        const void *records;
    };
    size_t count; /* of what is in the list */
};

struct zr_args {
    struct zr_arg at[ZR_ARGS_MAX];
    const void *options; /* never null for a method with options */
    const char *misuse;  /* out: what is wrong with them; static text, or in `text` */
    int misused;         /* ... with which of them, from 1 on; 0: with the call */
    char text[ZR_MISUSE_TEXT];
};

/*
 * Where results go. With a null key a value is the next result, or, between begin and end, the next
 * item of the list; with a key it is that field of the table.
 *
 * A function of a sink may not return (the language's own memory may be exhausted), so the code
 * that emits must own nothing at that time.
 */
struct zr_sink {
    void (*nothing)(struct zr_sink *sink, const char *key);
    void (*boolean)(struct zr_sink *sink, const char *key, bool value);
    void (*integer)(struct zr_sink *sink, const char *key, int64_t value);
    void (*number)(struct zr_sink *sink, const char *key, double value);
    void (*bytes)(struct zr_sink *sink, const char *key, struct zr_bytes value); /* null: nil */
    void (*id)(struct zr_sink *sink, const char *key, int64_t value); /* 16 hexadecimal digits */
    /* Adds a reference of its own. */
    void (*object)(struct zr_sink *sink, const char *key, struct zr_object *value);
    void (*begin)(struct zr_sink *sink, const char *key);
    void (*end)(struct zr_sink *sink);
};

/* Emits a C string. */
void zr_emit_string(struct zr_sink *sink, const char *key, const char *value);

/* The results of a task that has nothing to report but success: true. */
void zr_emit_true(struct zr_task *task, struct zr_sink *sink);

/* Emits a table with all fields of a Stat, named as ZooKeeper names them in snake case. */
void zr_emit_stat(struct zr_sink *sink, const char *key, const struct zr_stat *stat);

static inline struct zr_object *zr_object_ref(struct zr_object *object)
{
    object->refs++;
    return object;
}

static inline void zr_object_unref(struct zr_object *object)
{
    if (--object->refs == 0)
        object->class->free(object);
}

#endif
