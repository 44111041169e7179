/*
 * The simulated ZooKeeper against a real one: the same random requests go to both, and every
 * answer, stat, name and event must be the same. Both implement zk.h, so one driver serves both.
 *
 * Values that always differ are normalized: zxids are counted from a first znode that both sides
 * create, and must then be equal; session ids become the number of the client; lists are sorted.
 * One of the clients connects through a relay that sometimes breaks the connection, so the events
 * that a reconnect reports are compared too.
 *
 * usage: model_test HOST:PORT [SEED [STEPS]]; the server must know TTLs (extendedTypesEnabled) and
 * must not reap containers meanwhile.
 */

#include "intent.h"
#include "probe.h"
#include "relay.h"
#include "sim/sim.h"
#include "zk/host_side.h"

#define CLIENTS 3
#define RELAYED 2 /* the client behind the relay */
#define TIMEOUT_MS 10000
#define MOST_ASKS 8

static int passed, failed, step;

/* ---- The two sides ------------------------------------------------------------------------- */

struct side {
    const char *name;
    const char *hosts[CLIENTS];
    struct zr_zk *zk[CLIENTS];
    struct probe clients[CLIENTS];
    int64_t base; /* zxid of the first znode */
};

static struct side real = {.name = "real"}, sim = {.name = "sim"};
static struct zr_sim_world *world;
static struct relay relay;

static void open_client(struct side *side, int i)
{
    if (!probe_open(&side->clients[i], side->zk[i], side->hosts[i], TIMEOUT_MS)) {
        printf("%s: no connection to %s\n", side->name, side->hosts[i]);
        exit(2);
    }
}

static int64_t create_first(struct side *side, const char *path)
{
    struct ask *ask = ask_new(ZR_OP_CREATE, path, "");
    probe_submit(&side->clients[0], ask);
    if (probe_answer(&side->clients[0], ask) != ZR_OK)
        exit(2);
    int64_t zxid = ask->request.stat.czxid;
    ask_free(ask);
    return zxid;
}

/* Two levels, so that even the counter of the parent of `top` begins at 0 on both sides. */
static void create_top(struct side *side)
{
    char parent[sizeof(top)];
    snprintf(parent, sizeof(parent), "%.*s", (int)(strlen(top) - 2), top);
    side->base = create_first(side, parent);
    create_first(side, top);
}

static void setup(const char *hosts, uint64_t seed)
{
    struct zr_sim_options options = {.seed = seed, .servers = 1, .reap_ms = INT32_MAX};
    snprintf(top, sizeof(top), "/model-%lld-%d/t", (long long)seed, (int)getpid());
    dice.state = seed;
    relay_start(&relay, hosts);
    world = zr_sim_world_new(&options);
    for (int i = 0; i < CLIENTS; i++) {
        real.hosts[i] = i == RELAYED ? relay.hosts : hosts;
        sim.hosts[i] = "sim:1";
        sim.zk[i] = zr_sim_zk(world);
        if (zr_zk_client_new(&real.zk[i]) != ZR_OK)
            exit(2);
    }
    for (int i = 0; i < CLIENTS; i++) {
        open_client(&real, i);
        open_client(&sim, i);
    }
    create_top(&real);
    create_top(&sim);
}

/* ---- What came back, in words -------------------------------------------------------------- */

static long long since(const struct side *side, int64_t zxid)
{
    return zxid != 0 ? (long long)(zxid - side->base) : 0;
}

static int owner_of(const struct side *side, int64_t session)
{
    for (int i = 0; i < CLIENTS; i++)
        if (side->clients[i].session == session)
            return i + 1;
    return session != 0 ? -1 : 0;
}

