#ifndef ZR_LUA_BINDING_H
#define ZR_LUA_BINDING_H

/*
 * binding.h: what the files of the binding share. The binding knows no recipe and no ZooKeeper: it
 * makes classes from their descriptions (core/object.h).
 *
 * Every userdata made here has an associated table { host, engine }: what the Lua layer gave for
 * its own use, and the userdata of the engine. So the engine lives as long as any of its objects.
 * In all functions below, `owner` is the stack index of such a userdata.
 *
 * Lua's errors jump out of C. So C must own nothing while it calls a function of the Lua API that
 * can fail: put what must be freed into a userdata first.
 */

#include <stddef.h>
#include <sys/types.h>

#include "core/dispatch.h"
#include "core/object.h"
#include "core/task.h"
#include "lua/compat.h"

/* ---- The engine (engine.c, host.c) and its tasks (task.c, slots.c) --------------------------- */

struct slot {
    struct zr_task *task; /* null: free */
    int next_free;        /* 0: the last one */
};

struct lua_engine {
    struct zr_engine *core; /* null: closed */
    struct slot *slots;     /* [1] to [size - 1] */
    int size, first_free;
    int in_use;         /* slots */
    bool rung;          /* the Lua layer has work for its next dispatch */
    int listener, name; /* until the host connects to the bell (bell.c); -1: none */
};

/* Pushes an engine for what `make(with)` makes. `host`: the stack index of a value for the Lua
   layer's own use. Raises an error if memory is exhausted. */
void zr_lua_engine_new(lua_State *L, enum zr_status (*make)(void *with, struct zr_zk **zk),
                       void *with, int host);

/* The engine of the userdata at `owner`; null if it is closed. */
struct lua_engine *zr_lua_engine_of(lua_State *L, int owner);

/* The registry's key of the metatable, and what makes it (host.c). */
extern const char zr_lua_engine_meta;
void zr_lua_engine_open(lua_State *L);

/* check_session(options): raises what the engine's session(options) would raise. */
int zr_lua_check_session(lua_State *L);

/* The engine at stack index 1. Raises misuse if it is none, or closed. */
struct lua_engine *zr_lua_engine_check(lua_State *L);

/* Adds the methods for tasks to the table on top of the stack. */
void zr_lua_add_task_methods(lua_State *L);

/* Adds these functions to the table on top of the stack. */
void zr_lua_add_functions(lua_State *L, const luaL_Reg *functions);

/* Adds the methods for the bell (bell.c) to the table on top of the stack. */
void zr_lua_add_bell_methods(lua_State *L);

/* Stops listening: no process can connect any more. */
void zr_bell_fini(struct lua_engine *engine);

/* True if a slot is free. Makes one if necessary. */
bool zr_slots_reserve(struct lua_engine *engine);

/* keeps: task, until the slot is cleared. Call zr_slots_reserve before. */
int zr_slots_put(struct lua_engine *engine, struct zr_task *task);

/* The task in the slot, or null. */
struct zr_task *zr_slots_get(const struct lua_engine *engine, int64_t slot);
void zr_slots_clear(struct lua_engine *engine, int slot);

/* Drops every task and frees the array. */
void zr_slots_fini(struct lua_engine *engine);

/* Pushes { catch =, came =, forget =, die = }; see sigterm.c. */
void zr_lua_sigterm_open(lua_State *L);

/* ---- The simulated ZooKeeper (sim.c, sim_faults.c, sim_inspect.c) --------------------------- */

/* Pushes { world = function, kinds = { create = 0, ... }, faults = { cut = 0, ... } }. */
void zr_lua_sim_open(lua_State *L);

/* ---- Objects (object.c), their properties and methods (method.c), classes (classes.c) -------- */

struct lua_object {
    struct zr_object *object; /* counted; null: collected */
    pid_t pid;                /* of the process that may release it */
};

/* Makes all classes and pushes { lock = { meta =, methods =, start = }, ... }. */
void zr_lua_classes_open(lua_State *L);

/* Pushes { "lock-", ... }: the stems of all recipes. */
void zr_lua_stems_open(lua_State *L);

