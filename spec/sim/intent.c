#include "intent.h"

#include <stdarg.h>

struct zr_sim_random dice;
char top[40];

int roll(int below)
{
    return (int)zr_sim_random_below(&dice, below);
}

static const char *const tails[] = {"",     "/a",   "/b",     "/c",   "/a/x", "/a/y",
                                    "/b/x", "/b/y", "/a/x/1", "/c/q", "/d",   "/d/e"};
static const char *const odd_tails[] = {"/", "//a", "/a/", "/a/../b", "/./a", "/a..b", "/a/.b"};
#define TAILS ((int)(sizeof(tails) / sizeof(tails[0])))
#define ODD_TAILS ((int)(sizeof(odd_tails) / sizeof(odd_tails[0])))

static const char *const datas[] = {NULL, "", "x", "some more data"};

static const struct zr_acl acls[] = {
    {31, "world", "anyone"}, {31, "world", "anyone"},
    {31, "world", "anyone"}, {31, "auth", ""},
    {1, "world", "anyone"},  {31, "digest", "a:8uGjKrrh/8BsCFVdTlK6aJvyVgo="},
    {31, "digest", "a"},     {31, "world", "nobody"},
    {3, "nonsense", "x"},    {21, "auth", "ignored"},
    {16, "world", "anyone"}, {31, "ip", "127.0.0.1"},
};
#define ACLS ((int)(sizeof(acls) / sizeof(acls[0])))

static enum zr_op any_write(void)
{
    static const enum zr_op ops[] = {ZR_OP_CREATE, ZR_OP_CREATE, ZR_OP_CREATE,
                                     ZR_OP_DELETE, ZR_OP_DELETE, ZR_OP_SET};
    return ops[roll(6)];
}

enum zr_op any_op(void)
{
    static const enum zr_op ops[] = {ZR_OP_EXISTS,   ZR_OP_EXISTS,   ZR_OP_GET,     ZR_OP_GET,
                                     ZR_OP_CHILDREN, ZR_OP_CHILDREN, ZR_OP_GET_ACL, ZR_OP_SET_ACL,
                                     ZR_OP_MULTI,    ZR_OP_MULTI,    ZR_OP_SYNC};
    return roll(2) == 0 ? any_write() : ops[roll(11)];
}

static int32_t any_version(void)
{
    return roll(3) > 0 ? ZR_ANY_VERSION : roll(4);
}

static enum zr_mode any_mode(void)
{
    return roll(2) == 0 ? ZR_PERSISTENT : (enum zr_mode)roll(7);
}

struct intent any_intent(enum zr_op op)
{
    struct intent intent = {.op = op};
    intent.path = roll(40) == 0 ? TAILS + roll(ODD_TAILS) : roll(TAILS);
    intent.data = roll(4);
    intent.acl = roll(ACLS) > 2 && roll(3) > 0 ? 0 : roll(ACLS);
    intent.version = any_version();
    intent.mode = op == ZR_OP_CREATE ? any_mode() : ZR_PERSISTENT;
    intent.ttl_ms = roll(6) == 0 ? roll(3) - 1 : 1000000000;
    intent.watch = roll(3) == 0;
    return intent;
}

static struct intent any_part(void)
{
    struct intent part = any_intent(roll(6) == 0 ? ZR_OP_CHECK : any_write());
    if (part.mode >= ZR_CONTAINER && roll(10) > 0)
        part.mode = ZR_PERSISTENT;
    if (part.path >= TAILS)
        part.path = 0;
    return part;
}

struct intent any_multi(struct intent parts[MOST_PARTS])
{
    struct intent multi = {.op = ZR_OP_MULTI, .part_count = roll(MOST_PARTS + 1), .parts = parts};
    for (int i = 0; i < multi.part_count; i++)
        parts[i] = any_part();
    return multi;
}

struct ask *ask_for(const struct intent *intent)
{
    char path[128];
    const char *tail = intent->path < TAILS ? tails[intent->path] : odd_tails[intent->path - TAILS];
    snprintf(path, sizeof(path), "%s%s", top, tail);
    struct ask *ask = ask_new(intent->op, path, datas[intent->data]);
    ask->acl = acls[intent->acl];
    ask->request.version = intent->version;
    ask->request.mode = intent->mode;
    ask->request.ttl_ms = intent->ttl_ms;
    ask->request.watch = intent->watch && intent->op >= ZR_OP_EXISTS &&
                         (intent->op <= ZR_OP_GET || intent->op == ZR_OP_CHILDREN);
    if (intent->op != ZR_OP_MULTI)
        return ask;
    ask->request.part_count = (size_t)intent->part_count;
    ask->request.parts = calloc((size_t)intent->part_count + 1, sizeof(struct zr_request));
    for (int i = 0; i < intent->part_count; i++)
        ask->request.parts[i] = ask_for(&intent->parts[i])->request;
    return ask;
}

/* Also frees the asks of the parts: the path of a part is the first text in its ask. */
void forget(struct ask *ask)
{
    for (size_t i = 0; i < ask->request.part_count; i++)
        free((char *)ask->request.parts[i].path - offsetof(struct ask, path));
    free(ask->request.parts);
    ask_free(ask);
}

void add(char *line, const char *format, ...)
{
    size_t length = strlen(line);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line + length, LINE - length, format, arguments);
    va_end(arguments);
}

const char *name_of(const struct intent *intent, char *line)
{
    static const char *const ops[] = {"create",   "delete", "exists",  "get",     "set",
                                      "children", "sync",   "get_acl", "set_acl", "add_auth",
                                      "reconfig", "multi",  "check"};
    line[0] = '\0';
    add(line, "%s %s mode %d data %d acl %d version %d ttl %lld", ops[intent->op],
        intent->path < TAILS ? tails[intent->path] : odd_tails[intent->path - TAILS],
        (int)intent->mode, intent->data, intent->acl, (int)intent->version,
        (long long)intent->ttl_ms);
    for (int i = 0; i < intent->part_count; i++) {
        char part[LINE];
        add(line, "; %s", name_of(&intent->parts[i], part));
    }
    return line;
}
