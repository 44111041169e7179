/*
 * Tests the faults of the simulated world, and cases that are hard to produce on a real server:
 * lost and late requests, stopped processes, counters at their end, hours of virtual time,
 * exhausted memory. Also tests that the same seed always gives the same history.
 */
#include "check.h"

/* ---- Faults -------------------------------------------------------------------------------- */

static void plan(struct probe *probe, int op, enum zr_sim_fault fault, int64_t us)
{
    struct zr_sim_plan one = {.op = op, .nth = 1, .fault = fault, .us = us};
    zr_sim_plan(probe->zk, &one);
}

static void test_lost_request_and_reply(void)
{
    struct pair pair;
    struct zr_stat stat;
    setup(&pair, 3);
    plan(&pair.a, ZR_OP_CREATE, ZR_SIM_LOSE_REQUEST, 0);
    CHECK(probe_create(&pair.a, ZR_PERSISTENT, "/never", NULL) == ZR_CONNECTION_LOSS);
    CHECK(!zr_sim_stat(pair.world, "/never", &stat) && pair.a.suspended == 1);
    CHECK(probe_wait(&pair.a, &pair.a.connected, 2, SECOND));
    plan(&pair.a, ZR_SIM_ANY_OP, ZR_SIM_LOSE_REPLY, 0);
    struct ask *ask = ask_new(ZR_OP_CREATE, "/done", "x");
    probe_submit(&pair.a, ask);
    CHECK(probe_answer(&pair.a, ask) == ZR_CONNECTION_LOSS && ask->request.sent);
    CHECK(zr_sim_stat(pair.world, "/done", &stat) && zr_sim_plans_left(pair.a.zk) == 0);
    CHECK(probe_set(&pair.a, "/done", "y") == ZR_CONNECTION_LOSS);
    CHECK(probe_wait(&pair.a, &pair.a.connected, 3, SECOND) && pair.a.expired == 0);
    ask_free(ask);
    teardown(&pair);
}

/* A request that outlives its connection is done, unless the session has a new one by then. */
static void test_late_request(void)
{
    struct pair pair;
    struct zr_stat stat;
    setup(&pair, 2);
    struct zr_sim_plan late = {.op = ZR_OP_CREATE,
                               .nth = 1,
                               .fault = ZR_SIM_LATE_REQUEST,
                               .us = SECOND / 2,
                               .down_us = SECOND};
    zr_sim_plan(pair.a.zk, &late);
    CHECK(probe_create(&pair.a, ZR_PERSISTENT, "/late", NULL) == ZR_CONNECTION_LOSS);
    CHECK(!zr_sim_stat(pair.world, "/late", &stat));
    CHECK(probe_wait(&pair.a, &pair.a.connected, 2, 5 * SECOND));
    CHECK(zr_sim_stat(pair.world, "/late", &stat));
    plan(&pair.a, ZR_OP_CREATE, ZR_SIM_LATE_REQUEST, SECOND);
    CHECK(probe_create(&pair.a, ZR_PERSISTENT, "/too_late", NULL) == ZR_CONNECTION_LOSS);
    CHECK(probe_wait(&pair.a, &pair.a.connected, 3, 5 * SECOND));
    zr_sim_advance(pair.world, 5 * SECOND);
    CHECK(!zr_sim_stat(pair.world, "/too_late", &stat));
    teardown(&pair);
}

/* Requests keep their order, whatever delays one of them; a request behind a lost one is lost. */
static void test_order(void)
{
    struct pair pair;
    setup(&pair, 3);
    struct ask *asks[20];
    plan(&pair.a, ZR_OP_SET, ZR_SIM_DELAY, SECOND);
    CHECK(probe_create(&pair.a, ZR_PERSISTENT, "/o", "") == ZR_OK);
    for (int i = 0; i < 20; i++) {
        asks[i] = ask_new(i % 2 == 0 ? ZR_OP_SET : ZR_OP_GET, "/o", "x");
        probe_submit(&pair.a, asks[i]);
    }
    for (int i = 0; i < 20; i++) {
        CHECK(!asks[i]->back || i > 0);
        CHECK(probe_answer(&pair.a, asks[i]) == ZR_OK);
        CHECK(asks[i]->request.stat.version == i / 2 + 1);
        ask_free(asks[i]);
    }
    teardown(&pair);
}

static void test_pause(void)
{
    struct pair pair;
    setup(&pair, 3);
    CHECK(probe_create(&pair.a, ZR_EPHEMERAL, "/e", NULL) == ZR_OK);
    int64_t lease_us = pair.a.zk->lease_us(pair.a.handle);
    zr_sim_pause(pair.a.zk, 3 * SECOND);
    CHECK(zr_sim_paused(pair.a.zk) && !zr_sim_ready(pair.a.zk));
    CHECK(probe_sync(&pair.a) == ZR_OK && !zr_sim_paused(pair.a.zk) && pair.a.suspended == 0);
    zr_sim_pause(pair.a.zk, 30 * SECOND);
    lease_us = pair.a.zk->lease_us(pair.a.handle);
    zr_sim_advance(pair.world, 29 * SECOND);
    CHECK(pair.a.zk->lease_us(pair.a.handle) == lease_us);
    CHECK(!zr_sim_session_alive(pair.world, pair.a.session) && !zr_sim_ready(pair.a.zk));
    CHECK(probe_wait(&pair.a, &pair.a.expired, 1, 10 * SECOND));
    CHECK(strcmp(pair.a.order, "CrrSX") == 0);
    teardown(&pair);
}

