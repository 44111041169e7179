/*
 * The library keeps credentials as long as its handle, to send them again, and it frees them as
 * they are. So they are overwritten here: what it has sent, and what it frees.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "zk/wipe.h"

#include <string.h>

#include <zookeeper/zookeeper.jute.h>

void __real_deallocate_Buffer(struct buffer *buffer);
void __wrap_deallocate_Buffer(struct buffer *buffer);

/* xid -4, and the operation that only it has. */
static const unsigned char auth_header[] = {0xff, 0xff, 0xff, 0xfc, 0, 0, 0, 100};

void zr_wipe_sent(const void *bytes, size_t sent)
{
    if (sent >= sizeof auth_header && memcmp(bytes, auth_header, sizeof auth_header) == 0)
        explicit_bzero((void *)bytes, sent);
}

void __wrap_deallocate_Buffer(struct buffer *buffer)
{
    if (buffer->buff != NULL && buffer->len > 0)
        explicit_bzero(buffer->buff, (size_t)buffer->len);
    __real_deallocate_Buffer(buffer);
}
