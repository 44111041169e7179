#include <string.h>

#include "lua/binding.h"

/* Reads lists: the parts of a multi, which are lists again, { "create", path, data, options } and
   so on; strings; objects; and records. */

struct create_options {
    bool ephemeral, sequential;
    struct zr_acls acl;
};

static const struct zr_option create_options[] = {
    {"ephemeral", 'b', offsetof(struct create_options, ephemeral)},
    {"sequential", 'b', offsetof(struct create_options, sequential)},
    {"acl", 'a', offsetof(struct create_options, acl)},
    {NULL, 0, 0},
};

static const struct {
    const char *word;
    enum zr_op op;
    int length; /* at most, of the part */
    const char *form;
} part_words[] = {
    {"create", ZR_OP_CREATE, 4, "{ 'create', path, data, { ephemeral =, sequential =, acl = } }"},
    {"set", ZR_OP_SET, 4, "{ 'set', path, data, version }"},
    {"delete", ZR_OP_DELETE, 3, "{ 'delete', path, version }"},
    {"check", ZR_OP_CHECK, 3, "{ 'check', path, version }"}};

/* Pushes item `i` of the table at `index`, and returns its stack index. */
static int push_item(struct reader *reader, int index, int i)
{
    lua_rawgeti(reader->L, index, i);
    return lua_gettop(reader->L);
}

static void read_create(struct reader *reader, int item, struct zr_request *part)
{
    struct create_options options = {.ephemeral = false};
    if (!lua_isnil(reader->L, item))
        zr_lua_read_options(reader, item, create_options, &options);
    part->mode = (options.ephemeral ? ZR_EPHEMERAL : ZR_PERSISTENT) |
                 (options.sequential ? ZR_PERSISTENT_SEQUENTIAL : ZR_PERSISTENT);
    part->acl = options.acl;
}

static void read_version(struct reader *reader, int item, struct zr_request *part)
{
    part->version = ZR_ANY_VERSION;
    if (!lua_isnil(reader->L, item))
        part->version = zr_lua_read_version(reader, item);
}

/* Reads the first word of the part; returns its index in part_words. */
static size_t read_word(struct reader *reader, int item)
{
    const size_t count = sizeof(part_words) / sizeof(part_words[0]);
    const char *word = lua_type(reader->L, item) == LUA_TSTRING ? lua_tostring(reader->L, item)
                                                                : luaL_typename(reader->L, item);
    for (size_t i = 0; i < count; i++)
        if (strcmp(part_words[i].word, word) == 0)
            return i;
    zr_lua_bad(reader, "must begin with 'create', 'set', 'delete' or 'check', got '%.40s'", word);
    return count;
}

/* What is at no position would be left out in silence: a condition, or "ephemeral". */
static void check_positions(struct reader *reader, int index, size_t word)
{
    lua_State *L = reader->L;
    for (lua_pushnil(L); lua_next(L, index) != 0;) {
        lua_pop(L, 1);
        lua_Number key = lua_type(L, -1) == LUA_TNUMBER ? lua_tonumber(L, -1) : 0;
        if (key > part_words[word].length)
            zr_lua_bad(reader, "'%s' takes at most %d values; write %s", part_words[word].word,
                       part_words[word].length, part_words[word].form);
        if (key < 1 || key != floor(key))
            zr_lua_bad(reader, "'%s' has no field '%.100s'; write %s", part_words[word].word,
                       zr_lua_key(reader), part_words[word].form);
    }
}

static void read_part(struct reader *reader, int index, struct zr_request *part)
{
    lua_State *L = reader->L;
    zr_lua_check_plain(reader, index, "table");
    size_t word = read_word(reader, push_item(reader, index, 1));
    check_positions(reader, index, word);
    part->op = part_words[word].op;
    part->path = zr_lua_read_path(reader, push_item(reader, index, 2)).at;
    bool writes = part->op == ZR_OP_CREATE || part->op == ZR_OP_SET;
    if (writes)
        part->data = zr_lua_read_data(reader, push_item(reader, index, 3));
    int last = push_item(reader, index, writes ? 4 : 3);
    if (part->op == ZR_OP_CREATE)
        read_create(reader, last, part);
    else
        read_version(reader, last, part);
    lua_settop(L, index);
}