/* Pushes a userdata that can adopt an object. */
struct lua_object *zr_lua_object_new(lua_State *L, int owner);

/* keep(object, name, value), kept(object, name): values that the Lua layer stores with an
   object, as long as Lua keeps the object. The object is one of ours. */
int zr_lua_object_keep(lua_State *L);
int zr_lua_object_kept(lua_State *L);

/* Makes the userdata on top of the stack a handle of this object. takes: object. */
void zr_lua_object_adopt(lua_State *L, struct lua_object *handle, struct zr_object *object);

/* Pushes the one userdata of this object. borrows: object. */
void zr_lua_object_push(lua_State *L, int owner, struct zr_object *object);

/* Pushes the userdata of this object if there is one, otherwise nil. Uses only the address. */
void zr_lua_object_find(lua_State *L, const void *object);

/* The object at stack index 1, whose metatable is the upvalue `meta`. Raises misuse if it is
   none. */
struct zr_object *zr_lua_object_self(lua_State *L, const char *method, int meta);

/* The object whose handle is at this stack index; null: the value is no handle, or is collected. */
struct zr_object *zr_lua_object_at(lua_State *L, int index);

/* Makes the table of handles. */
void zr_lua_objects_open(lua_State *L);

/* Metamethods: __gc and __close. */
int zr_lua_object_collect(lua_State *L);
int zr_lua_object_close(lua_State *L);

/* check_self(object, meta, method): raises unless the object has this metatable and its finalizer
   has not run. The object is one of ours, or of a class in Lua. */
int zr_lua_object_check(lua_State *L);

/* Pushes a property of the object at stack index 1, or nil if its class has no such property. */
void zr_lua_push_property(lua_State *L, struct zr_object *object, const char *name);

/* Pushes the object's path, or nil if its class has none. */
void zr_lua_object_path(lua_State *L, struct zr_object *object);

/* Pushes a table: how many objects of each class have a handle. */
int zr_lua_objects_live(lua_State *L);

/* Adds the functions of a class to three tables: inner ones to `inner`, others that start a task
   to `start`, all others to `methods`. `meta`: the class's metatable. All four are stack indexes.
   */
void zr_lua_methods(lua_State *L, const struct zr_class *class, int meta, int methods, int start,
                    int inner);

/* ---- Files (files.c) ------------------------------------------------------------------------ */

/* For module.c: core.read_file(path), core.replace_file(path, text), core.hash(text). */
int zr_lua_read_file(lua_State *L);
int zr_lua_replace_file(lua_State *L);
int zr_lua_hash(lua_State *L);

/* ---- Values to arguments (reader.c, options.c, acl.c, parts.c, args.c) ----------------------- */

#define ZR_LUA_OPTIONS_MAX 512

struct lua_args {
    struct zr_args args;
    union {
        max_align_t align;
        char bytes[ZR_LUA_OPTIONS_MAX];
    } options;
};

/* Where a value is, for messages about it. */
struct reader {
    lua_State *L;
    const char *method;
    int argument;   /* as the user counts: without the object */
    int anchors;    /* stack index, above the arguments, of the table that keeps what is read, or of
                       nil */
    size_t length;  /* of `where` */
    char where[96]; /* "option 'acl', entry 2" */
};

/* Reads what `letters` describes from stack index 2 on; raises misuse. The pointers in `into`
   are valid until the C function returns. */
void zr_lua_args_read(lua_State *L, struct lua_args *into, const char *method, const char *letters,
                      const struct zr_option *options, size_t options_size);

