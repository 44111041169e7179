/*
 * As ZooKeeper 3.8.0 with its two default providers, "ip" and "digest". Every connection comes from
 * 127.0.0.1; an "ip" entry allows only what is written exactly like that.
 */
#include "sim/acl.h"

#include <string.h>

#include "core/digest.h"
#include "sim/world_alloc.h"

static struct zr_sim_acl *acl_new(const struct zr_acl *list, size_t count)
{
    size_t size = sizeof(struct zr_sim_acl) + count * sizeof(*list);
    for (size_t i = 0; i < count; i++)
        size += strlen(list[i].scheme) + strlen(list[i].id) + 2;
    struct zr_sim_acl *acl = zr_sim_alloc(size);
    char *text = (char *)&acl->list[count];
    acl->refs = 1;
    for (; acl->count < count; acl->count++) {
        struct zr_acl *to = &acl->list[acl->count];
        to->perms = list[acl->count].perms;
        to->scheme = strcpy(text, list[acl->count].scheme);
        text += strlen(text) + 1;
        to->id = strcpy(text, list[acl->count].id);
        text += strlen(text) + 1;
    }
    return acl;
}

struct zr_sim_acl *zr_sim_acl_one(int32_t perms, const char *scheme, const char *id)
{
    struct zr_acl one = {perms, scheme, id};
    return acl_new(&one, 1);
}

struct zr_sim_acl *zr_sim_acl_ref(struct zr_sim_acl *acl)
{
    acl->refs++;
    return acl;
}

void zr_sim_acl_unref(struct zr_sim_acl *acl)
{
    if (acl != NULL && --acl->refs == 0)
        zr_sim_release(acl);
}

/* ---- What a client asks for ---------------------------------------------------------------- */

static bool same(const struct zr_acl *a, const struct zr_acl *b)
{
    return a->perms == b->perms && strcmp(a->scheme, b->scheme) == 0 && strcmp(a->id, b->id) == 0;
}

static bool said_before(struct zr_acls acls, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (same(&acls.list[k], &acls.list[i]))
            return true;
    return false;
}

static bool is_anyone(const struct zr_acl *entry)
{
    return strcmp(entry->scheme, "world") == 0 && strcmp(entry->id, "anyone") == 0;
}

/* The server splits at colons, drops empty parts at the end, and needs two parts. */
static bool is_digest(const char *id)
{
    size_t length = strlen(id);
    while (length > 0 && id[length - 1] == ':')
        length--;
    const char *colon = length > 0 ? memchr(id, ':', length) : NULL;
    return colon != NULL && memchr(colon + 1, ':', length - (size_t)(colon + 1 - id)) == NULL;
}

static bool is_valid(const struct zr_acl *entry)
{
    return is_anyone(entry) || (strcmp(entry->scheme, "digest") == 0 && is_digest(entry->id)) ||
           (strcmp(entry->scheme, "ip") == 0 && entry->id[0] != '\0');
}

static bool proves(const struct zr_sim_identity *who)
{
    return strcmp(who->scheme, "digest") == 0;
}

static size_t count_proofs(const struct zr_sim_identity *who)
{
    size_t count = 0;
    for (; who != NULL; who = who->next)
        count += proves(who);
    return count;
}

/* Writes the entries that one entry stands for. Returns how many; 0: the entry is not valid. */
static size_t expand(const struct zr_acl *entry, const struct zr_sim_identity *who,
                     struct zr_acl *to)
{
    size_t count = 0;
    if (!is_anyone(entry) && strcmp(entry->scheme, "auth") == 0) {
        for (; who != NULL; who = who->next)
            if (proves(who))
                to[count++] = (struct zr_acl){entry->perms, who->scheme, who->id};
        return count;
    }
    *to = *entry;
    return is_valid(entry);
}

enum zr_status zr_sim_acl_fix(struct zr_acls asked, const struct zr_sim_identity *who,
                              struct zr_sim_acl **fixed)
{
    struct zr_acl *all = zr_sim_alloc(asked.count * (1 + count_proofs(who)) * sizeof(*all));
    size_t count = 0, valid = asked.count;
    for (size_t i = 0; i < asked.count && valid > 0; i++)
        if (!said_before(asked, i)) {
            valid = expand(&asked.list[i], who, all + count);
            count += valid;
        }
    if (valid > 0)
        *fixed = acl_new(all, count);
    zr_sim_release(all);
    return valid > 0 ? ZR_OK : ZR_INVALID_ACL;
}

/* ---- What a znode allows ------------------------------------------------------------------- */

static bool is_one_of(const struct zr_acl *entry, const struct zr_sim_identity *who)
{
    for (; who != NULL; who = who->next)
        if (strcmp(who->scheme, entry->scheme) == 0 && strcmp(who->id, entry->id) == 0)
            return true;
    return false;
}

bool zr_sim_acl_allows(const struct zr_sim_acl *acl, int32_t perms,
                       const struct zr_sim_identity *who)
{
    for (size_t i = 0; i < acl->count; i++) {
        const struct zr_acl *entry = &acl->list[i];
        if ((entry->perms & perms) != 0 && (is_anyone(entry) || is_one_of(entry, who)))
            return true;
    }
    return acl->count == 0;
}

struct zr_sim_acl *zr_sim_acl_masked(const struct zr_sim_acl *acl)
{
    struct zr_sim_acl *copy = acl_new(acl->list, acl->count);
    for (size_t i = 0; i < copy->count; i++) {
        char *colon = strchr((char *)copy->list[i].id, ':');
        if (strcmp(copy->list[i].scheme, "digest") == 0 && colon != NULL && colon[1] != '\0')
            strcpy(colon, ":x");
    }
    return copy;
}

/* ---- Identities ---------------------------------------------------------------------------- */

static bool has(const struct zr_sim_identity *who, const char *scheme, const char *id)
{
    struct zr_acl entry = {0, scheme, id};
    return is_one_of(&entry, who);
}

/* gives: "user:hash". */
static char *id_of(struct zr_bytes credential)
{
    const char *colon =
        credential.length > 0 ? memchr(credential.at, ':', credential.length) : NULL;
    size_t user = colon != NULL ? (size_t)(colon - credential.at) : credential.length;
    char *id = zr_sim_alloc(user + 1 + ZR_DIGEST_LENGTH + 1);
    if (user > 0)
        memcpy(id, credential.at, user);
    id[user] = ':';
    zr_digest(credential, id + user + 1);
    return id;
}

static void append(struct zr_sim_identity **who, const char *scheme, char *id)
{
    while (*who != NULL)
        who = &(*who)->next;
    *who = zr_sim_alloc(sizeof(**who));
    (*who)->scheme = zr_sim_copy_string(scheme);
    (*who)->id = id;
}

bool zr_sim_identity_add(struct zr_sim_identity **who, const char *scheme,
                         struct zr_bytes credential)
{
    bool by_address = strcmp(scheme, "ip") == 0;
    if (!by_address && strcmp(scheme, "digest") != 0)
        return false;
    char *id = by_address ? zr_sim_copy_string("127.0.0.1") : id_of(credential);
    if (has(*who, scheme, id))
        zr_sim_release(id);
    else
        append(who, scheme, id);
    return true;
}

void zr_sim_identities_free(struct zr_sim_identity *who)
{
    while (who != NULL) {
        struct zr_sim_identity *next = who->next;
        zr_sim_release(who->scheme);
        zr_sim_release(who->id);
        zr_sim_release(who);
        who = next;
    }
}
