#include "core/budget.h"

/* The user is warned at the first of these, and again only after the use has been below the
   second. */
#define WARN_PERCENT 80
#define CALM_PERCENT 70

static bool reaches(const struct zr_budget *budget, size_t percent)
{
    return budget->used >= budget->limit / 100 * percent;
}

bool zr_budget_take(struct zr_budget *budget, struct zr_session *session, size_t amount,
                    size_t most)
{
    if (budget->used + amount > most)
        return false;
    budget->used += amount;
    if (!budget->warned && reaches(budget, WARN_PERCENT)) {
        budget->warned = true;
        zr_engine_note(session, 'W', "session %016llx: %zu of %zu bytes are in use for %s",
                       (unsigned long long)session->id, budget->used, budget->limit, budget->what);
    }
    return true;
}

void zr_budget_give(struct zr_budget *budget, size_t amount)
{
    budget->used -= amount;
    if (!reaches(budget, CALM_PERCENT))
        budget->warned = false;
}
