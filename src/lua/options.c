#include <stdio.h>
#include <string.h>

#include "lua/binding.h"

/*
 * Reads tables of options, and the lists of tables in them: ACLs and credentials, whose entries are
 * tables of options too. The arrays are temporary memory; the strings are kept (zr_lua_keep).
 */

/* ---- ACLs ---------------------------------------------------------------------------------- */

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
    if (lua_type(reader->L, index) == LUA_TSTRING)
        return *zr_lua_read_acl_word(reader, index);
    zr_lua_read_options(reader, index, acl_entry_options, &entry);
    if (entry.perms == 0 || entry.scheme.at == NULL || entry.id.at == NULL)
        zr_lua_bad(reader, "perms, scheme and id are needed");
    zr_lua_check_acl_id(reader, entry.scheme.at, entry.id.at);
    return (struct zr_acl){entry.perms, entry.scheme.at, entry.id.at};
}

struct zr_acls zr_lua_read_acl(struct reader *reader, int index)
{
    if (lua_type(reader->L, index) == LUA_TSTRING)
        return (struct zr_acls){zr_lua_read_acl_word(reader, index), 1};
    size_t count = zr_lua_list_length(reader, index, "'open', 'creator', 'read' or list");
    if (count == 0)
        zr_lua_bad(reader, "an ACL needs at least one entry");
    struct zr_acl *list = zr_lua_temporary(reader, count, sizeof(*list));
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
    size_t count = zr_lua_list_length(reader, index, "list of { scheme =, credential = }");
    struct zr_auth *list = zr_lua_temporary(reader, count, sizeof(*list));
    for (size_t i = 0; i < count; i++) {
        size_t before = zr_lua_enter(reader, "entry %zu", i + 1);
        lua_rawgeti(reader->L, index, (int)i + 1);
        list[i] = read_auth_entry(reader, lua_gettop(reader->L));
        lua_pop(reader->L, 1);
        zr_lua_leave(reader, before);
    }
    return (struct zr_auths){list, count};
}

/* ---- TLS ------------------------------------------------------------------------------------ */

struct tls_entry {
    struct zr_bytes ca, cert, key, password, name;
    bool any_server;
};

static const struct zr_option tls_options[] = {
    {"ca", 's', offsetof(struct tls_entry, ca)},
    {"cert", 's', offsetof(struct tls_entry, cert)},
    {"key", 's', offsetof(struct tls_entry, key)},
    {"password", 's', offsetof(struct tls_entry, password)},
    {"name", 's', offsetof(struct tls_entry, name)},
    {"verify", 'n', offsetof(struct tls_entry, any_server)},
    {NULL, 0, 0},
};

/* True, false, or a table of options. */
static struct zr_tls_options read_tls(struct reader *reader, int index)
{
    struct tls_entry entry = {.any_server = false};
    if (lua_isboolean(reader->L, index))
        return (struct zr_tls_options){.wanted = lua_toboolean(reader->L, index)};
    if (!lua_istable(reader->L, index))
        zr_lua_bad_type(reader, index, "boolean or table of options");
    zr_lua_read_options(reader, index, tls_options, &entry);
    return (struct zr_tls_options){.wanted = true,
                                   .ca = entry.ca.at,
                                   .cert = entry.cert.at,
                                   .key = entry.key.at,
                                   .password = entry.password.at,
                                   .name = entry.name.at,
                                   .any_server = entry.any_server};
}

/* ---- SASL ----------------------------------------------------------------------------------- */

struct sasl_entry {
    struct zr_bytes mechanism, user, password, keytab;
};

static const struct zr_option sasl_options[] = {
    {"mechanism", 's', offsetof(struct sasl_entry, mechanism)},
    {"user", 's', offsetof(struct sasl_entry, user)},
    {"password", 's', offsetof(struct sasl_entry, password)},
    {"keytab", 's', offsetof(struct sasl_entry, keytab)},
    {NULL, 0, 0},
};

static struct zr_sasl_options read_sasl(struct reader *reader, int index)
{
    struct sasl_entry entry = {.mechanism = {NULL, 0}};
    if (!lua_istable(reader->L, index))
        zr_lua_bad_type(reader, index, "table of options");
    zr_lua_read_options(reader, index, sasl_options, &entry);
    return (struct zr_sasl_options){.wanted = true,
                                    .mechanism = entry.mechanism.at,
                                    .user = entry.user.at,
                                    .password = entry.password.at,
                                    .keytab = entry.keytab.at};
}

