#include "core/names.h"

#include <stdlib.h>
#include <string.h>

#include "core/alloc.h"
#include "core/zk.h"

/* ---- Names --------------------------------------------------------------------------------- */

static int by_bytes(const void *one, const void *other)
{
    return strcmp(*(char *const *)one, *(char *const *)other);
}

void zr_names_sort(struct zr_names *names)
{
    qsort(names->at, names->count, sizeof(names->at[0]), by_bytes);
}

/* ---- Paths --------------------------------------------------------------------------------- */

/* Decodes one character of UTF-8 and moves on; -1 when it is malformed. */
static int32_t next_character(const unsigned char **at, const unsigned char *end)
{
    unsigned char first = *(*at)++;
    if (first < 0x80)
        return first;
    int more = first >= 0xf0 && first < 0xf5 ? 3 : first >= 0xe0 ? 2 : first >= 0xc2 ? 1 : 0;
    if (more == 0 || first >= 0xf5 || end - *at < more)
        return -1;
    int32_t code = first & (0x3f >> more);
    for (int i = 0; i < more; i++) {
        if ((**at & 0xc0) != 0x80)
            return -1;
        code = code << 6 | (*(*at)++ & 0x3f);
    }
    if ((more == 2 && code < 0x800) || (more == 3 && (code < 0x10000 || code > 0x10ffff)))
        return -1;
    return code;
}

/* The characters that ZooKeeper's server refuses. It sees those from 0x10000 on as surrogates. */
static bool forbidden(int32_t code)
{
    return code < 0x20 || (code >= 0x7f && code <= 0x9f) || (code >= 0xd800 && code <= 0xf8ff) ||
           code >= 0xfff0;
}

static const char *characters_problem(const char *path, size_t length)
{
    const unsigned char *at = (const unsigned char *)path, *end = at + length;
    while (at < end) {
        int32_t code = next_character(&at, end);
        if (code < 0)
            return "must be valid UTF-8";
        if (forbidden(code))
            return "must not contain control characters, private-use characters, or any above "
                   "U+FFEF";
    }
    return NULL;
}

static bool is_dots(const char *name, size_t length)
{
    return (length == 1 && name[0] == '.') || (length == 2 && name[0] == '.' && name[1] == '.');
}

const char *zr_path_problem(const char *path, size_t length)
{
    if (length == 0 || path[0] != '/')
        return "must start with '/'";
    if (length == 1)
        return NULL;
    if (path[length - 1] == '/')
        return "must not end with '/'";
    for (size_t i = 0; i < length;) {
        const char *slash = memchr(path + i + 1, '/', length - i - 1);
        size_t name = slash != NULL ? (size_t)(slash - path) - i - 1 : length - i - 1;
        if (name == 0)
            return "must not contain an empty name ('//')";
        if (is_dots(path + i + 1, name))
            return "must not contain '.' or '..' as a name";
        i += name + 1;
    }
    return characters_problem(path, length);
}

char *zr_path_join(const char *prefix, const char *path)
{
    size_t head = strlen(prefix), tail = strlen(path);
    if (head > 0 && tail == 1)
        tail = 0;
    char *joined = zr_alloc(head + tail + 1);
    if (joined == NULL)
        return NULL;
    memcpy(joined, prefix, head);
    memcpy(joined + head, path, tail);
    return joined;
}

const char *zr_path_inside(const char *namespace, const char *path)
{
    const char *own = path + strlen(namespace);
    return *own != '\0' ? own : "/";
}

char *zr_path_child(const char *dir, const char *name)
{
    size_t head = strlen(dir) == 1 ? 0 : strlen(dir), tail = strlen(name);
    char *child = zr_alloc(head + 1 + tail + 1);
    if (child == NULL)
        return NULL;
    memcpy(child, dir, head);
    child[head] = '/';
    memcpy(child + head + 1, name, tail);
    return child;
}

