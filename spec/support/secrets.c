/*
 * To be preloaded. It looks whether secrets are overwritten: memory that core dumps leave out is
 * full of zeroes when it is unmapped; otherwise this says so.
 *
 * With SHORT_SENDS=n a socket takes at most n bytes at once, and every second time none; with
 * SHORT_STOPS it takes the first n bytes of a longer piece, and then nothing more. With BROKEN_AUTH
 * the connection breaks when the first packet with a credential is sent; with BROKEN_SEND=text,
 * whenever a packet with this text is.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MOST 256

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static void *secrets[MOST];

/* Replaces `from` among the secrets. False: it is not there. */
static bool replace(void *from, void *to)
{
    bool found = false;
    pthread_mutex_lock(&mutex);
    for (int i = 0; i < MOST && !found; i++)
        if ((found = secrets[i] == from))
            secrets[i] = to;
    pthread_mutex_unlock(&mutex);
    return found;
}

__attribute__((visibility("default"))) int madvise(void *at, size_t length, int advice)
{
    if (advice == MADV_DONTDUMP && !replace(NULL, at))
        abort();
    return (int)syscall(SYS_madvise, at, length, advice);
}

__attribute__((visibility("default"))) int munmap(void *at, size_t length)
{
    if (replace(at, NULL))
        for (size_t i = 0; i < length; i++)
            if (((unsigned char *)at)[i] != 0) {
                puts("a secret was unmapped as it is");
                break;
            }
    return (int)syscall(SYS_munmap, at, length);
}

/* True once: these bytes are a packet with a credential. */
static bool breaks_once(const void *bytes, size_t size)
{
    static const unsigned char auth[] = {0xff, 0xff, 0xff, 0xfc, 0, 0, 0, 100};
    static bool broken;
    if (broken || getenv("BROKEN_AUTH") == NULL || size < sizeof auth)
        return false;
    return broken = memcmp(bytes, auth, sizeof auth) == 0;
}

static bool breaks(const void *bytes, size_t size)
{
    const char *text = getenv("BROKEN_SEND");
    return breaks_once(bytes, size) ||
           (text != NULL && memmem(bytes, size, text, strlen(text)) != NULL);
}

__attribute__((visibility("default"))) ssize_t send(int fd, const void *bytes, size_t size,
                                                    int flags)
{
    static __thread unsigned long count;
    const char *limit = getenv("SHORT_SENDS");
    size_t most = limit != NULL ? (size_t)atol(limit) : size;
    if (breaks(bytes, size)) {
        errno = ECONNRESET;
        return -1;
    }
    if (size > most && count++ % 2 == 1) {
        count -= getenv("SHORT_STOPS") != NULL;
        errno = EAGAIN;
        return -1;
    }
    return syscall(SYS_sendto, fd, bytes, size < most ? size : most, flags, NULL, 0);
}
