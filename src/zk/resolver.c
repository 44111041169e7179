/*
 * 1. A helper thread goes through "name:port,name:port", calls getaddrinfo for each, and collects
 *    the numeric addresses, each once.
 * 2. It shuffles them with a generator of its own, so that clients spread over the servers; the
 *    client library would reseed the host's random().
 * 3. If the count is even, it repeats the first at the end: with an even number of servers the
 *    client can miss the only live one forever (ZOOKEEPER-2466).
 * 4. The list goes back through the mailbox.
 *
 * What can go wrong: some names cannot be resolved: the others are used. No name can be resolved:
 * the owner asks again later. The owner is gone by the time of the answer: then the thread that
 * takes the answer frees it.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "zk/resolver.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/alloc.h"
#include "core/hash.h"
#include "zk/clock.h"
#include "zk/thread.h"

#define MOST_ADDRESSES 63 /* odd, so that the list cannot overflow by the repeated one */
#define LONGEST_NAME 256

struct address {
    char text[ZR_RESOLVER_ADDRESS];
    char name[LONGEST_NAME];
};

struct addresses {
    size_t count;
    struct address at[MOST_ADDRESSES + 1];
};

struct server {
    char name[LONGEST_NAME];
    char port[8];
};

static void copy_part(char *to, size_t room, const char *from, size_t length)
{
    snprintf(to, room, "%.*s", (int)length, from);
}

/*
 * "name", "name:port", "[v6]", "[v6]:port" or, as the client library wants it, "v6:port".
 * borrows: text up to end.
 */
static void split(struct server *server, const char *text, const char *end)
{
    const char *name_end = memrchr(text, ':', (size_t)(end - text));
    const char *bracket = memrchr(text, ']', (size_t)(end - text));
    if (name_end == NULL || (bracket != NULL && name_end < bracket))
        name_end = end;
    const char *port = name_end < end ? name_end + 1 : end;
    if (*text == '[' && bracket != NULL) {
        text++;
        name_end = bracket;
    }
    copy_part(server->name, sizeof server->name, text, (size_t)(name_end - text));
    copy_part(server->port, sizeof server->port, port, (size_t)(end - port));
    if (server->port[0] == '\0')
        strcpy(server->port, "2181");
}

static bool known(const struct addresses *found, const char *address)
{
    for (size_t i = 0; i < found->count; i++)
        if (strcmp(found->at[i].text, address) == 0)
            return true;
    return false;
}

/* An address that several names have belongs to the first of them. */
static void add(struct addresses *found, const struct addrinfo *info, const char *name)
{
    char host[ZR_RESOLVER_ADDRESS - 8], port[8];
    if (getnameinfo(info->ai_addr, info->ai_addrlen, host, sizeof host, port, sizeof port,
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0)
        return;
    struct address *address = &found->at[found->count];
    snprintf(address->text, sizeof address->text, "%s:%s", host, port);
    snprintf(address->name, sizeof address->name, "%s", name);
    if (found->count < MOST_ADDRESSES && !known(found, address->text))
        found->count++;
}

static void look_up(struct zr_resolution *to, struct addresses *found, const struct server *server)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
    struct addrinfo *all = NULL;
    errno = 0;
    int error = getaddrinfo(server->name, server->port, &hints, &all);
    if (error != 0) {
        bool few = errno == EMFILE || errno == ENFILE; /* it says that there is no such name */
        snprintf(to->failure, sizeof to->failure, "cannot resolve %.180s: %.50s", server->name,
                 few ? "no free file descriptor; see ulimit -n" : gai_strerror(error));
        return;
    }
    for (const struct addrinfo *one = all; one != NULL; one = one->ai_next)
        if (one->ai_family == AF_INET || one->ai_family == AF_INET6)
            add(found, one, server->name);
    freeaddrinfo(all);
}

static bool blank(char c)
{
    return c == ' ' || c == '\t';
}

static void look_up_all(struct zr_resolution *to, struct addresses *found)
{
    const char *text = to->hosts;
    while (*text != '\0') {
        const char *comma = strchrnul(text, ',');
        const char *end = comma;
        while (text < end && blank(*text))
            text++;
        while (end > text && blank(end[-1]))
            end--;
        struct server server;
        split(&server, text, end);
        if (server.name[0] != '\0')
            look_up(to, found, &server);
        text = *comma == ',' ? comma + 1 : comma;
    }
}

