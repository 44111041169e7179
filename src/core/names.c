#include "core/names.h"

#include <string.h>

#include "core/alloc.h"

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

/* The characters that ZooKeeper's server refuses. Those from 0x10000 on are surrogates to it. */
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
            return "must not hold control characters, private ones, or any above U+FFEF";
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
            return "must not hold an empty name ('//')";
        if (is_dots(path + i + 1, name))
            return "must not hold '.' or '..' as a name";
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

#define DIGITS 10

int64_t zr_sequence(const char *name, const char *stem)
{
    size_t length = strlen(name), stem_length = strlen(stem);
    if (length < stem_length + DIGITS)
        return -1;
    const char *digits = name + length - DIGITS;
    if (memcmp(digits - stem_length, stem, stem_length) != 0)
        return -1;
    int64_t number = 0;
    for (int i = 0; i < DIGITS; i++) {
        if (digits[i] < '0' || digits[i] > '9')
            return -1;
        number = number * 10 + (digits[i] - '0');
    }
    return number;
}

bool zr_is_sequence(const char *text)
{
    bool negative = text[0] == '-';
    size_t digits = strspn(text + negative, "0123456789");
    return text[negative + digits] == '\0' &&
           (digits == DIGITS || (negative && digits == DIGITS - 1));
}

int64_t zr_count(const char *text, size_t length)
{
    int64_t count = 0;
    if (length == 0 || length > DIGITS || text[0] == '0')
        return 0;
    for (size_t i = 0; i < length; i++) {
        if (text[i] < '0' || text[i] > '9')
            return 0;
        count = count * 10 + (text[i] - '0');
    }
    return count <= INT32_MAX ? count : 0;
}

const struct zr_stem zr_stem_lock = {"lock-", false}, zr_stem_write = {"__WRIT__", false},
                     zr_stem_read = {"__READ__", true}, zr_stem_latch = {"latch-", false},
                     zr_stem_rank = {"rank-", false}, zr_stem_lease = {"lease-", false};

int64_t zr_permits(const char *name)
{
    if (zr_sequence(name, zr_stem_lease.text) < 0)
        return 0;
    const char *end = name + strlen(name) - DIGITS - strlen(zr_stem_lease.text), *first = end;
    if (end == name || *--first != '-')
        return 0;
    end = first;
    while (first > name && first[-1] >= '0' && first[-1] <= '9')
        first--;
    if (first == name || first[-1] != '-')
        return 0;
    return zr_count(first, (size_t)(end - first));
}

/* A lease that does not say for how much is none. */
static bool is_whole(const struct zr_stem *stem, const char *name)
{
    return stem != &zr_stem_lease || zr_permits(name) > 0;
}

const struct zr_stem *zr_stem_of(const char *name, int64_t *sequence)
{
    static const struct zr_stem *const stems[] = {&zr_stem_lock,  &zr_stem_write, &zr_stem_read,
                                                  &zr_stem_latch, &zr_stem_rank,  &zr_stem_lease};
    for (size_t i = 0; i < sizeof(stems) / sizeof(stems[0]); i++) {
        *sequence = zr_sequence(name, stems[i]->text);
        if (*sequence >= 0)
            return is_whole(stems[i], name) ? stems[i] : NULL;
    }
    return NULL;
}

static size_t span(const char **at, const char *characters)
{
    size_t length = strspn(*at, characters);
    *at += length;
    return length;
}

static bool dash(const char **at)
{
    bool found = **at == '-';
    *at += found;
    return found;
}

#define NUMERALS "0123456789"
#define HEXADECIMAL NUMERALS "abcdef"

/* "<16 hexadecimal digits>-<number>-", and perhaps "<permits>-", up to here. */
static bool is_our_tag(const char *at, const char *end)
{
    if (span(&at, HEXADECIMAL) != 16 || !dash(&at) || span(&at, NUMERALS) == 0 || !dash(&at))
        return false;
    return at == end || (span(&at, NUMERALS) > 0 && dash(&at) && at == end);
}

/* "_c_<UUID>-": some write the UUID without dashes. */
static bool is_curators_tag(const char *at, const char *end)
{
    if (strncmp(at, "_c_", 3) != 0)
        return false;
    at += 3;
    size_t length = span(&at, HEXADECIMAL "-");
    return at == end && length >= 33 && length <= 37 && end[-1] == '-';
}

bool zr_is_usual(const char *name)
{
    int64_t number;
    const struct zr_stem *stem = zr_stem_of(name, &number);
    if (stem == NULL)
        return false;
    const char *end = name + strlen(name) - DIGITS - strlen(stem->text);
    return end == name || is_our_tag(name, end) || is_curators_tag(name, end);
}

bool zr_is_kazoos(const char *name)
{
    const char *at = name;
    if (zr_sequence(name, "__lock__") < 0 && zr_sequence(name, "__rlock__") < 0)
        return false;
    return span(&at, HEXADECIMAL) == 32 && (strlen(at) == strlen("__lock__") + DIGITS ||
                                            strlen(at) == strlen("__rlock__") + DIGITS);
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

/* "[address]:port": the client library wants it bare, the resolver takes care of that. */
static const char *bracket_problem(const char *host, size_t length)
{
    const char *close = memchr(host, ']', length);
    if (close == NULL)
        return "has a '[' without ']'";
    size_t address = (size_t)(close - host) - 1, rest = length - address - 2;
    if (address == 0 || strspn(host + 1, "0123456789abcdefABCDEF:.%") < address)
        return "has something in brackets that is not an IPv6 address";
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
        return "has a character that no host name has";
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
    return NULL;
}