size_t zr_path_parent_length(const char *path)
{
    size_t length = (size_t)(strrchr(path, '/') - path);
    return length > 0 ? length : path[1] != '\0';
}

/* ---- Sequential nodes ---------------------------------------------------------------------- */

int64_t zr_digits(const char *digits)
{
    int64_t number = 0;
    for (int i = 0; i < ZR_SEQUENCE_DIGITS; i++) {
        if (digits[i] < '0' || digits[i] > '9')
            return -1;
        number = number * 10 + (digits[i] - '0');
    }
    return number;
}

int64_t zr_sequence(const char *name, const char *stem)
{
    size_t length = strlen(name), stem_length = strlen(stem);
    if (length < stem_length + ZR_SEQUENCE_DIGITS)
        return -1;
    const char *digits = name + length - ZR_SEQUENCE_DIGITS;
    return memcmp(digits - stem_length, stem, stem_length) == 0 ? zr_digits(digits) : -1;
}

bool zr_is_sequence(const char *text)
{
    bool negative = text[0] == '-';
    size_t digits = strspn(text + negative, "0123456789");
    return text[negative + digits] == '\0' &&
           (digits == ZR_SEQUENCE_DIGITS || (negative && digits == ZR_SEQUENCE_DIGITS - 1));
}

/* ---- Host lists ---------------------------------------------------------------------------- */

#define HOST_MAX 255 /* of a name without the port; the resolver has no room for more */

size_t zr_hosts_length(const char *hosts)
{
    return strcspn(hosts, "/");
}

static const char *port_problem(const char *port, size_t length)
{
    int number = 0;
    for (size_t i = 0; i < length; i++) {
        if (port[i] < '0' || port[i] > '9' || length > 5)
            return "has a port that is not a number from 1 to 65535";
        number = number * 10 + (port[i] - '0');
    }
    return number >= 1 && number <= 65535 ? NULL
                                          : "has a port that is not a number from 1 to 65535";
}

static bool name_character(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '-' || c == '_';
}

/* "[address]:port": the client library wants it without brackets; the resolver removes them. */
static const char *bracket_problem(const char *host, size_t length)
{
    const char *close = memchr(host, ']', length);
    if (close == NULL)
        return "has a '[' without ']'";
    size_t address = (size_t)(close - host) - 1, rest = length - address - 2;
    if (address == 0 || strspn(host + 1, "0123456789abcdefABCDEF:.%") < address)
        return "has text in brackets that is not an IPv6 address";
    if (address > HOST_MAX)
        return "has a host name that is longer than 255 bytes";
    if (rest == 0)
        return NULL;
    return close[1] == ':' ? port_problem(close + 2, rest - 1) : "has no ':' before the port";
}

static const char *host_problem(const char *host, size_t length)
{
    if (length == 0)
        return "has an empty host";
    if (host[0] == '[')
        return bracket_problem(host, length);
    size_t name = 0;
    while (name < length && name_character(host[name]))
        name++;
    if (name == 0)
        return "has an empty host";
    if (name > HOST_MAX)
        return "has a host name that is longer than 255 bytes";
    if (name == length)
        return NULL;
    if (host[name] != ':')
        return "has a character that a host name cannot contain";
    return port_problem(host + name + 1, length - name - 1);
}

const char *zr_hosts_problem(const char *hosts)
{
    size_t length = zr_hosts_length(hosts);
    for (size_t at = 0;; at++) {
        size_t host = strcspn(hosts + at, ",/");
        const char *problem = host_problem(hosts + at, host);
        if (problem != NULL)
            return problem;
        at += host;
        if (at >= length)
            break;
    }
    const char *chroot = hosts + length;
    if (chroot[0] != '\0' && zr_path_problem(chroot, strlen(chroot)) != NULL)
        return "has a chroot that is not a path";
    /* A chroot behind each host would be one long path, another one for each order of the hosts. */
    if (strchr(chroot, ',') != NULL)
        return "has a ',' behind the chroot: write the chroot once, behind the last host";
    return NULL;
}
