#include <string.h>

#include "lua/binding.h"

/*
 * The arguments that are lists of tables: ACLs, credentials, and the parts of a multi. Their
 * arrays are temporary memory (temporary); their strings are those of the user's tables.
 */

/* Zeroed memory that lives until the C function returns. */
static void *temporary(struct reader *reader, size_t count, size_t size)
{
    lua_State *L = reader->L;
    luaL_checkstack(L, 4, NULL);
    if (lua_isnil(L, reader->anchors)) {
        lua_newtable(L);
        lua_replace(L, reader->anchors);
    }
    size_t bytes = count > 0 ? count * size : 1;
    void *memory = compat_new_userdata(L, bytes);
    memset(memory, 0, bytes);
    lua_rawseti(L, reader->anchors, (int)lua_rawlen(L, reader->anchors) + 1);
    return memory;
}

static size_t list_length(struct reader *reader, int index, const char *expected)
{
    zr_lua_check_plain(reader, index, expected);
    size_t length = lua_rawlen(reader->L, index);
    if (length > 0)
        return length;
    lua_pushnil(reader->L);
    if (lua_next(reader->L, index) != 0)
        zr_lua_bad(reader, "%s expected, got a table that is no list", expected);
    return 0;
}

/* ---- ACLs ---------------------------------------------------------------------------------- */

#define ALL_PERMS (ZR_READ | ZR_WRITE | ZR_CREATE | ZR_DELETE | ZR_ADMIN)

static const struct {
    const char *word;
    struct zr_acl acl;
} acl_words[] = {
    {"open", {ALL_PERMS, "world", "anyone"}},
    {"creator", {ALL_PERMS, "auth", ""}},
    {"read", {ZR_READ, "world", "anyone"}},
};

static const struct {
    const char *word;
    enum zr_perm perm;
} perm_words[] = {{"read", ZR_READ},
                  {"write", ZR_WRITE},
                  {"create", ZR_CREATE},
                  {"delete", ZR_DELETE},
                  {"admin", ZR_ADMIN}};

static int32_t perms_of_letters(struct reader *reader, int index)
{
    static const char letters[] = "rwcda"; /* in the order of the bits */
    int32_t perms = 0;
    for (const char *at = lua_tostring(reader->L, index); *at != '\0'; at++) {
        const char *found = strchr(letters, *at);
        if (found == NULL)
            zr_lua_bad(reader, "permissions are letters of 'rwcda', got '%c'", *at);
        else
            perms |= 1 << (found - letters);
    }
    return perms;
}

static int32_t perm_of_word(struct reader *reader, int index)
{
    const char *word = lua_type(reader->L, index) == LUA_TSTRING ? lua_tostring(reader->L, index)
                                                                 : luaL_typename(reader->L, index);
    for (size_t i = 0; i < sizeof(perm_words) / sizeof(perm_words[0]); i++)
        if (strcmp(perm_words[i].word, word) == 0)
            return (int32_t)perm_words[i].perm;
    return zr_lua_bad(reader, "permissions are read, write, create, delete, admin, got '%.40s'",
                      word);
}

/* A string of letters or a list of words. */
int32_t zr_lua_read_perms(struct reader *reader, int index)
{
    int32_t perms = 0;
    if (lua_type(reader->L, index) == LUA_TSTRING) {
        perms = perms_of_letters(reader, index);
    } else {
        size_t count = list_length(reader, index, "letters of 'rwcda' or list of words");
        for (size_t i = 1; i <= count; i++) {
            lua_rawgeti(reader->L, index, (int)i);
            perms |= perm_of_word(reader, lua_gettop(reader->L));
            lua_pop(reader->L, 1);
        }
    }
    if (perms == 0)
        zr_lua_bad(reader, "at least one permission is needed");
    return perms;
}

struct acl_entry {
    int32_t perms;
    struct zr_bytes scheme, id;
};

static const struct zr_option acl_entry_options[] = {
    {"perms", 'r', offsetof(struct acl_entry, perms)},
    {"scheme", 's', offsetof(struct acl_entry, scheme)},
    {"id", 's', offsetof(struct acl_entry, id)},
    {NULL, 0, 0},
};

static struct zr_acl read_acl_entry(struct reader *reader, int index)
{
    struct acl_entry entry = {.perms = 0};
    zr_lua_read_options(reader, index, acl_entry_options, &entry);
    if (entry.perms == 0 || entry.scheme.at == NULL || entry.id.at == NULL)
        zr_lua_bad(reader, "perms, scheme and id are needed");
    return (struct zr_acl){entry.perms, entry.scheme.at, entry.id.at};
}

