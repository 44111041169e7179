#ifndef ZR_SESSION_PARTS_H
#define ZR_SESSION_PARTS_H

/*
 * session_parts.h: what the files share that a session consists of: session.c has its life,
 * session_state.c its states, session_handle.c its handles. No other file includes it, except
 * session_open.c. Thread: the host's.
 */

#include "core/session.h"

/* The only function that changes the state. borrows: why, for the log; null: the states say it.
   False: the state may not follow the present one, and nothing happened. */
bool zr_session_move_to(struct zr_session *session, enum zr_state state, const char *why);

/* Remembers what went wrong with the connection last, for messages. borrows: text; null: nothing.
 */
void zr_session_set_trouble(struct zr_session *session, const char *text);

/* A notice is being handled: all that came before it is handled. */
void zr_session_note_proof(struct zr_session *session, const struct zr_notice *notice);

/* Opens the handle of the present generation. If that fails, it tries again later. */
void zr_session_open_handle(struct zr_session *session);

/* Opens it after a pause. The pause doubles each time until there is a connection; the first is
   none. */
void zr_session_reopen(struct zr_session *session);

/* Gives up the present handle, which tries for linger_us to end the session on the server. Nothing
   if there is none. */
void zr_session_close_handle(struct zr_session *session, int64_t linger_us);

/* All handles that were given up linger no longer than this. */
void zr_session_hurry(struct zr_session *session, int64_t linger_us);

/* The handle has ended. takes: generation. */
void zr_session_handle_ended(struct zr_generation *generation);

#endif
