#include "shrink.h"

#include <stddef.h>
#include <time.h>

#include "shape_text.h"

#define MOST_RUNS 5000
#define MOST_SECONDS 20
#define MOST_SEEDS 1000

static struct {
    const struct recipe *recipe;
    const char *kind; /* the violation that is searched for */
    struct shape best;
    size_t lines;   /* of the best shape's trace */
    uint64_t seeds; /* further seeds to try for each shape */
    int runs;
    time_t until;
} search;

static size_t count_lines(const char *text)
{
    size_t lines = 0;
    for (; (text = strchr(text, '\n')) != NULL; text++)
        lines++;
    return lines;
}

/* The lines of the trace; 0: the history violates no rule, or another one. */
static size_t traced_lines(const struct shape *shape)
{
    char *text = NULL;
    size_t size, lines = 0;
    FILE *trace = open_memstream(&text, &size);
    bool right = run_history(search.recipe, shape, trace);
    search.runs++;
    fclose(trace);
    if (!right && now.kind == search.kind)
        lines = count_lines(text);
    free(text);
    return lines;
}

static bool may_go_on(void)
{
    return search.runs < MOST_RUNS && time(NULL) < search.until;
}

/* If the trace has at most so many lines, makes the shape the best one and returns true. */
static bool consider(const struct shape *shape, size_t most)
{
    size_t lines = may_go_on() ? traced_lines(shape) : 0;
    if (lines == 0 || lines > most)
        return false;
    search.best = *shape;
    search.lines = lines;
    return true;
}

/* Tries a smaller shape with its own seed, then with other seeds. */
static bool consider_less(const struct shape *shape)
{
    struct shape other = *shape;
    bool helped = consider(shape, search.lines);
    for (other.seed = 1; other.seed <= search.seeds && !helped; other.seed++)
        helped = consider(&other, search.lines - 1);
    return helped;
}

/* Tries smaller values of one field: the least, half, one less. */
static bool shrink_field(const struct field *field)
{
    int64_t value = get_field(&search.best, field);
    int64_t least = field->at < offsetof(struct shape, tick_ms) ? 1 : 0;
    const int64_t less[] = {least, value / 2, value - 1};
    bool helped = false;
    for (int i = 0; i < (value < 20 ? 3 : 2) && value > least && !helped; i++) {
        struct shape shape = search.best;
        set_field(&shape, field, less[i] > least ? less[i] : least);
        helped = consider_less(&shape);
    }
    return helped;
}

static bool without_plan(int index)
{
    struct shape shape = search.best;
    shape.plans[index].nth = NO_REQUEST;
    if (index == shape.plan_count - 1)
        shape.plan_count--;
    return search.best.plans[index].nth < NO_REQUEST && consider_less(&shape);
}

static bool may_shrink(const struct field *field)
{
    static const char *const fixed[] = {
        "seed",    "tick_ms",  "timeout_ms", "patient",  "scripted", "script0", "script1",
        "script2", "stop_how", "apart_us",   "delay_us", "pause_us", "down_us", "random_lag_us"};
    for (size_t i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++)
        if (strcmp(field->name, fixed[i]) == 0)
            return false;
    return true;
}

static void shrink_shape(void)
{
    bool helped = true;
    while (helped && may_go_on()) {
        helped = false;
        for (const struct field *field = fields; field->name != NULL; field++)
            while (may_shrink(field) && shrink_field(field))
                helped = true;
        for (int i = search.best.plan_count - 1; i >= 0; i--)
            helped = without_plan(i) || helped;
    }
}

static void shrink_seed(void)
{
    struct shape shape = search.best;
    for (shape.seed = 1; shape.seed <= search.seeds; shape.seed++) {
        struct shape other = search.best;
        other.seed = shape.seed;
        consider(&other, search.lines - 1);
    }
}

struct shape shrink(const struct recipe *recipe, const struct shape *shape)
{
    search.recipe = recipe;
    search.kind = now.kind;
    search.best = *shape;
    search.runs = 0;
    search.until = time(NULL) + MOST_SECONDS;
    size_t before = search.lines = traced_lines(shape);
    for (search.seeds = 1; search.seeds <= MOST_SEEDS && may_go_on(); search.seeds *= 10) {
        shrink_shape();
        shrink_seed();
    }
    printf("shrunk in %d runs, from %zu lines to %zu:\n", search.runs, before, search.lines);
    return search.best;
}
