/*
 * Tests the simulated world from outside: through zk.h like any client, and through sim.h. This
 * file tests the virtual clock, the sessions with their lease, and the watches. model_test.c
 * compares the world with a real server; fault_test.c tests the faults.
 */
#include "check.h"
#include "sim/process.h"

/* ---- Sessions ------------------------------------------------------------------------------ */

static void test_session(void)
{
    struct pair pair;
    setup(&pair, 3);
    CHECK(pair.a.session != 0 && (pair.a.session >> 56) != 0 && pair.a.timeout_ms == TIMEOUT_MS);
    CHECK(pair.a.session != pair.b.session && zr_sim_session_count(pair.world) == 2);
    CHECK(probe_create(&pair.a, ZR_EPHEMERAL, "/e", "x") == ZR_OK);
    CHECK(probe_create(&pair.a, ZR_PERSISTENT, "/e/f", "x") == ZR_NO_CHILDREN_FOR_EPHEMERALS);
    struct zr_stat stat;
    CHECK(zr_sim_stat(pair.world, "/e", &stat) && stat.ephemeral_owner == pair.a.session);
    CHECK(probe_close(&pair.a) && !zr_sim_session_alive(pair.world, pair.a.session));
    CHECK(!zr_sim_stat(pair.world, "/e", &stat) && zr_sim_count(pair.world, "/") == 0);
    pair.a.zk->free(pair.a.zk);
    drop(&pair.b);
    zr_sim_world_free(pair.world);
    CHECK(zr_alloc_blocks() == 0);
}

static void test_clamped_timeout(void)
{
    struct zr_sim_options options = {.seed = 1};
    struct zr_sim_world *world = zr_sim_world_new(&options);
    struct probe low, high;
    CHECK(probe_open(&low, zr_sim_zk(world), "sim:1", 1) && low.timeout_ms == 4000);
    CHECK(probe_open(&high, zr_sim_zk(world), "sim:1", 1000000) && high.timeout_ms == 40000);
    drop(&low);
    drop(&high);
    zr_sim_world_free(world);
}

/* A session without faults lives on. A session that is cut off ends after its timeout, rounded up
   to a tick. */
static void test_expiry(void)
{
    struct pair pair;
    setup(&pair, 3);
    CHECK(probe_create(&pair.a, ZR_EPHEMERAL, "/e", NULL) == ZR_OK);
    zr_sim_advance(pair.world, 100 * SECOND);
    CHECK(probe_take(&pair.a) == false && zr_sim_session_alive(pair.world, pair.a.session));
    int64_t cut_us = zr_sim_now_us(pair.world), lease_us = pair.a.zk->lease_us(pair.a.handle);
    zr_sim_partition(pair.a.zk, ZR_SIM_TO_SERVER | ZR_SIM_TO_CLIENT);
    while (zr_sim_session_alive(pair.world, pair.a.session))
        zr_sim_step(pair.world);
    int64_t over_us = zr_sim_now_us(pair.world);
    CHECK(over_us - cut_us > 7 * SECOND && over_us - cut_us < 13 * SECOND);
    CHECK(pair.a.zk->lease_us(pair.a.handle) == lease_us && lease_us < over_us);
    CHECK(probe_take(&pair.a) && pair.a.suspended == 1 && pair.a.expired == 0);
    zr_sim_partition(pair.a.zk, 0);
    CHECK(probe_wait(&pair.a, &pair.a.expired, 1, 10 * SECOND));
    CHECK(strcmp(pair.a.order, "CrSX") == 0 && zr_sim_count(pair.world, "/") == 0);
    teardown(&pair);
}