static void add_stat(char *line, const struct side *side, const struct zr_stat *stat)
{
    if (stat->czxid == 0)
        return;
    add(line, " c%lld m%lld p%lld v%d cv%d av%d len%d n%d owner%d%s", since(side, stat->czxid),
        since(side, stat->mzxid), since(side, stat->pzxid), stat->version, stat->cversion,
        stat->aversion, stat->data_length, stat->child_count, owner_of(side, stat->ephemeral_owner),
        stat->mtime_ms >= stat->ctime_ms && stat->ctime_ms > 0 ? "" : " times!");
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void add_names(char *line, struct zr_names *names)
{
    qsort(names->at, names->count, sizeof(names->at[0]), by_text);
    add(line, " [");
    for (size_t i = 0; i < names->count; i++)
        add(line, "%s ", names->at[i]);
    add(line, "]");
}

static int by_entry(const void *a, const void *b)
{
    const struct zr_acl *one = a, *other = b;
    int order = strcmp(one->id, other->id);
    return order != 0 ? order : one->perms - other->perms;
}

static void add_acl(char *line, struct zr_acl_reply *acl)
{
    qsort(acl->at, acl->count, sizeof(acl->at[0]), by_entry);
    for (size_t i = 0; i < acl->count; i++)
        add(line, " %d:%s:%s", (int)acl->at[i].perms, acl->at[i].scheme, acl->at[i].id);
}

static void describe(char *line, const struct side *side, const struct zr_request *request)
{
    add(line, "%s%s", zr_status_word(request->status), request->sent ? "" : " unsent");
    if (request->status == ZR_OK)
        add_stat(line, side, &request->stat);
    if (request->op == ZR_OP_CREATE && request->status == ZR_OK)
        add(line, " %s", request->created);
    if (request->op == ZR_OP_GET && request->status == ZR_OK)
        add(line, " %s", request->data_reply.at != NULL ? request->data_reply.at : "(null)");
    if (request->names != NULL)
        add_names(line, request->names);
    if (request->acl_reply != NULL)
        add_acl(line, request->acl_reply);
    for (size_t i = 0; i < request->part_count && request->sent; i++) {
        add(line, " | ");
        describe(line, side, &request->parts[i]);
    }
}

static void compare(const char *what, const char *a, const char *b)
{
    if (strcmp(a, b) == 0) {
        passed++;
        return;
    }
    failed++;
    printf("step %d, %s:\n  real %s\n  sim  %s\n", step, what, a, b);
}

/* ---- Steps --------------------------------------------------------------------------------- */

static bool is_down;

/* Compares the events that a client was told. The answer to a read comes after all earlier events.
 */
static void compare_events(int i, bool sorted)
{
    struct side *sides[] = {&real, &sim};
    char lines[2][LINE] = {"", ""};
    for (int k = 0; k < 2; k++) {
        struct probe *probe = &sides[k]->clients[i];
        char *events[PROBE_EVENTS];
        probe_do(probe, ask_new(ZR_OP_EXISTS, top, NULL));
        for (int n = 0; n < probe->events; n++)
            events[n] = probe->event[n];
        if (sorted)
            qsort(events, (size_t)probe->events, sizeof(events[0]), by_text);
        for (int n = 0; n < probe->events; n++)
            add(lines[k], "%s, ", events[n]);
        probe->events = 0;
    }
    char what[40];
    snprintf(what, sizeof(what), "events of client %d", i);
    compare(what, lines[0], lines[1]);
}

static void compare_all_events(bool sorted)
{
    for (int i = 0; i < CLIENTS; i++)
        if (i != RELAYED || !is_down)
            compare_events(i, sorted);
}

/* Several requests of one client, without waiting in between. */
static void ask_both(int client, const struct intent *intents, int count)
{
    struct ask *asks[2][MOST_ASKS];
    struct side *sides[] = {&real, &sim};
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < count; i++) {
            asks[k][i] = ask_for(&intents[i]);
            probe_submit(&sides[k]->clients[client], asks[k][i]);
        }
    for (int i = 0; i < count; i++) {
        char lines[2][LINE] = {"", ""}, name[LINE];
        for (int k = 0; k < 2; k++) {
            probe_answer(&sides[k]->clients[client], asks[k][i]);
            describe(lines[k], sides[k], &asks[k][i]->request);
        }
        compare(name_of(&intents[i], name), lines[0], lines[1]);
    }
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < count; i++)
            forget(asks[k][i]);
    compare_all_events(false);
}

