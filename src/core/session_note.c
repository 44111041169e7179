#include <stdarg.h>
#include <stdio.h>

#include "core/alloc.h"
#include "core/session.h"

/* The lines that sessions write to the log, in the order in which things happened. */

#define NOTES_MAX 1000

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