static void test_expire_from_outside(void)
{
    struct pair pair;
    setup(&pair, 3);
    CHECK(probe_create(&pair.a, ZR_EPHEMERAL, "/e", NULL) == ZR_OK);
    CHECK(probe_watch(&pair.b, ZR_OP_EXISTS, "/e") == ZR_OK);
    CHECK(zr_sim_expire(pair.world, pair.a.session) && !zr_sim_expire(pair.world, 12345));
    CHECK(probe_wait(&pair.a, &pair.a.expired, 1, SECOND));
    CHECK(probe_wait(&pair.b, &pair.b.events, 1, SECOND) && told(&pair.b, "deleted /e"));
    CHECK(probe_set(&pair.a, "/e", "x") == ZR_CONNECTION_LOSS);
    teardown(&pair);
}

static void test_renamed_session(void)
{
    struct pair pair;
    setup(&pair, 1);
    CHECK(zr_sim_rename(pair.world, pair.a.session));
    zr_sim_cut(pair.a.zk, 0, false);
    CHECK(probe_wait(&pair.a, &pair.a.expired, 1, SECOND) && pair.a.connected == 1);
    CHECK(zr_sim_session_count(pair.world) == 3);
    teardown(&pair);
}

/* The old session keeps its ephemerals until it expires. */
static void test_planned_rename(void)
{
    struct pair pair;
    struct zr_stat stat;
    setup(&pair, 3);
    CHECK(probe_create(&pair.a, ZR_EPHEMERAL, "/e", NULL) == ZR_OK);
    zr_sim_plan(pair.a.zk, &(struct zr_sim_plan){
                               .op = ZR_OP_CREATE, .nth = 1, .fault = ZR_SIM_RENAME, .us = 10000});
    CHECK(probe_create(&pair.a, ZR_EPHEMERAL, "/f", NULL) == ZR_OK);
    CHECK(probe_wait(&pair.a, &pair.a.expired, 1, SECOND) && pair.a.connected == 1);
    CHECK(zr_sim_fault_count(pair.world, ZR_SIM_RENAME) == 1);
    CHECK(zr_sim_session_alive(pair.world, pair.a.session));
    CHECK(zr_sim_stat(pair.world, "/e", &stat) && zr_sim_stat(pair.world, "/f", &stat));
    zr_sim_advance(pair.world, 30 * SECOND);
    CHECK(!zr_sim_session_alive(pair.world, pair.a.session));
    CHECK(!zr_sim_stat(pair.world, "/e", &stat) && !zr_sim_stat(pair.world, "/f", &stat));
    teardown(&pair);
}

/* ---- Silent servers ------------------------------------------------------------------------ */

/* Long before two thirds of the timeout, the client leaves a server that does not answer. */
static void test_silent_server(void)
{
    struct pair pair;
    setup(&pair, 3);
    zr_sim_pause_server(pair.world, 1, 8 * SECOND);
    zr_sim_prefer(pair.a.zk, 1);
    zr_sim_cut(pair.a.zk, 0, false);
    int64_t cut_us = zr_sim_now_us(pair.world);
    CHECK(probe_wait(&pair.a, &pair.a.connected, 2, 3 * SECOND / 2));
    CHECK(zr_sim_now_us(pair.world) - cut_us > SECOND && zr_sim_break_count(pair.world) == 2);
    teardown(&pair);
}

/* The limit is for each answer: the one to the handshake and the one that proves the connection. */
static void test_slow_server(void)
{
    struct pair pair;
    struct probe slow = {.zk = NULL};
    setup(&pair, 3);
    zr_sim_lag(pair.world, 1, 9 * SECOND / 10);
    struct zr_zk *zk = zr_sim_zk(pair.world);
    zr_sim_prefer(zk, 1);
    int64_t from_us = zr_sim_now_us(pair.world);
    CHECK(probe_open(&slow, zk, "sim:1", TIMEOUT_MS));
    CHECK(zr_sim_now_us(pair.world) - from_us > 17 * SECOND / 10);
    CHECK(zr_sim_break_count(pair.world) == 0);
    drop(&slow);
    teardown(&pair);
}

