#include "shape_text.h"

#include <stddef.h>

/* ---- As text ------------------------------------------------------------------------------- */

#define FIELD(name, field)                                                                         \
    {                                                                                              \
        name, offsetof(struct shape, field), sizeof(((struct shape *)0)->field)                    \
    }

const struct field fields[] = {
    FIELD("seed", seed),
    FIELD("servers", servers),
    FIELD("processes", processes),
    FIELD("contenders", contenders),
    FIELD("attempts", attempts),
    FIELD("tick_ms", tick_ms),
    FIELD("timeout_ms", timeout_ms),
    FIELD("faults_us", faults_us),
    FIELD("apart_us", apart_us),
    FIELD("lag_us", lag_us),
    FIELD("alloc_failures", alloc_failures),
    FIELD("alloc_at", alloc_at),
    FIELD("stop_at", stop_at),
    FIELD("stop_how", stop_how),
    FIELD("stops", stops),
    FIELD("chaos", chaos),
    FIELD("kills", kills),
    FIELD("closes", closes),
    FIELD("patient", patient),
    FIELD("slow_hosts", slow_hosts),
    FIELD("scripted", scripted),
    FIELD("script0", script[0]),
    FIELD("script1", script[1]),
    FIELD("script2", script[2]),
    FIELD("lose_request", faults.lose_request),
    FIELD("lose_reply", faults.lose_reply),
    FIELD("late_request", faults.late_request),
    FIELD("delay", faults.delay),
    FIELD("cut", faults.cut),
    FIELD("expire", faults.expire),
    FIELD("pause", faults.pause),
    FIELD("lag", faults.lag),
    FIELD("rename", faults.rename),
    FIELD("delay_us", faults.delay_us),
    FIELD("down_us", faults.down_us),
    FIELD("pause_us", faults.pause_us),
    FIELD("random_lag_us", faults.lag_us),
    {NULL, 0, 0},
};

int64_t get_field(const struct shape *shape, const struct field *field)
{
    const char *at = (const char *)shape + field->at;
    int64_t wide = 0;
    int32_t narrow = 0;
    memcpy(field->size == 8 ? (void *)&wide : (void *)&narrow, at, field->size);
    return field->size == 8 ? wide : narrow;
}

void set_field(struct shape *shape, const struct field *field, int64_t value)
{
    char *at = (char *)shape + field->at;
    int32_t narrow = (int32_t)value;
    memcpy(at, field->size == 8 ? (void *)&value : (void *)&narrow, field->size);
}

const char *shape_text(const struct shape *shape)
{
    static char text[2000];
    int length = 0;
    for (const struct field *field = fields; field->name != NULL; field++)
        if (get_field(shape, field) != 0)
            length += snprintf(text + length, sizeof(text) - (size_t)length, "%s=%lld,",
                               field->name, (long long)get_field(shape, field));
    for (int i = 0; i < shape->plan_count; i++) {
        const struct zr_sim_plan *plan = &shape->plans[i];
        length += snprintf(text + length, sizeof(text) - (size_t)length, "plan=%d/%d/%d/%lld/%lld,",
                           plan->op, plan->nth, (int)plan->fault, (long long)plan->us,
                           (long long)plan->down_us);
    }
    text[length - 1] = '\0';
    return text;
}

static bool read_plan(struct shape *shape, const char *text)
{
    int op, nth, fault;
    long long us, down_us;
    if (shape->plan_count == MOST_PLANS ||
        sscanf(text, "%d/%d/%d/%lld/%lld", &op, &nth, &fault, &us, &down_us) != 5)
        return false;
    shape->plans[shape->plan_count++] =
        (struct zr_sim_plan){op, nth, (enum zr_sim_fault)fault, us, 0, down_us};
    return true;
}

static bool read_field(struct shape *shape, const char *name, const char *value)
{
    for (const struct field *field = fields; field->name != NULL; field++)
        if (strcmp(field->name, name) == 0) {
            set_field(shape, field, (int64_t)strtoull(value, NULL, 10));
            return true;
        }
    return strcmp(name, "plan") == 0 && read_plan(shape, value);
}

bool read_shape(const char *text, struct shape *shape)
{
    char name[20], value[80];
    int length;
    *shape = (struct shape){0};
    for (; *text != '\0'; text += length + (text[length] == ',')) {
        if (sscanf(text, "%19[^=]=%79[^,]%n", name, value, &length) != 2 ||
            !read_field(shape, name, value))
            return false;
    }
    return shape->processes > 0 && shape->servers > 0;
}

/* ---- In words -------------------------------------------------------------------------------- */

const char *const fault_names[] = {"lose_request", "lose_reply", "late_request", "delay",
                                   "cut",          "expire",     "pause",        "rename"};

void tell_shape(const struct shape *shape, FILE *to)
{
    fprintf(to, "  %d processes with %d contenders each, %d attempts each; %d servers\n",
            shape->processes, shape->contenders, shape->attempts, shape->servers);
    fprintf(to, "  session timeout %d ms, faults for %lld us:", (int)shape->timeout_ms,
            (long long)shape->faults_us);
    fprintf(to, "%s%s%s%s%s", shape->chaos ? " chaos" : "", shape->kills ? " kills" : "",
            shape->closes ? " closes" : "", shape->alloc_failures > 0 ? " memory" : "",
            shape->slow_hosts ? " slow hosts" : "");
    for (const struct field *field = fields; field->name != NULL; field++) {
        size_t first = offsetof(struct shape, faults);
        bool is_fault = field->at >= first && field->at < first + sizeof(shape->faults);
        if (is_fault && field->size == 4 && get_field(shape, field) > 0)
            fprintf(to, " %s", field->name);
    }
    for (int i = 0; i < shape->plan_count; i++)
        if (shape->plans[i].nth < NO_REQUEST)
            fprintf(to, "; %s at request %d of process %d", fault_names[shape->plans[i].fault],
                    shape->plans[i].nth, i % shape->processes);
    fputc('\n', to);
}