/* ---- Numbers, containers, credentials ------------------------------------------------------ */

static enum zr_status sequential(struct probe *probe, const char *path, char name[160])
{
    struct ask *ask = ask_new(ZR_OP_CREATE, path, NULL);
    ask->request.mode = ZR_PERSISTENT_SEQUENTIAL;
    probe_submit(probe, ask);
    enum zr_status status = probe_answer(probe, ask);
    snprintf(name, 160, "%s", ask->created);
    ask_free(ask);
    return status;
}

/* The counter stops at its end, but two creates at once exceed it for a moment. */
static void test_counter(void)
{
    struct pair pair;
    char name[160];
    setup(&pair, 3);
    CHECK(probe_create(&pair.a, ZR_PERSISTENT, "/q", NULL) == ZR_OK);
    CHECK(sequential(&pair.a, "/q/n", name) == ZR_OK && strcmp(name, "/q/n0000000000") == 0);
    CHECK(probe_delete(&pair.a, name) == ZR_OK);
    CHECK(sequential(&pair.a, "/q/n", name) == ZR_OK && strcmp(name, "/q/n0000000001") == 0);
    CHECK(zr_sim_set_counter(pair.world, "/q", INT32_MAX - 1));
    CHECK(sequential(&pair.a, "/q/n", name) == ZR_OK && strcmp(name, "/q/n2147483646") == 0);
    CHECK(sequential(&pair.a, "/q/n", name) == ZR_OK && strcmp(name, "/q/n2147483647") == 0);
    CHECK(sequential(&pair.a, "/q/n", name) == ZR_NODE_EXISTS);
    CHECK(sequential(&pair.a, "/q/m", name) == ZR_OK && strcmp(name, "/q/m2147483647") == 0);
    struct ask *asks[2];
    for (int i = 0; i < 2; i++) {
        asks[i] = ask_new(ZR_OP_CREATE, "/q/p", NULL);
        asks[i]->request.mode = ZR_PERSISTENT_SEQUENTIAL;
        probe_submit(&pair.a, asks[i]);
    }
    CHECK(probe_answer(&pair.a, asks[1]) == ZR_OK);
    CHECK(strcmp(asks[0]->created, "/q/p2147483647") == 0);
    CHECK(strcmp(asks[1]->created, "/q/p-2147483648") == 0);
    ask_free(asks[0]);
    ask_free(asks[1]);
    teardown(&pair);
}

static void test_containers(void)
{
    struct pair pair;
    struct zr_stat stat;
    setup(&pair, 3);
    CHECK(probe_create(&pair.a, ZR_CONTAINER, "/used", NULL) == ZR_OK);
    CHECK(probe_create(&pair.a, ZR_CONTAINER, "/unused", NULL) == ZR_OK);
    CHECK(probe_create(&pair.a, ZR_EPHEMERAL, "/used/e", NULL) == ZR_OK);
    struct ask *ask = ask_new(ZR_OP_CREATE, "/brief", NULL);
    ask->request.mode = ZR_PERSISTENT_TTL;
    ask->request.ttl_ms = 70000;
    CHECK(probe_do(&pair.a, ask) == ZR_OK);
    zr_sim_advance(pair.world, 61 * SECOND);
    CHECK(zr_sim_stat(pair.world, "/used", &stat) && stat.ephemeral_owner == 0);
    CHECK(probe_delete(&pair.a, "/used/e") == ZR_OK && zr_sim_stat(pair.world, "/brief", &stat));
    zr_sim_advance(pair.world, 60 * SECOND);
    CHECK(!zr_sim_stat(pair.world, "/used", &stat) && zr_sim_stat(pair.world, "/unused", &stat));
    CHECK(!zr_sim_stat(pair.world, "/brief", &stat));
    teardown(&pair);
}

static enum zr_status add_auth(struct probe *probe, const char *scheme, const char *credential)
{
    return probe_do(probe, ask_new(ZR_OP_ADD_AUTH, scheme, credential));
}