/* A client that was stopped for longer than the limit finds the answer, and stays. */
static void test_paused_in_handshake(void)
{
    struct pair pair;
    setup(&pair, 3);
    zr_sim_cut(pair.a.zk, 0, false);
    while (!probe_take(&pair.a))
        zr_sim_step(pair.world);
    zr_sim_advance(pair.world, 2000);
    CHECK(pair.a.suspended == 1 && pair.a.connected == 1);
    zr_sim_pause(pair.a.zk, 3 * SECOND);
    CHECK(probe_wait(&pair.a, &pair.a.connected, 2, 7 * SECOND / 2));
    CHECK(zr_sim_break_count(pair.world) == 1);
    teardown(&pair);
}

/* ---- The lease ----------------------------------------------------------------------------- */

/* The client sends sixteen heartbeats in a timeout. */
static void test_heartbeats(void)
{
    struct pair pair;
    setup(&pair, 3);
    zr_sim_advance(pair.world, 3 * SECOND + SECOND / 2);
    int64_t end_us = zr_sim_now_us(pair.world) + 10 * INT64_C(1000) * TIMEOUT_MS;
    int64_t sent_us = pair.a.handle->lease.sent_us;
    int sent = 0;
    while (zr_sim_now_us(pair.world) < end_us) {
        zr_sim_step(pair.world);
        sent += pair.a.handle->lease.sent_us != sent_us;
        sent_us = pair.a.handle->lease.sent_us;
    }
    CHECK(sent == 160);
    teardown(&pair);
}

/* The session never ends before the lease, whatever connection is cut and when. */
static void test_lease_is_short(void)
{
    int ended = 0;
    for (uint64_t seed = 0; seed < 1000; seed++) {
        struct zr_sim_options options = {.seed = seed};
        struct zr_sim_world *world = zr_sim_world_new(&options);
        struct probe probe;
        struct zr_zk *zk = zr_sim_zk(world);
        zr_sim_advance(world, (int64_t)(seed * 77777 % 2000000));
        CHECK(probe_open(&probe, zk, "sim:1", 4000));
        zr_sim_advance(world, (int64_t)(seed * 77777 % 9000000));
        zr_sim_isolate(world, (int)(seed % 2) + 1, true);
        zr_sim_partition(probe.zk, seed % 4);
        int64_t lease_us = 0;
        while (zr_sim_session_alive(world, probe.session) &&
               zr_sim_now_us(world) < 1000000 * SECOND + 60 * SECOND) {
            lease_us = probe.zk->lease_us(probe.handle);
            zr_sim_step(world);
        }
        bool over = !zr_sim_session_alive(world, probe.session);
        ended += over;
        CHECK(!over || lease_us < zr_sim_now_us(world));
        probe.zk->free(probe.zk);
        zr_sim_world_free(world);
    }
    CHECK(ended > 500);
}

/* A reconnect may be granted a shorter timeout than the session had. Then the lease ends earlier
   too. */
static void test_lease_moves_back(void)
{
    for (uint64_t seed = 0; seed < 200; seed++) {
        struct zr_sim_options options = {.seed = seed};
        struct zr_sim_world *world = zr_sim_world_new(&options);
        struct probe probe;
        CHECK(probe_open(&probe, zr_sim_zk(world), "sim:1", 8000));
        zr_sim_advance(world, (int64_t)(seed * 77777 % 9000000));
        zr_sim_grant(world, 2000);
        zr_sim_cut(probe.zk, 0, false);
        CHECK(probe_wait(&probe, &probe.connected, 2, SECOND));
        CHECK(probe.zk->lease_us(probe.handle) <= zr_sim_now_us(world) + 2 * SECOND);
        zr_sim_advance(world, (int64_t)(seed * 33333 % 3000000));
        zr_sim_link(probe.zk, false);
        int64_t lease_us = 0;
        while (zr_sim_session_alive(world, probe.session)) {
            lease_us = probe.zk->lease_us(probe.handle);
            zr_sim_step(world);
        }
        CHECK(lease_us < zr_sim_now_us(world));
        probe.zk->free(probe.zk);
        zr_sim_world_free(world);
    }
}

