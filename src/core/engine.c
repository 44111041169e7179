#include "core/engine.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "core/alloc.h"
#include "core/call.h"
#include "core/session.h"
#include "core/task.h"

/*
 * One dispatch:
 * 1. Timers that are due fire: first of all the leases, so that after a pause of the process no
 *    grant is handed out that is no longer worth anything.
 * 2. Messages are taken from the inbox and given to their calls and sessions, in order.
 * 3. Tasks that were woken go on.
 *
 * What can go wrong: more arrives than `limit` allows. The rest stays here, and the descriptor is
 * made readable again so that the host comes back.
 */

#define NOTES_MAX 1000

enum zr_status zr_engine_new(struct zr_zk *zk, const struct zr_recipe *const *recipes,
                             struct zr_engine **engine)
{
    *engine = zr_alloc(sizeof(**engine));
    if (*engine == NULL) {
        zk->free(zk);
        return ZR_NO_MEMORY;
    }
    (*engine)->zk = zk;
    (*engine)->recipes = recipes;
    (*engine)->pid = getpid();
    (*engine)->random = 0x9e3779b97f4a7c15u;
    (*engine)->refs = 1;
    zr_list_init(&(*engine)->incoming);
    zr_list_init(&(*engine)->ready);
    zr_list_init(&(*engine)->reported);
    zr_list_init(&(*engine)->sessions);
    zr_list_init(&(*engine)->notes);
    return ZR_OK;
}

void zr_engine_ref(struct zr_engine *engine)
{
    engine->refs++;
}

static void destroy(struct zr_engine *engine)
{
    struct zr_note *note;
    while ((note = zr_engine_next_note(engine)) != NULL)
        zr_note_free(note);
    engine->zk->free(engine->zk);
    zr_free(engine);
}

void zr_engine_unref(struct zr_engine *engine)
{
    if (--engine->refs == 0)
        destroy(engine);
}

void zr_engine_close(struct zr_engine *engine, int64_t linger_us)
{
    struct zr_link *link, *next;
    for (link = engine->sessions.head.next; link != &engine->sessions.head; link = next) {
        next = link->next;
        zr_session_close(ZR_HOLDER(link, struct zr_session, in_engine), linger_us);
    }
}

bool zr_engine_ended(const struct zr_engine *engine)
{
    const struct zr_link *link;
    for (link = engine->sessions.head.next; link != &engine->sessions.head; link = link->next)
        if (!zr_session_ended(ZR_HOLDER(link, struct zr_session, in_engine)))
            return false;
    return true;
}

/* ---- Dispatch ------------------------------------------------------------------------------ */

static void handle_message(struct zr_engine *engine, struct zr_message *message)
{
    if (message->kind == ZR_MSG_REPLY) {
        zr_call_reply((struct zr_request *)message);
        return;
    }
    struct zr_notice *notice = (struct zr_notice *)message;
    zr_session_notice(notice->owner, notice);
    engine->zk->free_notice(engine->zk, notice);
}

static bool handle_next_message(struct zr_engine *engine)
{
    if (zr_list_empty(&engine->incoming))
        engine->zk->take(engine->zk, &engine->incoming);
    struct zr_link *link = zr_list_shift(&engine->incoming);
    if (link == NULL)
        return false;
    handle_message(engine, ZR_HOLDER(link, struct zr_message, link));
    return true;
}

static bool resume_next_task(struct zr_engine *engine)
{
    struct zr_link *link = zr_list_shift(&engine->ready);
    if (link == NULL)
        return false;
    struct zr_task *task = ZR_HOLDER(link, struct zr_task, in_ready);
    task->resume(task);
    return true;
}

int zr_engine_dispatch(struct zr_engine *engine, int limit)
{
    if (zr_engine_forked(engine))
        return 0;
    int steps = 0;
    engine->refs++;
    engine->dispatching = true;
    engine->poked = false;
    while (steps < limit && (zr_timers_fire(&engine->timers, zr_engine_now_us(engine)) ||
                             handle_next_message(engine) || resume_next_task(engine)))
        steps++;
    engine->dispatching = false;
    if (!zr_list_empty(&engine->incoming) || !zr_list_empty(&engine->ready))
        zr_engine_poke(engine);
    zr_engine_unref(engine);
    return steps;
}

void zr_engine_poke(struct zr_engine *engine)
{
    if (engine->dispatching || engine->poked)
        return;
    engine->poked = true;
    engine->zk->wake(engine->zk);
}

int64_t zr_engine_timeout_us(struct zr_engine *engine)
{
    if (!zr_list_empty(&engine->ready) || !zr_list_empty(&engine->incoming) ||
        !zr_list_empty(&engine->reported))
        return 0;
    int64_t next = zr_timers_next(&engine->timers);
    if (next == INT64_MAX)
        return -1;
    int64_t now = zr_engine_now_us(engine);
    return next > now ? next - now : 0;
}

struct zr_task *zr_engine_next_reported(struct zr_engine *engine)
{
    struct zr_link *link = zr_list_shift(&engine->reported);
    return link != NULL ? ZR_HOLDER(link, struct zr_task, in_report) : NULL;
}

/* ---- The log ------------------------------------------------------------------------------- */

struct zr_note *zr_engine_next_note(struct zr_engine *engine)
{
    struct zr_link *link = zr_list_shift(&engine->notes);
    if (link == NULL)
        return NULL;
    engine->note_count--;
    return ZR_HOLDER(link, struct zr_note, link);
}

void zr_note_free(struct zr_note *note)
{
    zr_object_unref(&note->session->object);
    zr_free(note);
}

void zr_engine_note(struct zr_session *session, char level, const char *format, ...)
{
    struct zr_engine *engine = session->engine;
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    if (length < 0 || engine->note_count >= NOTES_MAX || !session->logging)
        return;
    struct zr_note *note = zr_alloc(sizeof(*note) + sizeof(text));
    if (note == NULL)
        return;
    snprintf(note->text, sizeof(text), "%s", text);
    note->level = level;
    note->session = session;
    zr_object_ref(&session->object);
    zr_list_append(&engine->notes, &note->link);
    engine->note_count++;
}

/* ---- Time, chance, fork -------------------------------------------------------------------- */

int64_t zr_engine_now_us(const struct zr_engine *engine)
{
    return engine->zk->now_us(engine->zk);
}

uint64_t zr_engine_random(struct zr_engine *engine, uint64_t below)
{
    engine->random ^= engine->random << 13; /* xorshift64: for jitter, not for secrets */
    engine->random ^= engine->random >> 7;
    engine->random ^= engine->random << 17;
    return engine->random % below;
}

void zr_engine_seed(struct zr_engine *engine, uint64_t seed)
{
    engine->random = seed * 0x9e3779b97f4a7c15u | 1;
}

bool zr_engine_forked(const struct zr_engine *engine)
{
    return getpid() != engine->pid;
}
