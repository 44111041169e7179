#include <stdio.h>

#include "core/session_parts.h"

/* The states of a session, and the only place where the state changes. */

/* Which state may follow which. */
static const bool legal[][5] = {
    [ZR_CONNECTING] = {false, true, false, true, true},
    [ZR_CONNECTED] = {false, false, true, true, true},
    [ZR_SUSPENDED] = {false, true, false, true, true},
    [ZR_STATE_LOST] = {true, false, false, false, true},
    [ZR_STATE_CLOSED] = {false, false, false, false, false},
};

const char *zr_state_word(enum zr_state state)
{
    static const char *const words[] = {"connecting", "connected", "suspended", "lost", "closed"};
    return words[state];
}

bool zr_session_move_to(struct zr_session *session, enum zr_state state, const char *why)
{
    if (!legal[session->state][state])
        return false;
    char id[20] = "(new)";
    if (session->id != 0)
        snprintf(id, sizeof(id), "%016llx", (unsigned long long)session->id);
    zr_engine_note(session, state == ZR_STATE_LOST ? 'W' : 'I', "session %s: %s > %s%s%s", id,
                   zr_state_word(session->state), zr_state_word(state), why != NULL ? ": " : "",
                   why != NULL ? why : "");
    session->state = state;
    session->states[session->state_count++ % ZR_STATES_KEPT] = state;
    session->above->changed(session);
    return true;
}
