#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/hash.h"
#include "lua/binding.h"

/*
 * Files that the Lua half keeps for itself. A file is never changed: a new one is written beside it
 * and renamed, so a reader sees the old one or the new one. Nothing is forced to the disk, because
 * that would stall the host.
 *
 * What can go wrong: other users may write to the folder, and put a file in the way.
 * Only a plain file of our user, with one name, which no other user may write, is read; a link is
 * never followed. The name beside it is ours alone: O_EXCL. One that a killed process with our
 * number has left is removed.
 */

#define READ_MAX ((off_t)1 << 30)

static int fail(lua_State *L, const char *what, const char *path)
{
    lua_pushnil(L);
    lua_pushfstring(L, "cannot %s %s: %s", what, path, strerror(errno));
    return 2;
}

static int refuse(lua_State *L, const char *path, const char *why)
{
    lua_pushnil(L);
    lua_pushfstring(L, "%s is not used: %s", path, why);
    return 2;
}

/* ---- Reading ------------------------------------------------------------------------------- */

/* Null: it may be read. */
static const char *problem_of(const struct stat *found)
{
    if (!S_ISREG(found->st_mode))
        return "it is no plain file";
    if (found->st_uid != geteuid())
        return "it belongs to another user";
    if (found->st_nlink != 1)
        return "it has a second name (a hard link)";
    if ((found->st_mode & (S_IWGRP | S_IWOTH)) != 0)
        return "other users may write it";
    return found->st_size > READ_MAX ? "it is too large" : NULL;
}

/* False: less was there. */
static bool read_all(int fd, char *into, size_t length)
{
    while (length > 0) {
        ssize_t got = read(fd, into, length);
        if (got <= 0 && !(got < 0 && errno == EINTR))
            return false;
        if (got > 0) {
            into += got;
            length -= (size_t)got;
        }
    }
    return true;
}

/* The block is a userdata: pushing the string may raise. The descriptor is closed before that. */
static int push_content(lua_State *L, int fd, const struct stat *found, const char *path)
{
    size_t length = (size_t)found->st_size;
    char *block = lua_touserdata(L, -1);
    bool whole = read_all(fd, block, length);
    close(fd);
    if (!whole)
        return refuse(L, path, "it could not be read whole");
    lua_pushlstring(L, block, length);
    return 1;
}

/* read_file(path): the text; nil if there is no such file; or nil and why it is not used. */
int zr_lua_read_file(lua_State *L)
{
    const char *path = luaL_checkstring(L, 1);
    struct stat before, found;
    if (lstat(path, &before) != 0)
        return errno == ENOENT ? (lua_pushnil(L), 1) : fail(L, "read", path);
    const char *problem = problem_of(&before);
    if (problem != NULL)
        return refuse(L, path, problem);
    lua_newuserdata(L, (size_t)before.st_size + 1);
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return fail(L, "read", path);
    bool same = fstat(fd, &found) == 0 && found.st_dev == before.st_dev &&
                found.st_ino == before.st_ino && found.st_size == before.st_size;
    if (same)
        return push_content(L, fd, &found, path);
    close(fd);
    return refuse(L, path, "it was replaced while it was opened");
}

/* ---- Writing ------------------------------------------------------------------------------- */

static int open_beside(const char *beside)
{
    int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    int fd = open(beside, flags, S_IRUSR | S_IWUSR);
    if (fd >= 0 || errno != EEXIST || unlink(beside) != 0)
        return fd;
    return open(beside, flags, S_IRUSR | S_IWUSR);
}

static bool write_all(int fd, const char *from, size_t length)
{
    while (length > 0) {
        ssize_t done = write(fd, from, length);
        if (done < 0 && errno != EINTR)
            return false;
        if (done > 0) {
            from += done;
            length -= (size_t)done;
        }
    }
    return true;
}

static bool write_beside(const char *beside, const char *text, size_t length)
{
    int fd = open_beside(beside);
    if (fd < 0)
        return false;
    bool written = write_all(fd, text, length);
    int problem = errno;
    if (close(fd) != 0 && written) {
        written = false;
        problem = errno;
    }
    errno = problem;
    return written;
}

/* replace_file(path, text): true; or nil and a message: then the old file is still there. */
int zr_lua_replace_file(lua_State *L)
{
    size_t length;
    const char *path = luaL_checkstring(L, 1), *text = luaL_checklstring(L, 2, &length);
    const char *beside = lua_pushfstring(L, "%s.%d.new", path, (int)getpid());
    if (!write_beside(beside, text, length) || rename(beside, path) != 0) {
        int problem = errno;
        unlink(beside);
        errno = problem;
        return fail(L, "write", path);
    }
    lua_pushboolean(L, true);
    return 1;
}

/* hash(text): 16 hexadecimal digits. */
int zr_lua_hash(lua_State *L)
{
    size_t length;
    const char *text = luaL_checklstring(L, 1, &length);
    char digits[17];
    snprintf(digits, sizeof(digits), "%016" PRIx64, zr_hash64(text, length));
    lua_pushstring(L, digits);
    return 1;
}
