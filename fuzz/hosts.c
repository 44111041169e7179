/*
 * Lists of hosts: the resolver must understand what zr_hosts_problem accepts. A second parser here
 * splits each entry, and the resolver must find the same name and port. Then the resolver resolves
 * all entries. No request goes over the network: the address of a name is made from its hash.
 */
#include <netdb.h>

static int made_up_address(const char *name, const char *port, const struct addrinfo *hints,
                           struct addrinfo **found);
#define getaddrinfo made_up_address
#include "zk/resolver.c"
#undef getaddrinfo

#include "core/names.h"
#include "fuzz.h"

#define MOST 4096

static int looked_up;

/* Numeric names are their own addresses, one in eight other names does not exist, and the rest
   have an address each. */
static int made_up_address(const char *name, const char *port, const struct addrinfo *hints,
                           struct addrinfo **found)
{
    struct addrinfo numeric = *hints;
    numeric.ai_flags |= AI_NUMERICHOST;
    looked_up++;
    CLAIM(name[0] != '\0' && strlen(name) < LONGEST_NAME);
    CLAIM(atoi(port) >= 1 && atoi(port) <= 65535);
    if (getaddrinfo(name, port, &numeric, found) == 0)
        return 0;
    uint32_t hash = 5381;
    for (const char *c = name; *c != '\0'; c++)
        hash = hash * 33 + (uint8_t)*c;
    char address[32];
    snprintf(address, sizeof address, "10.0.%u.%u", hash >> 8 & 255, hash & 255);
    return hash % 8 == 0 ? EAI_NONAME : getaddrinfo(address, port, &numeric, found);
}

/* ---- The entries, taken apart once more
 * ------------------------------------------------------------------- */

static void check_entry(const char *entry, size_t length)
{
    struct server theirs;
    char text[MOST + 1], *name = text, *end;
    CLAIM(length > 0);
    memcpy(text, entry, length);
    text[length] = '\0';
    if (text[0] == '[') {
        name++;
        end = strchr(text, ']');
        *end++ = '\0';
    } else {
        end = text + strcspn(text, ":");
    }
    const char *port = *end == ':' ? end + 1 : "2181";
    split(&theirs, entry, entry + length);
    CLAIM(strcmp(port, theirs.port) == 0);
    *end = '\0';
    CLAIM(strcmp(name, theirs.name) == 0);
}

static size_t count_of(const char *text, char c)
{
    size_t count = 0;
    for (; *text != '\0'; text++)
        count += *text == c;
    return count;
}

/* ---- What is resolved
 * -------------------------------------------------------------------------------------- */

/* All entries are numeric and have a port; their count is odd; only the repeated one occurs
   twice. */
static void check_addresses(const char *list)
{
    size_t count = count_of(list, ',') + 1;
    CLAIM(count % 2 == 1 && count <= MOST_ADDRESSES);
    for (const char *at = list; *at != '\0';) {
        size_t length = strcspn(at, ",");
        const char *colon = memrchr(at, ':', length);
        CLAIM(colon != NULL && colon > at && length < ZR_RESOLVER_ADDRESS);
        CLAIM(strspn(colon + 1, "0123456789") == (size_t)(at + length - colon - 1));
        at += length + (at[length] == ',');
    }
}

static void check_resolution(const char *hosts, size_t entries)
{
    struct zr_mailbox answers;
    CLAIM(zr_mailbox_init(&answers));
    struct zr_resolution *resolution = zr_resolution_new(hosts, &answers);
    struct zr_list taken;
    zr_list_init(&taken);
    looked_up = 0;
    resolve(resolution);
    zr_mailbox_take(&answers, &taken);
    CLAIM(zr_list_shift(&taken) == &resolution->link && zr_list_empty(&taken));
    CLAIM((size_t)looked_up == entries);
    CLAIM(resolution->addresses != NULL || resolution->failure[0] != '\0');
    if (resolution->addresses != NULL)
        check_addresses(resolution->addresses);
    zr_resolution_free(resolution);
    zr_mailbox_fini(&answers);
}

static void check_good(const char *text)
{
    size_t length = zr_hosts_length(text);
    if (text[length] != '\0')
        CLAIM(zr_path_problem(text + length, strlen(text + length)) == NULL);
    char *hosts = text_of((const uint8_t *)text, length);
    for (const char *at = hosts; *at != '\0';) {
        size_t entry = strcspn(at, ",");
        check_entry(at, entry);
        at += entry + (at[entry] == ',');
    }
    check_resolution(hosts, count_of(hosts, ',') + 1);
    free(hosts);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > MOST)
        return 0;
    char *text = text_of(data, size);
    const char *problem = zr_hosts_problem(text);
    CLAIM(problem == NULL || strncmp(problem, "has ", 4) == 0);
    if (problem == NULL)
        check_good(text);
    free(text);
    CLAIM(zr_alloc_blocks() == 0);
    return 0;
}