/* ---- Watches ------------------------------------------------------------------------------- */

static void test_watches(void)
{
    struct pair pair;
    setup(&pair, 3);
    CHECK(probe_watch(&pair.b, ZR_OP_EXISTS, "/w") == ZR_NO_NODE);
    CHECK(probe_watch(&pair.b, ZR_OP_GET, "/w") == ZR_NO_NODE);
    CHECK(zr_sim_watch_count(pair.world) == 1);
    CHECK(probe_create(&pair.a, ZR_PERSISTENT, "/w", "1") == ZR_OK);
    CHECK(probe_sync(&pair.b) == ZR_OK && told(&pair.b, "created /w"));
    CHECK(probe_watch(&pair.b, ZR_OP_GET, "/w") == ZR_OK);
    CHECK(probe_watch(&pair.b, ZR_OP_CHILDREN, "/w") == ZR_OK);
    CHECK(probe_set(&pair.a, "/w", "2") == ZR_OK && probe_set(&pair.a, "/w", "3") == ZR_OK);
    CHECK(probe_create(&pair.a, ZR_PERSISTENT, "/w/c", NULL) == ZR_OK);
    CHECK(probe_sync(&pair.b) == ZR_OK && pair.b.events == 3);
    CHECK(told(&pair.b, "changed /w") && told(&pair.b, "children /w"));
    CHECK(probe_watch(&pair.b, ZR_OP_GET, "/w/c") == ZR_OK);
    CHECK(probe_watch(&pair.b, ZR_OP_CHILDREN, "/w/c") == ZR_OK);
    CHECK(probe_delete(&pair.a, "/w/c") == ZR_OK && probe_sync(&pair.b) == ZR_OK);
    CHECK(pair.b.events == 4 && told(&pair.b, "deleted /w/c"));
    CHECK(zr_sim_watch_count(pair.world) == 0);
    teardown(&pair);
}

/* Changes made while the connection is down are reported as the real server reports them. */
static void test_missed_events(void)
{
    struct pair pair;
    setup(&pair, 1);
    static const char *const nodes[] = {"/data", "/gone", "/again", "/list", "/quiet"};
    for (int i = 0; i < 5; i++) {
        CHECK(probe_create(&pair.a, ZR_PERSISTENT, nodes[i], "1") == ZR_OK);
        enum zr_op op = i == 3 ? ZR_OP_CHILDREN : ZR_OP_GET;
        CHECK(probe_watch(&pair.b, op, nodes[i]) == ZR_OK);
    }
    CHECK(probe_watch(&pair.b, ZR_OP_EXISTS, "/new") == ZR_NO_NODE);
    CHECK(probe_watch(&pair.b, ZR_OP_EXISTS, "/brief") == ZR_NO_NODE);
    zr_sim_link(pair.b.zk, false);
    CHECK(probe_set(&pair.a, "/data", "2") == ZR_OK && probe_delete(&pair.a, "/gone") == ZR_OK);
    CHECK(probe_delete(&pair.a, "/again") == ZR_OK);
    CHECK(probe_create(&pair.a, ZR_PERSISTENT, "/again", "1") == ZR_OK);
    CHECK(probe_create(&pair.a, ZR_PERSISTENT, "/list/x", "1") == ZR_OK);
    CHECK(probe_create(&pair.a, ZR_PERSISTENT, "/new", "1") == ZR_OK);
    CHECK(probe_create(&pair.a, ZR_PERSISTENT, "/brief", "1") == ZR_OK);
    CHECK(probe_delete(&pair.a, "/brief") == ZR_OK);
    zr_sim_link(pair.b.zk, true);
    CHECK(probe_wait(&pair.b, &pair.b.connected, 2, SECOND) && pair.b.events == 5);
    CHECK(told(&pair.b, "changed /data") && told(&pair.b, "deleted /gone"));
    CHECK(told(&pair.b, "changed /again") && told(&pair.b, "children /list"));
    CHECK(told(&pair.b, "created /new") && zr_sim_watch_count(pair.world) == 2);
    CHECK(probe_set(&pair.a, "/quiet", "2") == ZR_OK && probe_sync(&pair.b) == ZR_OK);
    CHECK(told(&pair.b, "changed /quiet"));
    teardown(&pair);
}