/* Raises misuse: "bad argument #1 to 'create' (option 'ttl': ...)". */
int zr_lua_bad(struct reader *reader, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
int zr_lua_bad_type(struct reader *reader, int index, const char *expected);

/* Append to `where`, and remove it again. */
size_t zr_lua_enter(struct reader *reader, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void zr_lua_leave(struct reader *reader, size_t length);

/* Readers of the value at a stack index. */
struct zr_bytes zr_lua_read_path(struct reader *reader, int index);
struct zr_bytes zr_lua_read_string(struct reader *reader, int index);
struct zr_bytes zr_lua_read_data(struct reader *reader, int index);
int64_t zr_lua_read_integer(struct reader *reader, int index, int64_t least, int64_t most);
int32_t zr_lua_read_version(struct reader *reader, int index);
int64_t zr_lua_read_seconds(struct reader *reader, int index);
/* Keeps the value at this stack index until the C function returns. index: positive. */
void zr_lua_keep(struct reader *reader, int index);
/* Zeroed memory that lives until the C function returns. */
void *zr_lua_temporary(struct reader *reader, size_t count, size_t size);
/* The text of the key on top of the stack, for a message. May change the key. */
const char *zr_lua_key(struct reader *reader);
/* The length of the list at this stack index; raises misuse if it is not a list, has a hole, or has
   anything beside it. */
size_t zr_lua_list_length(struct reader *reader, int index, const char *expected);
/* Raises misuse unless the value is a table to which no metatable adds anything. */
void zr_lua_check_plain(struct reader *reader, int index, const char *expected);
void zr_lua_read_options(struct reader *reader, int index, const struct zr_option *options,
                         void *into);
void zr_lua_default_options(const struct zr_option *options, void *into); /* if none are given */
/* What arguments and options have in common: reads a value of this letter (core/object.h) into the
   int64_t, struct zr_bytes or struct zr_acls that the letter stands for. */
void zr_lua_read_letter(struct reader *reader, int index, char letter, void *into);

struct zr_acls zr_lua_read_acl(struct reader *reader, int index);
int32_t zr_lua_read_perms(struct reader *reader, int index);
const struct zr_acl *zr_lua_read_acl_word(struct reader *reader, int index);
/* Raises misuse if the scheme is one of ZooKeeper's, and this is no id of it. */
void zr_lua_check_acl_id(struct reader *reader, const char *scheme, const char *id);
/* For module.c: core.digest(user, password) is the id of an ACL's entry. */
int zr_lua_digest(lua_State *L);
struct zr_auths zr_lua_read_auths(struct reader *reader, int index);
struct zr_request *zr_lua_read_parts(struct reader *reader, int index, size_t *count);
struct zr_bytes *zr_lua_read_strings(struct reader *reader, int index, size_t *count);
struct zr_object **zr_lua_read_objects(struct reader *reader, int index, size_t *count);
void *zr_lua_read_records(struct reader *reader, int index, const struct zr_option *options,
                          size_t options_size, size_t *count);

/* ---- Misuse (misuse.c) ----------------------------------------------------------------------- */

/* Raises an error at the line of the user's code that called this library. */
int zr_lua_misuse(lua_State *L, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* For Lua: own(chunk name) marks a source as part of this library; misuse(message) raises. */
int zr_lua_own(lua_State *L);
int zr_lua_raise(lua_State *L);

/* finalizes(): true if a finalizer runs. Always false on Lua 5.1 and LuaJIT, which do not tell. */
int zr_lua_finalizes(lua_State *L);

/* ---- Orphans (orphans.c) --------------------------------------------------------------------- */

/* adopt_orphans(): processes that this one has started, and whose parents die, become its children.
   True, or nil and why not. */
int zr_lua_adopt_orphans(lua_State *L);

/* kill_orphans(spared): kills the children of this thread once, except those with spared[pid], and
   reaps those that have ended. Returns how many it met, how many of them it has reaped, and the
   number of one that belongs to another user (0: none). When it has met none, none is left. */
int zr_lua_kill_orphans(lua_State *L);

/* ---- Results to values (sink.c) -------------------------------------------------------------- */

#define ZR_LUA_DEPTH_MAX 8

struct lua_sink {
    struct zr_sink sink; /* first */
    lua_State *L;
    int owner;
    int results; /* pushed so far */
    int depth;
    lua_Integer count[ZR_LUA_DEPTH_MAX]; /* items so far, for the list at each depth */
    const char *key[ZR_LUA_DEPTH_MAX];   /* the key of the table at each depth */
};

void zr_lua_sink_init(struct lua_sink *sink, lua_State *L, int owner);

#endif