static void test_credentials(void)
{
    struct pair pair;
    setup(&pair, 3);
    struct ask *ask = ask_new(ZR_OP_CREATE, "/mine", "x");
    ask->acl = (struct zr_acl){31, "auth", ""};
    CHECK(probe_do(&pair.a, ask) == ZR_INVALID_ACL);
    CHECK(add_auth(&pair.a, "digest", "user:secret") == ZR_OK);
    ask = ask_new(ZR_OP_CREATE, "/mine", "x");
    ask->acl = (struct zr_acl){31, "auth", ""};
    CHECK(probe_do(&pair.a, ask) == ZR_OK);
    CHECK(probe_watch(&pair.b, ZR_OP_GET, "/mine") == ZR_NO_AUTH);
    CHECK(probe_set(&pair.b, "/mine", "y") == ZR_NO_AUTH);
    CHECK(probe_create(&pair.b, ZR_PERSISTENT, "/mine/c", "y") == ZR_NO_AUTH);
    zr_sim_cut(pair.a.zk, 0, false);
    CHECK(probe_wait(&pair.a, &pair.a.connected, 2, SECOND));
    CHECK(probe_set(&pair.a, "/mine", "y") == ZR_OK);
    CHECK(add_auth(&pair.b, "nonsense", "x") == ZR_AUTH_FAILED && pair.b.refused == 1);
    teardown(&pair);
}

/* ---- The whole ----------------------------------------------------------------------------- */

/* A checksum of everything visible in a history with all faults. */
static uint64_t history(uint64_t seed)
{
    struct zr_sim_options options = {.seed = seed};
    struct zr_sim_faults faults = {.lose_request = 20000,
                                   .lose_reply = 20000,
                                   .late_request = 20000,
                                   .delay = 50000,
                                   .cut = 20000,
                                   .expire = 5000,
                                   .pause = 10000,
                                   .lag = 50000,
                                   .rename = 2000,
                                   .delay_us = SECOND,
                                   .down_us = 6 * SECOND,
                                   .pause_us = 12 * SECOND,
                                   .lag_us = SECOND};
    struct zr_sim_world *world = zr_sim_world_new(&options);
    struct probe probe;
    uint64_t sum = 0;
    CHECK(probe_open(&probe, zr_sim_zk(world), "sim:1", 4000));
    zr_sim_set_faults(world, &faults);
    for (int i = 0; i < 200 && !probe.expired; i++) {
        char name[160];
        sum = sum * 31 + sequential(&probe, "/n", name);
        sum = sum * 31 + (uint64_t)zr_sim_now_us(world);
        if (i % 10 == 0)
            probe_wait(&probe, &probe.expired, 1, SECOND);
    }
    zr_sim_set_faults(world, NULL);
    sum = sum * 31 + zr_sim_count(world, "/") + (uint64_t)zr_sim_zxid(world);
    drop(&probe);
    zr_sim_world_free(world);
    CHECK(zr_alloc_blocks() == 0);
    return sum;
}

static void test_repetition(void)
{
    int differing = 0;
    for (uint64_t seed = 1; seed <= 50; seed++) {
        uint64_t sum = history(seed);
        CHECK(sum == history(seed));
        differing += sum != history(seed + 1000);
    }
    CHECK(differing == 50);
}

/* Fails every allocation in turn: no message that must be reported is lost. */
static void test_no_memory(void)
{
    for (int64_t n = 1; n < 60; n++) {
        struct zr_sim_options options = {.seed = (uint64_t)n};
        struct zr_sim_world *world = zr_sim_world_new(&options);
        struct zr_zk *zk = zr_sim_zk(world);
        struct probe probe;
        zr_alloc_fail(n);
        bool opened = probe_open(&probe, zk, "sim:1", 4000);
        if (!opened)
            opened = probe_open(&probe, zk, "sim:1", 4000);
        CHECK(opened);
        enum zr_status status = probe_create(&probe, ZR_PERSISTENT, "/m", "x");
        CHECK(status == ZR_OK || status == ZR_NO_MEMORY);
        if (status == ZR_OK) {
            status = probe_watch(&probe, ZR_OP_GET, "/m");
            CHECK(status == ZR_OK || status == ZR_NO_MEMORY);
            CHECK(probe_set(&probe, "/m", "y") == ZR_OK);
            CHECK(probe_wait(&probe, &probe.events, 1, SECOND));
        }
        zr_sim_cut(zk, 0, false);
        CHECK(probe_wait(&probe, &probe.connected, 2, SECOND) && probe.suspended == 1);
        zr_sim_expire(world, probe.session);
        CHECK(probe_wait(&probe, &probe.expired, 1, SECOND));
        zr_alloc_fail(0);
        drop(&probe);
        zr_sim_world_free(world);
        CHECK(zr_alloc_blocks() == 0);
    }
}

static const struct test tests[] = {
    {"lost request and reply", test_lost_request_and_reply},
    {"late request", test_late_request},
    {"order", test_order},
    {"pause", test_pause},
    {"counter", test_counter},
    {"containers", test_containers},
    {"credentials", test_credentials},
    {"repetition", test_repetition},
    {"no memory", test_no_memory},
};

int main(int argc, char **argv)
{
    return run_tests(tests, sizeof(tests) / sizeof(tests[0]), argc > 1 ? argv[1] : NULL);
}