/* ---- Options ------------------------------------------------------------------------------- */

void zr_lua_read_letter(struct reader *reader, int index, char letter, void *into)
{
    switch (letter) {
    case 't':
        *(int64_t *)into = zr_lua_read_seconds(reader, index);
        break;
    case 'p':
        *(struct zr_bytes *)into = zr_lua_read_path(reader, index);
        break;
    case 's':
        *(struct zr_bytes *)into = zr_lua_read_string(reader, index);
        break;
    case 'd':
        *(struct zr_bytes *)into = zr_lua_read_data(reader, index);
        break;
    case 'a':
        *(struct zr_acls *)into = zr_lua_read_acl(reader, index);
        break;
    default:
        luaL_error(reader->L, "the binding knows no values of type '%c'", letter);
    }
}

static void read_option(struct reader *reader, int index, const struct zr_option *option,
                        void *field)
{
    switch (option->type) {
    case 'b':
        if (!lua_isboolean(reader->L, index))
            zr_lua_bad_type(reader, index, "boolean");
        *(bool *)field = lua_toboolean(reader->L, index);
        break;
    case 'n':
        if (!lua_isboolean(reader->L, index))
            zr_lua_bad_type(reader, index, "boolean");
        *(bool *)field = !lua_toboolean(reader->L, index);
        break;
    case 'i':
        *(int64_t *)field = zr_lua_read_integer(reader, index, -COMPAT_EXACT, COMPAT_EXACT);
        break;
    case 'c':
        *(int64_t *)field = zr_lua_read_integer(reader, index, 1, COMPAT_EXACT);
        break;
    case 'l':
        *(struct zr_auths *)field = zr_lua_read_auths(reader, index);
        break;
    case 'e':
        *(struct zr_tls_options *)field = read_tls(reader, index);
        break;
    case 'y':
        *(struct zr_sasl_options *)field = read_sasl(reader, index);
        break;
    case 'r': /* only the binding uses it: permissions, an int32_t */
        *(int32_t *)field = zr_lua_read_perms(reader, index);
        break;
    default:
        zr_lua_read_letter(reader, index, option->type, field);
    }
}

static bool is_known(const struct zr_option *options, const char *name)
{
    for (; options->name != NULL; options++)
        if (strcmp(options->name, name) == 0)
            return true;
    return false;
}

static void unknown_option(struct reader *reader, const struct zr_option *options)
{
    char known[256] = "";
    size_t length = 0;
    for (; options->name != NULL && length < sizeof(known); options++)
        length += (size_t)snprintf(known + length, sizeof(known) - length, "%s%s",
                                   length > 0 ? ", " : "", options->name);
    if (lua_type(reader->L, -1) == LUA_TSTRING)
        zr_lua_bad(reader, "unknown option '%.100s'; there are: %s", lua_tostring(reader->L, -1),
                   known);
    zr_lua_bad(reader, "the names of options are strings, got a %s; there are: %s",
               luaL_typename(reader->L, -1), known);
}

static void check_names(struct reader *reader, int index, const struct zr_option *options)
{
    lua_State *L = reader->L;
    lua_pushnil(L);
    while (lua_next(L, index) != 0) {
        lua_pop(L, 1);
        if (lua_type(L, -1) != LUA_TSTRING || !is_known(options, lua_tostring(L, -1)))
            unknown_option(reader, options);
    }
}

/* What options are that are left out. */
void zr_lua_default_options(const struct zr_option *options, void *into)
{
    for (; options->name != NULL; options++)
        if (options->type == 't')
            *(int64_t *)((char *)into + options->offset) = -1;
}

void zr_lua_read_options(struct reader *reader, int index, const struct zr_option *options,
                         void *into)
{
    lua_State *L = reader->L;
    zr_lua_check_plain(reader, index, "table of options");
    check_names(reader, index, options);
    for (; options->name != NULL; options++) {
        void *field = (char *)into + options->offset;
        lua_pushstring(L, options->name);
        lua_rawget(L, index);
        if (!lua_isnil(L, -1)) {
            size_t before = zr_lua_enter(reader, "option '%s'", options->name);
            read_option(reader, lua_gettop(L), options, field);
            zr_lua_leave(reader, before);
        }
        lua_pop(L, 1);
    }
}
