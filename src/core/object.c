#include "core/object.h"

#include <string.h>

void zr_emit_string(struct zr_sink *sink, const char *key, const char *value)
{
    sink->bytes(sink, key, (struct zr_bytes){value, strlen(value)});
}

void zr_emit_true(struct zr_task *task, struct zr_sink *sink)
{
    (void)task;
    sink->boolean(sink, NULL, true);
}

void zr_emit_stat(struct zr_sink *sink, const char *key, const struct zr_stat *stat)
{
    sink->begin(sink, key);
    sink->id(sink, "czxid", stat->czxid);
    sink->id(sink, "mzxid", stat->mzxid);
    sink->id(sink, "pzxid", stat->pzxid);
    sink->integer(sink, "ctime", stat->ctime_ms);
    sink->integer(sink, "mtime", stat->mtime_ms);
    sink->integer(sink, "version", stat->version);
    sink->integer(sink, "cversion", stat->cversion);
    sink->integer(sink, "aversion", stat->aversion);
    if (stat->ephemeral_owner != 0)
        sink->id(sink, "ephemeral_owner", stat->ephemeral_owner);
    sink->integer(sink, "data_length", stat->data_length);
    sink->integer(sink, "num_children", stat->child_count);
    sink->end(sink);
}