/* One step of splitmix64: good enough to spread clients, and its state is our own. */
static uint64_t next_random(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static void shuffle(struct addresses *found)
{
    uint64_t state = (uint64_t)zr_now_us() ^ (uint64_t)getpid() << 40 ^ (uintptr_t)found;
    for (size_t left = found->count; left > 1; left--) {
        size_t other = (size_t)(next_random(&state) % left);
        struct address kept = found->at[left - 1];
        found->at[left - 1] = found->at[other];
        found->at[other] = kept;
    }
    if (found->count > 0 && found->count % 2 == 0)
        found->at[found->count++] = found->at[0];
}

/* A sum of hashes, so that the order does not matter. Before the shuffle: each address once. */
static uint64_t fingerprint(const struct addresses *found)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < found->count; i++) {
        uint64_t hash = zr_hash64(found->at[i].text, strlen(found->at[i].text));
        sum += next_random(&hash);
    }
    return sum;
}

/* gives: the list with commas, or null. */
static char *joined(const struct addresses *found)
{
    char *list = zr_alloc(found->count * ZR_RESOLVER_ADDRESS + 1);
    char *end = list;
    for (size_t i = 0; list != NULL && i < found->count; i++)
        end += sprintf(end, "%s%s", i > 0 ? "," : "", found->at[i].text);
    return list;
}

/* gives: the pairs of address and name, or null. */
static char *paired(const struct addresses *found)
{
    char *pairs = zr_alloc(found->count * sizeof found->at[0] + 1);
    char *end = pairs;
    for (size_t i = 0; pairs != NULL && i < found->count; i++) {
        end = stpcpy(end, found->at[i].text) + 1;
        end = stpcpy(end, found->at[i].name) + 1;
    }
    return pairs;
}

/* Without memory for both there is none. */
static void keep(struct zr_resolution *to, const struct addresses *found)
{
    to->addresses = joined(found);
    to->names = paired(found);
    if (to->addresses != NULL && to->names != NULL)
        return;
    zr_resolution_forget(to);
    snprintf(to->failure, sizeof to->failure, "cannot resolve host names: memory is exhausted");
}

static void *resolve(void *with)
{
    struct zr_resolution *to = with;
    struct addresses found = {.count = 0};
    look_up_all(to, &found);
    to->fingerprint = fingerprint(&found);
    shuffle(&found);
    if (found.count > 0)
        keep(to, &found);
    struct zr_list answer;
    zr_list_init(&answer);
    zr_list_append(&answer, &to->link);
    zr_mailbox_put(to->answers, &answer);
    return NULL;
}

struct zr_resolution *zr_resolution_new(const char *hosts, struct zr_mailbox *answers)
{
    size_t length = strlen(hosts);
    struct zr_resolution *resolution = zr_alloc(sizeof *resolution + length + 1);
    if (resolution == NULL)
        return NULL;
    resolution->hosts = memcpy(resolution + 1, hosts, length + 1);
    resolution->answers = answers;
    return resolution;
}

void zr_resolution_start(struct zr_resolution *resolution)
{
    resolution->busy = true;
    resolution->failure[0] = '\0';
    if (zr_thread_start(resolve, resolution))
        return;
    snprintf(resolution->failure, sizeof resolution->failure,
             "cannot resolve host names: no thread can be started");
    struct zr_list answer;
    zr_list_init(&answer);
    zr_list_append(&answer, &resolution->link);
    zr_mailbox_put(resolution->answers, &answer);
}

void zr_resolution_forget(struct zr_resolution *resolution)
{
    zr_free(resolution->addresses);
    zr_free(resolution->names);
    resolution->addresses = resolution->names = NULL;
}

void zr_resolution_free(struct zr_resolution *resolution)
{
    if (resolution == NULL)
        return;
    resolution->owner = NULL;
    if (resolution->busy)
        return;
    zr_resolution_forget(resolution);
    zr_free(resolution);
}