struct zr_request *zr_lua_read_parts(struct reader *reader, int index, size_t *count)
{
    *count = zr_lua_list_length(reader, index, "list of parts");
    struct zr_request *parts = zr_lua_temporary(reader, *count, sizeof(*parts));
    luaL_checkstack(reader->L, 16, NULL);
    for (size_t i = 0; i < *count; i++) {
        size_t before = zr_lua_enter(reader, "part %zu", i + 1);
        lua_rawgeti(reader->L, index, (int)i + 1);
        read_part(reader, lua_gettop(reader->L), &parts[i]);
        lua_pop(reader->L, 1);
        zr_lua_leave(reader, before);
    }
    return parts;
}

struct zr_bytes *zr_lua_read_strings(struct reader *reader, int index, size_t *count)
{
    *count = zr_lua_list_length(reader, index, "list of strings");
    struct zr_bytes *list = zr_lua_temporary(reader, *count, sizeof(*list));
    for (size_t i = 0; i < *count; i++) {
        lua_rawgeti(reader->L, index, (int)i + 1);
        if (lua_type(reader->L, -1) != LUA_TSTRING)
            zr_lua_bad_type(reader, -1, "list of strings");
        zr_lua_keep(reader, lua_gettop(reader->L));
        list[i].at = lua_tolstring(reader->L, -1, &list[i].length);
        lua_pop(reader->L, 1);
    }
    return list;
}

struct zr_object **zr_lua_read_objects(struct reader *reader, int index, size_t *count)
{
    *count = zr_lua_list_length(reader, index, "list of objects");
    struct zr_object **list = zr_lua_temporary(reader, *count, sizeof(list[0]));
    for (size_t i = 0; i < *count; i++) {
        lua_rawgeti(reader->L, index, (int)i + 1);
        list[i] = zr_lua_object_at(reader->L, lua_gettop(reader->L));
        if (list[i] == NULL)
            zr_lua_bad_type(reader, -1, "list of objects");
        zr_lua_keep(reader, lua_gettop(reader->L));
        lua_pop(reader->L, 1);
    }
    return list;
}

/* ---- Records ------------------------------------------------------------------------------- */

/* The option that must be there. */
static struct zr_bytes read_first(struct reader *reader, int index, const char *name)
{
    size_t before = zr_lua_enter(reader, "option '%s'", name);
    lua_pushstring(reader->L, name);
    lua_rawget(reader->L, index);
    if (lua_type(reader->L, -1) != LUA_TSTRING)
        zr_lua_bad_type(reader, -1, "string");
    struct zr_bytes data = zr_lua_read_data(reader, lua_gettop(reader->L));
    lua_pop(reader->L, 1);
    zr_lua_leave(reader, before);
    return data;
}

static void read_record(struct reader *reader, int index, const struct zr_option *options,
                        void *into)
{
    struct zr_bytes *data = (struct zr_bytes *)((char *)into + options->offset);
    zr_lua_default_options(options, into);
    if (lua_type(reader->L, index) == LUA_TSTRING) {
        *data = zr_lua_read_data(reader, index);
        return;
    }
    if (!lua_istable(reader->L, index))
        zr_lua_bad_type(reader, index, "string or table");
    zr_lua_check_plain(reader, index, "table of options");
    *data = read_first(reader, index, options->name);
    zr_lua_read_options(reader, index, options, into);
}

void *zr_lua_read_records(struct reader *reader, int index, const struct zr_option *options,
                          size_t options_size, size_t *count)
{
    *count = zr_lua_list_length(reader, index, "list");
    char *records = zr_lua_temporary(reader, *count, options_size);
    for (size_t i = 0; i < *count; i++) {
        size_t before = zr_lua_enter(reader, "entry %zu", i + 1);
        lua_rawgeti(reader->L, index, (int)i + 1);
        read_record(reader, lua_gettop(reader->L), options, records + i * options_size);
        lua_pop(reader->L, 1);
        zr_lua_leave(reader, before);
    }
    return records;
}