/* On a lagging server an event still comes before the change that it reports can be read, and
   before the answer to a later sync. */
static void test_lagging_server(void)
{
    struct pair pair;
    setup(&pair, 2);
    CHECK(probe_create(&pair.a, ZR_PERSISTENT, "/n", "1") == ZR_OK);
    zr_sim_prefer(pair.b.zk, 1);
    zr_sim_cut(pair.b.zk, 0, false);
    CHECK(probe_wait(&pair.b, &pair.b.connected, 2, SECOND));
    zr_sim_prefer(pair.a.zk, 0);
    zr_sim_cut(pair.a.zk, 0, false);
    CHECK(probe_wait(&pair.a, &pair.a.connected, 2, SECOND));
    CHECK(probe_watch(&pair.b, ZR_OP_GET, "/n") == ZR_OK);
    zr_sim_lag(pair.world, 1, SECOND);
    CHECK(probe_delete(&pair.a, "/n") == ZR_OK);
    CHECK(probe_do(&pair.b, ask_new(ZR_OP_EXISTS, "/n", NULL)) == ZR_OK && pair.b.events == 0);
    int64_t before_us = zr_sim_now_us(pair.world);
    CHECK(probe_sync(&pair.b) == ZR_OK && zr_sim_now_us(pair.world) - before_us > SECOND / 2);
    CHECK(told(&pair.b, "deleted /n"));
    CHECK(probe_do(&pair.b, ask_new(ZR_OP_EXISTS, "/n", NULL)) == ZR_NO_NODE);
    teardown(&pair);
}

/* A session never goes back in time: a server that lags behind it is refused. */
static void test_no_way_back(void)
{
    struct pair pair;
    setup(&pair, 2);
    zr_sim_prefer(pair.a.zk, 0);
    zr_sim_cut(pair.a.zk, 0, false);
    CHECK(probe_wait(&pair.a, &pair.a.connected, 2, SECOND));
    zr_sim_lag(pair.world, 1, 3 * SECOND);
    CHECK(probe_create(&pair.a, ZR_PERSISTENT, "/seen", NULL) == ZR_OK);
    zr_sim_prefer(pair.a.zk, 1);
    zr_sim_cut(pair.a.zk, 0, false);
    CHECK(probe_wait(&pair.a, &pair.a.connected, 3, SECOND));
    CHECK(probe_do(&pair.a, ask_new(ZR_OP_EXISTS, "/seen", NULL)) == ZR_OK);
    teardown(&pair);
}

static const struct test tests[] = {
    {"session", test_session},
    {"clamped timeout", test_clamped_timeout},
    {"expiry", test_expiry},
    {"expire from outside", test_expire_from_outside},
    {"renamed session", test_renamed_session},
    {"planned rename", test_planned_rename},
    {"silent server", test_silent_server},
    {"slow server", test_slow_server},
    {"paused in handshake", test_paused_in_handshake},
    {"heartbeats", test_heartbeats},
    {"the lease is short", test_lease_is_short},
    {"the lease moves back", test_lease_moves_back},
    {"watches", test_watches},
    {"missed events", test_missed_events},
    {"lagging server", test_lagging_server},
    {"no way back", test_no_way_back},
};

int main(int argc, char **argv)
{
    return run_tests(tests, sizeof(tests) / sizeof(tests[0]), argc > 1 ? argv[1] : NULL);
}