static int any_client(void)
{
    return roll(is_down ? RELAYED : CLIENTS);
}

/* The real leader checks requests by the old ACL until the new one is committed, however long that
   takes; so no request follows a set_acl at once. */
static void ask_some(void)
{
    struct intent intents[MOST_ASKS], parts[MOST_ASKS][MOST_PARTS];
    int count = roll(4) > 0 ? 1 : 1 + roll(MOST_ASKS);
    for (int i = 0; i < count; i++) {
        enum zr_op op = any_op();
        intents[i] = op == ZR_OP_MULTI ? any_multi(parts[i]) : any_intent(op);
        if (op == ZR_OP_SET_ACL)
            count = i + 1;
    }
    ask_both(any_client(), intents, count);
}

static void authenticate(void)
{
    static const char *const credentials[] = {"a:1", "b:2", "c", "d:e:f"};
    const char *credential = credentials[roll(4)];
    int client = any_client();
    enum zr_status a =
        probe_do(&real.clients[client], ask_new(ZR_OP_ADD_AUTH, "digest", credential));
    enum zr_status b =
        probe_do(&sim.clients[client], ask_new(ZR_OP_ADD_AUTH, "digest", credential));
    compare("add_auth", zr_status_word(a), zr_status_word(b));
}

/* The session ends, and all its ephemerals; then a new one begins. */
static void renew(void)
{
    int client = roll(RELAYED);
    probe_close(&real.clients[client]);
    probe_close(&sim.clients[client]);
    open_client(&real, client);
    open_client(&sim, client);
    compare_all_events(true);
}

static void reconfigure(void)
{
    enum zr_status a = probe_do(&real.clients[0], ask_new(ZR_OP_RECONFIG, "", NULL));
    enum zr_status b = probe_do(&sim.clients[0], ask_new(ZR_OP_RECONFIG, "", NULL));
    compare("reconfig", zr_status_word(a), zr_status_word(b));
}

static void go_down(void)
{
    relay_turn(&relay, 1);
    zr_sim_link(sim.zk[RELAYED], false);
    struct probe *a = &real.clients[RELAYED], *b = &sim.clients[RELAYED];
    bool heard =
        probe_wait(a, &a->suspended, 1, 5000000) && probe_wait(b, &b->suspended, 1, 5000000);
    compare("suspended", "yes", heard ? "yes" : "no");
    a->connected = b->connected = a->suspended = b->suspended = 0;
    is_down = true;
}

static void come_up(void)
{
    relay_turn(&relay, 0);
    zr_sim_link(sim.zk[RELAYED], true);
    struct probe *a = &real.clients[RELAYED], *b = &sim.clients[RELAYED];
    bool back =
        probe_wait(a, &a->connected, 1, 5000000) && probe_wait(b, &b->connected, 1, 5000000);
    compare("connected", "yes", back ? "yes" : "no");
    is_down = false;
    compare_all_events(true);
}

static void take_step(void)
{
    int what = roll(200);
    if (what < 2)
        renew();
    else if (what < 5)
        authenticate();
    else if (what < 6)
        reconfigure();
    else if (what < 12 && !is_down)
        go_down();
    else if (what < 30 && is_down)
        come_up();
    else
        ask_some();
}

static void teardown(void)
{
    if (is_down)
        come_up();
    for (int i = 0; i < CLIENTS; i++) {
        probe_close(&real.clients[i]);
        probe_close(&sim.clients[i]);
        real.zk[i]->free(real.zk[i]);
        sim.zk[i]->free(sim.zk[i]);
    }
    zr_sim_world_free(world);
    relay_stop(&relay);
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        fputs("usage: model_test HOST:PORT [SEED [STEPS]]\n", stderr);
        return 2;
    }
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    int steps = argc > 3 ? atoi(argv[3]) : 4000;
    setup(argv[1], seed);
    for (step = 0; step < steps && failed < 10; step++)
        take_step();
    teardown();
    printf("%d passed, %d failed\n", passed, failed);
    return failed > 0;
}
