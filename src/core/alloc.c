#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "core/alloc.h"

#include <malloc.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static atomic_int_fast64_t blocks, bytes;
static atomic_int_fast64_t fail_in; /* counts down to the allocation that fails; 0: none */
static atomic_bool failed;

/* One step of the countdown. Only the step from 1 to 0 fails, so only one thread sees the
   failure. */
static bool must_fail(void)
{
    int_fast64_t left = atomic_load(&fail_in);
    while (left > 0)
        if (atomic_compare_exchange_weak(&fail_in, &left, left - 1)) {
            if (left == 1)
                atomic_store(&failed, true);
            return left == 1;
        }
    return false;
}

/* glibc's calloc does without the thread's cache of blocks, so it costs more than malloc. */
void *zr_alloc(size_t size)
{
    void *memory = must_fail() ? NULL : malloc(size);
    if (memory == NULL)
        return NULL;
    atomic_fetch_add(&blocks, 1);
    atomic_fetch_add(&bytes, (int_fast64_t)malloc_usable_size(memory));
    return memset(memory, 0, size);
}

bool zr_alloc_possible(size_t size)
{
    void *volatile memory =
        must_fail() ? NULL : malloc(size); /* or the compiler would leave it out */
    bool possible = memory != NULL;
    free(memory);
    return possible;
}

void zr_free(void *memory)
{
    if (memory == NULL)
        return;
    atomic_fetch_sub(&blocks, 1);
    atomic_fetch_sub(&bytes, (int_fast64_t)malloc_usable_size(memory));
    free(memory);
}

char *zr_copy(const void *from, size_t length)
{
    char *copy = zr_alloc(length + 1);
    if (copy != NULL && length > 0)
        memcpy(copy, from, length);
    return copy;
}

char *zr_copy_string(const char *from)
{
    return zr_copy(from, strlen(from));
}

/* ---- Secrets ------------------------------------------------------------------------------- */

/* At the beginning of the pages. */
struct secret {
    _Alignas(16) size_t size; /* of all, with this */
};

/* The kernel rounds sizes up to whole pages. */
void *zr_secret_alloc(size_t size)
{
    size += sizeof(struct secret);
    void *pages =
        must_fail() ? MAP_FAILED
                    : mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED)
        return NULL;
    madvise(pages, size, MADV_DONTDUMP);
    mlock(pages, size);
    struct secret *secret = pages;
    secret->size = size;
    atomic_fetch_add(&blocks, 1);
    atomic_fetch_add(&bytes, (int_fast64_t)size);
    return secret + 1;
}

char *zr_secret_copy_string(const char *from)
{
    size_t size = strlen(from) + 1;
    char *copy = zr_secret_alloc(size);
    return copy != NULL ? memcpy(copy, from, size) : NULL;
}

void zr_secret_free(void *memory)
{
    if (memory == NULL)
        return;
    struct secret *secret = (struct secret *)memory - 1;
    size_t size = secret->size;
    atomic_fetch_sub(&blocks, 1);
    atomic_fetch_sub(&bytes, (int_fast64_t)size);
    explicit_bzero(secret, size);
    munmap(secret, size);
}

/* ---- For specs ------------------------------------------------------------------------------ */

void zr_alloc_fail(int64_t n)
{
    atomic_store(&failed, false);
    atomic_store(&fail_in, n);
}

bool zr_alloc_failed(void)
{
    return atomic_load(&failed);
}

int64_t zr_alloc_blocks(void)
{
    return atomic_load(&blocks);
}

int64_t zr_alloc_bytes(void)
{
    return atomic_load(&bytes);
}
