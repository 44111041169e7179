#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "core/digest.h"
#include "lua/binding.h"

/*
 * What an entry of an ACL is made of. A server takes an id that can never match anybody, such as a
 * digest entry with the password in place of its hash. So ids of the schemes that ZooKeeper has are
 * checked here; those of others are the server's business.
 */

/* ---- Words and permissions ----------------------------------------------------------------- */

#define ALL_PERMS (ZR_READ | ZR_WRITE | ZR_CREATE | ZR_DELETE | ZR_ADMIN)

static const struct {
    const char *word;
    struct zr_acl acl;
} acl_words[] = {
    {"open", {ALL_PERMS, "world", "anyone"}},
    {"creator", {ALL_PERMS, "auth", ""}},
    {"read", {ZR_READ, "world", "anyone"}},
};

/* Does not show the text: it may be an entry as zkCli writes it, with a password. */
const struct zr_acl *zr_lua_read_acl_word(struct reader *reader, int index)
{
    const char *word = lua_tostring(reader->L, index);
    for (size_t i = 0; i < sizeof(acl_words) / sizeof(acl_words[0]); i++)
        if (strcmp(acl_words[i].word, word) == 0)
            return &acl_words[i].acl;
    zr_lua_bad(reader, "the words for an ACL are 'open', 'creator' and 'read'; other entries are "
                       "{ perms =, scheme =, id = }");
    return NULL;
}

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

/* Reads a string of letters or a list of words. */
int32_t zr_lua_read_perms(struct reader *reader, int index)
{
    int32_t perms = 0;
    if (lua_type(reader->L, index) == LUA_TSTRING) {
        perms = perms_of_letters(reader, index);
    } else {
        size_t count = zr_lua_list_length(reader, index, "letters of 'rwcda' or list of words");
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

/* ---- Ids ----------------------------------------------------------------------------------- */

static bool is_anyone(const char *id)
{
    return strcmp(id, "anyone") == 0;
}

static bool is_empty(const char *id)
{
    return id[0] == '\0';
}

static bool is_some(const char *id)
{
    return id[0] != '\0';
}

/* The server's hash may be another than SHA-1, the default; MD5, the shortest, has 24 characters.
 */
static bool is_digest(const char *id)
{
    static const char base64[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    size_t user = strcspn(id, ":");
    if (user == 0 || id[user] == '\0')
        return false;
    const char *hash = id + user + 1;
    size_t length = strlen(hash), digits = strspn(hash, base64);
    return length >= 24 && length % 4 == 0 && length - digits <= 2 &&
           strspn(hash + digits, "=") == length - digits;
}

/* An address, or an address, '/', and how many of its bits count. */
static bool is_network(const char *id)
{
    char address[INET6_ADDRSTRLEN], bits[sizeof(struct in6_addr)];
    size_t length = strcspn(id, "/");
    if (length >= sizeof(address))
        return false;
    memcpy(address, id, length);
    address[length] = '\0';
    int most = inet_pton(AF_INET, address, bits) == 1    ? 32
               : inet_pton(AF_INET6, address, bits) == 1 ? 128
                                                         : -1;
    if (most < 0 || id[length] == '\0')
        return most > 0;
    const char *count = id + length + 1;
    size_t digits = strspn(count, "0123456789");
    return digits > 0 && digits <= 3 && count[digits] == '\0' && atoi(count) <= most;
}

/* The server compares letter by letter, and its text of a subject (RFC 2253) has no such blanks. */
static bool is_subject(const char *id)
{
    const char *equals = strchr(id, '=');
    if (equals == NULL || equals == id || equals[-1] == ' ' || equals[1] == ' ')
        return false;
    for (const char *at = id; (at = strstr(at, ", ")) != NULL; at++)
        if (at == id || at[-1] != '\\')
            return false;
    return true;
}

static const struct {
    const char *scheme;
    bool (*fits)(const char *id);
    const char *expected;
} schemes[] = {
    {"world", is_anyone, "'anyone' expected, the only id of 'world'"},
    {"auth", is_empty, "'' expected: the scheme 'auth' means who makes the znode"},
    {"digest", is_digest, "'user:hash' expected, as zk.digest(user, password) makes it"},
    {"ip", is_network, "an address expected, or a network such as '10.0.0.0/8'"},
    {"x509", is_subject,
     "a subject such as 'CN=ann,O=us' expected, without blanks around ',' and '='"},
    {"sasl", is_some, "name of a user expected"},
};

/* The id is not shown: it may be a password. */
void zr_lua_check_acl_id(struct reader *reader, const char *scheme, const char *id)
{
    for (size_t i = 0; i < sizeof(schemes) / sizeof(schemes[0]); i++)
        if (strcmp(schemes[i].scheme, scheme) == 0 && !schemes[i].fits(id)) {
            zr_lua_enter(reader, "option 'id'");
            zr_lua_bad(reader, "%s", schemes[i].expected);
        }
}

/* digest(user, password) */
int zr_lua_digest(lua_State *L)
{
    struct reader reader = {.L = L, .method = "digest", .argument = 1, .anchors = 3};
    lua_settop(L, 2);
    struct zr_bytes user = zr_lua_read_string(&reader, 1);
    if (user.length == 0 || strchr(user.at, ':') != NULL)
        zr_lua_bad(&reader, "name of a user, without ':', expected");
    reader.argument = 2;
    struct zr_bytes password = zr_lua_read_string(&reader, 2);
    size_t length = user.length + 1 + password.length;
    char *credential = lua_newuserdata(L, length + 1), hash[ZR_DIGEST_LENGTH + 1];
    memcpy(credential, user.at, user.length);
    credential[user.length] = ':';
    memcpy(credential + user.length + 1, password.at, password.length);
    zr_digest((struct zr_bytes){credential, length}, hash);
    explicit_bzero(credential, length);
    lua_pushfstring(L, "%s:%s", user.at, hash);
    return 1;
}
