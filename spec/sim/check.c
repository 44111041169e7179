#include "check.h"

static int passed, failed;
static const char *test_name;

void check(bool condition, const char *text, int line)
{
    if (condition) {
        passed++;
        return;
    }
    failed++;
    printf("%s, line %d: %s\n", test_name, line, text);
}

void setup(struct pair *pair, int servers)
{
    struct zr_sim_options options = {
        .seed = 7, .servers = servers, .trace = getenv("TRACE") != NULL ? stderr : NULL};
    pair->world = zr_sim_world_new(&options);
    CHECK(probe_open(&pair->a, zr_sim_zk(pair->world), "sim:1", TIMEOUT_MS));
    CHECK(probe_open(&pair->b, zr_sim_zk(pair->world), "sim:1", TIMEOUT_MS));
}

void drop(struct probe *probe)
{
    probe_take(probe);
    if (!probe->ended)
        CHECK(probe_close(probe));
    else
        probe->zk->free_handle(probe->handle);
    probe->zk->free(probe->zk);
}

void teardown(struct pair *pair)
{
    drop(&pair->a);
    drop(&pair->b);
    zr_sim_world_free(pair->world);
    CHECK(zr_alloc_blocks() == 0);
}

bool told(struct probe *probe, const char *event)
{
    probe_take(probe);
    for (int i = 0; i < probe->events; i++)
        if (strcmp(probe->event[i], event) == 0)
            return true;
    return false;
}

int run_tests(const struct test *tests, size_t count, const char *only)
{
    for (size_t i = 0; i < count; i++) {
        test_name = tests[i].name;
        if (only == NULL || strcmp(only, test_name) == 0)
            tests[i].run();
    }
    printf("%d passed, %d failed\n", passed, failed);
    return failed > 0;
}
