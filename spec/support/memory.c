/*
 * Searches the memory of this process for a secret, as one would search a core dump. A separate Lua
 * module, built with the specs and never installed. Secrets come and go masked, so that the search
 * does not find itself.
 */
#include <fcntl.h>
#include <lauxlib.h>
#include <lua.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MASK 0x55
#define MOST 512

struct region {
    unsigned long begin, end;
    bool readable, dumped, locked;
};

/* unmask(text) > the secret, which is not left anywhere else */
static int memory_unmask(lua_State *L)
{
    size_t length;
    const char *masked = luaL_checklstring(L, 1, &length);
    char *secret = lua_newuserdata(L, length);
    for (size_t i = 0; i < length; i++)
        secret[i] = masked[i] ^ MASK;
    lua_pushlstring(L, secret, length);
    explicit_bzero(secret, length);
    return 1;
}

/* wipe(string): overwrites a string, which must not be used any more */
static int memory_wipe(lua_State *L)
{
    size_t length;
    const char *text = luaL_checklstring(L, 1, &length);
    explicit_bzero((char *)text, length);
    return 0;
}

static size_t count_in(const unsigned char *at, size_t size, const unsigned char *masked,
                       size_t length)
{
    size_t count = 0, i;
    for (const unsigned char *end = at + size; at + length <= end; at++) {
        at = memchr(at, masked[0] ^ MASK, (size_t)(end - at));
        if (at == NULL || at + length > end)
            break;
        for (i = 1; i < length && at[i] == (masked[i] ^ MASK); i++)
            ;
        count += i == length;
    }
    return count;
}

/* Reads the next region of /proc/self/smaps, up to its flags. "dd": not in core dumps; "io": of a
 * device; "lo": not written to a swap device. */
static bool next_region(FILE *smaps, struct region *region)
{
    char line[512], perms[8];
    unsigned long begin, end;
    while (fgets(line, sizeof line, smaps) != NULL) {
        if (sscanf(line, "%lx-%lx %7s", &begin, &end, perms) == 3)
            *region = (struct region){begin, end, perms[0] == 'r', false, false};
        else if (strncmp(line, "VmFlags:", 8) == 0) {
            region->readable = region->readable && strstr(line, " io") == NULL;
            region->dumped = strstr(line, " dd") == NULL;
            region->locked = strstr(line, " lo") != NULL;
            return true;
        }
    }
    return false;
}

static size_t count_in_region(int memory, const struct region *region, const char *masked,
                              size_t length)
{
    static unsigned char piece[1 << 20]; /* overwritten below: it is searched too */
    size_t count = 0;
    for (unsigned long at = region->begin; at < region->end; at += sizeof piece - MOST) {
        size_t left = region->end - at;
        ssize_t got = pread(memory, piece, left < sizeof piece ? left : sizeof piece, (off_t)at);
        if (got > 0)
            count += count_in(piece, (size_t)got, (const unsigned char *)masked, length);
        explicit_bzero(piece, sizeof piece);
    }
    return count;
}

/* seen(text) > in how many places of what a core dump contains this masked secret is; in how many
   of what it leaves out, which also no swap device gets */
static int memory_seen(lua_State *L)
{
    size_t length, dumped = 0, locked = 0;
    const char *masked = luaL_checklstring(L, 1, &length);
    FILE *smaps = fopen("/proc/self/smaps", "r");
    int memory = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
    struct region region;
    if (smaps == NULL || memory < 0 || length == 0 || length > MOST)
        return luaL_error(L, "the memory cannot be searched");
    while (next_region(smaps, &region)) {
        size_t count = region.readable ? count_in_region(memory, &region, masked, length) : 0;
        dumped += region.dumped ? count : 0;
        locked += !region.dumped && region.locked ? count : 0;
    }
    fclose(smaps);
    close(memory);
    lua_pushinteger(L, (lua_Integer)dumped);
    lua_pushinteger(L, (lua_Integer)locked);
    return 2;
}

__attribute__((visibility("default"))) int luaopen_spec_memory(lua_State *L);

int luaopen_spec_memory(lua_State *L)
{
    lua_newtable(L);
    lua_pushcfunction(L, memory_unmask);
    lua_setfield(L, -2, "unmask");
    lua_pushcfunction(L, memory_wipe);
    lua_setfield(L, -2, "wipe");
    lua_pushcfunction(L, memory_seen);
    lua_setfield(L, -2, "seen");
    return 1;
}
