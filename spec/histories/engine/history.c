#include "history.h"

#include <stdarg.h>

struct history now;

void say(const char *format, ...)
{
    va_list arguments;
    if (now.trace == NULL)
        return;
    int64_t us = clock_us() - now.begin_us;
    fprintf(now.trace, "%6lld.%06d  * ", (long long)(us / SECOND), (int)(us % SECOND));
    va_start(arguments, format);
    vfprintf(now.trace, format, arguments);
    va_end(arguments);
    fputc('\n', now.trace);
}

void wrong(const char *format, ...)
{
    va_list arguments;
    if (now.wrong[0] != '\0')
        return;
    now.kind = format;
    va_start(arguments, format);
    vsnprintf(now.wrong, sizeof(now.wrong), format, arguments);
    va_end(arguments);
    say("VIOLATED: %s", now.wrong);
}

bool ran_out(int failures)
{
    return now.failures > failures || zr_alloc_failed();
}

/* ---- Methods, by their description --------------------------------------------------------- */

struct result result;

static void sink_nothing(struct zr_sink *to, const char *key)
{
    (void)to, (void)key;
}

static void sink_boolean(struct zr_sink *to, const char *key, bool value)
{
    (void)to, (void)key;
    result.boolean = value;
}

static void sink_id(struct zr_sink *to, const char *key, int64_t value)
{
    (void)to, (void)key;
    result.id = value;
}

static void sink_integer(struct zr_sink *to, const char *key, int64_t value)
{
    (void)to, (void)key, (void)value;
}

static void sink_bytes(struct zr_sink *to, const char *key, struct zr_bytes value)
{
    (void)to, (void)key, (void)value;
}

static void sink_object(struct zr_sink *to, const char *key, struct zr_object *value)
{
    (void)to, (void)key;
    result.object = zr_object_ref(value);
}

struct zr_sink sink = {
    .nothing = sink_nothing,
    .boolean = sink_boolean,
    .integer = sink_integer,
    .bytes = sink_bytes,
    .id = sink_id,
    .object = sink_object,
    .begin = sink_nothing,
};

/* What was found last: most calls ask the same of the same class. */
const struct zr_method *method(const struct zr_object *object, const char *name)
{
    static const struct zr_class *class;
    static const char *last;
    static const struct zr_method *found;
    if (object->class == class && name == last)
        return found;
    class = object->class;
    last = name;
    for (found = class->methods; strcmp(found->name, name) != 0; found++)
        continue;
    return found;
}

enum zr_status make_object(struct process *process, const char *name, const char *path,
                           const void *options)
{
    struct zr_args args = {.options = options};
    int i = 0;
    while (strcmp(zr_recipes[i]->name, name) != 0)
        i++;
    args.at[0].given = true;
    args.at[0].bytes = (struct zr_bytes){path, strlen(path)};
    return zr_recipes[i]->make(process->session, &args, &process->object);
}

enum zr_status start(struct zr_object *object, const char *name, struct zr_args *args,
                     struct zr_task **task)
{
    static const struct zr_request_options patient = {.timeout_us = -1};
    *task = NULL;
    if (args->options == NULL)
        args->options = &patient;
    return method(object, name)->start(object, args, task);
}

bool call(struct zr_object *object, const char *name)
{
    struct zr_args none = {0};
    method(object, name)->call(object, &none, &sink);
    return result.boolean;
}

int64_t token_of(const struct zr_hold *hold)
{
    const struct zr_property *property = hold->object.class->properties;
    while (strcmp(property->name, "token") != 0)
        property++;
    property->get((struct zr_object *)&hold->object, &sink);
    return result.id;
}

void let_go(struct zr_object *object)
{
    if (object->class->forget != NULL)
        object->class->forget(object);
    zr_object_unref(object);
}