static struct zr_acls acl_of_word(struct reader *reader, int index)
{
    const char *word = lua_tostring(reader->L, index);
    for (size_t i = 0; i < sizeof(acl_words) / sizeof(acl_words[0]); i++)
        if (strcmp(acl_words[i].word, word) == 0)
            return (struct zr_acls){&acl_words[i].acl, 1};
    zr_lua_bad(reader, "an ACL is 'open', 'creator', 'read' or a list, got '%.40s'", word);
    return (struct zr_acls){NULL, 0};
}

struct zr_acls zr_lua_read_acl(struct reader *reader, int index)
{
    if (lua_type(reader->L, index) == LUA_TSTRING)
        return acl_of_word(reader, index);
    size_t count = list_length(reader, index, "'open', 'creator', 'read' or list");
    if (count == 0)
        zr_lua_bad(reader, "an ACL needs at least one entry");
    struct zr_acl *list = temporary(reader, count, sizeof(*list));
    for (size_t i = 0; i < count; i++) {
        size_t before = zr_lua_enter(reader, "entry %zu", i + 1);
        lua_rawgeti(reader->L, index, (int)i + 1);
        list[i] = read_acl_entry(reader, lua_gettop(reader->L));
        lua_pop(reader->L, 1);
        zr_lua_leave(reader, before);
    }
    return (struct zr_acls){list, count};
}

/* ---- Credentials --------------------------------------------------------------------------- */

struct auth_entry {
    struct zr_bytes scheme, credential;
};

static const struct zr_option auth_entry_options[] = {
    {"scheme", 's', offsetof(struct auth_entry, scheme)},
    {"credential", 's', offsetof(struct auth_entry, credential)},
    {NULL, 0, 0},
};

static struct zr_auth read_auth_entry(struct reader *reader, int index)
{
    struct auth_entry entry = {.scheme = {NULL, 0}};
    zr_lua_read_options(reader, index, auth_entry_options, &entry);
    if (entry.scheme.at == NULL || entry.credential.at == NULL)
        zr_lua_bad(reader, "scheme and credential are needed");
    return (struct zr_auth){entry.scheme.at, entry.credential};
}

struct zr_auths zr_lua_read_auths(struct reader *reader, int index)
{
    size_t count = list_length(reader, index, "list of { scheme =, credential = }");
    struct zr_auth *list = temporary(reader, count, sizeof(*list));
    for (size_t i = 0; i < count; i++) {
        size_t before = zr_lua_enter(reader, "entry %zu", i + 1);
        lua_rawgeti(reader->L, index, (int)i + 1);
        list[i] = read_auth_entry(reader, lua_gettop(reader->L));
        lua_pop(reader->L, 1);
        zr_lua_leave(reader, before);
    }
    return (struct zr_auths){list, count};
}

/* ---- Parts of a multi ---------------------------------------------------------------------- */

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
    int length; /* of the part at most */
} part_words[] = {{"create", ZR_OP_CREATE, 4},
                  {"set", ZR_OP_SET, 4},
                  {"delete", ZR_OP_DELETE, 3},
                  {"check", ZR_OP_CHECK, 3}};

/* Pushes item `i` of the table at `index`, and returns where it is. */
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

/* The word at the front of the part; its index in part_words. */
static size_t read_word(struct reader *reader, int item)
{
    const size_t count = sizeof(part_words) / sizeof(part_words[0]);
    const char *word = lua_type(reader->L, item) == LUA_TSTRING ? lua_tostring(reader->L, item)
                                                                : luaL_typename(reader->L, item);
    for (size_t i = 0; i < count; i++)
        if (strcmp(part_words[i].word, word) == 0)
            return i;
    zr_lua_bad(reader, "it begins with 'create', 'set', 'delete' or 'check', got '%.40s'", word);
    return count;
}

static void read_part(struct reader *reader, int index, struct zr_request *part)
{
    lua_State *L = reader->L;
    zr_lua_check_plain(reader, index, "table");
    size_t word = read_word(reader, push_item(reader, index, 1));
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
    if (lua_rawlen(L, index) > (size_t)part_words[word].length)
        zr_lua_bad(reader, "'%s' takes at most %d values", part_words[word].word,
                   part_words[word].length);
    lua_settop(L, index);
}

struct zr_request *zr_lua_read_parts(struct reader *reader, int index, size_t *count)
{
    *count = list_length(reader, index, "list of parts");
    struct zr_request *parts = temporary(reader, *count, sizeof(*parts));
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
