/*
 * The library keeps credentials as long as its handle, to send them again. It frees them as they
 * are, and also the packets with them: when all of a packet is sent, in however many pieces, or
 * when the connection ends before. So they are overwritten here, when they are freed.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <malloc.h>
#include <string.h>

#include <zookeeper/zookeeper.jute.h>

void __real_free(void *memory);
void __wrap_free(void *memory);
void __real_deallocate_Buffer(struct buffer *buffer);
void __wrap_deallocate_Buffer(struct buffer *buffer);

/* Bytes: to overwrite all of large data would cost too much. So of a longer packet with a
   credential the rest stays. */
#define MOST 65536

/* Overwrites whatever is in the block. To look for a credential would read memory that perhaps was
   never written, which memory checkers report. Any thread: our own blocks pass through it too. */
void __wrap_free(void *memory)
{
    size_t size = memory != NULL ? malloc_usable_size(memory) : 0;
    if (size > 0)
        explicit_bzero(memory, size < MOST ? size : MOST);
    __real_free(memory);
}

void __wrap_deallocate_Buffer(struct buffer *buffer)
{
    if (buffer->buff != NULL && buffer->len > 0)
        explicit_bzero(buffer->buff, (size_t)buffer->len);
    __real_deallocate_Buffer(buffer);
}
