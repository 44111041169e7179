#include "tally.h"

#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include "shape_text.h"
#include "shrink.h"

int passed, failed;
bool tracing, first_only;

static struct {
    int64_t histories, grants, lost, timeouts, cancels, failures, meddled, overtaken, requests,
        breaks;
    int64_t faults[ZR_SIM_FAULTS];
} tally;

/* ---- Crashes and endless histories --------------------------------------------------------- */

#define LIMIT_S 5 /* CPU time for one history */

/* The history, or the check. */
static struct {
    const char *name; /* null: made from the shape, which takes longer than some histories */
    const struct recipe *recipe;
    const struct shape *shape;
} running;

static const char *name_of_running(void)
{
    static char name[2100];
    if (running.name != NULL)
        return running.name;
    snprintf(name, sizeof(name), "--recipe %s --shape %s", running.recipe->name,
             shape_text(running.shape));
    return name;
}

static void tell_first(const char *what)
{
    char line[400];
    int length = snprintf(line, sizeof(line), "after %d histories: %s: %s\n", passed + 1,
                          name_of_running(), what);
    _exit(write(STDOUT_FILENO, line, (size_t)length) == length ? 1 : 2);
}

/* Limits the CPU time from now on; 0: no limit. */
static void limit_time(int seconds)
{
    setitimer(ITIMER_VIRTUAL, &(struct itimerval){.it_value.tv_sec = seconds}, NULL);
}

static void never_ended(int number)
{
    tell_first(number == SIGVTALRM ? "does not come back" : "crashes");
}

void expect_crashes(void)
{
    static const int numbers[] = {SIGVTALRM, SIGABRT, SIGSEGV, SIGBUS, SIGFPE};
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        signal(numbers[i], never_ended);
}

/* ---- The sums ------------------------------------------------------------------------------ */

void begin_tally(void)
{
    memset(&tally, 0, sizeof(tally));
}

static void count_history(void)
{
    tally.histories++;
    tally.grants += now.grants;
    tally.lost += now.lost;
    tally.timeouts += now.timeouts;
    tally.cancels += now.cancels;
    tally.failures += now.failures;
    tally.meddled += now.meddled;
    tally.overtaken += now.overtaken;
    tally.requests += now.requests;
    tally.breaks += now.breaks;
    for (int i = 0; i < ZR_SIM_FAULTS; i++)
        tally.faults[i] += now.faults[i];
}

void tell_tally(const struct recipe *recipe)
{
    printf("%s: %lld histories, %lld grants, %lld losses, %lld time limits, %lld cancellations, "
           "%lld allocations failed\n",
           recipe->name, (long long)tally.histories, (long long)tally.grants, (long long)tally.lost,
           (long long)tally.timeouts, (long long)tally.cancels, (long long)tally.failures);
    printf("%s: %lld requests, %lld connections broke, %lld strange hands, %lld overtaken",
           recipe->name, (long long)tally.requests, (long long)tally.breaks,
           (long long)tally.meddled, (long long)tally.overtaken);
    for (int i = 0; i < ZR_SIM_FAULTS; i++)
        printf(", %lld %s", (long long)tally.faults[i], fault_names[i]);
    printf("\n");
}

/* ---- One history --------------------------------------------------------------------------- */

/* After a failed history: finds a shorter one, and prints how to repeat it and its trace. */
static void tell_short(const struct recipe *recipe, const struct shape *shape)
{
    limit_time(0);
    struct shape found = shrink(recipe, shape);
    tell_shape(&found, stdout);
    printf("  make histories RECIPE=%s SHAPE=%s\n", recipe->name, shape_text(&found));
    run_history(recipe, &found, stdout);
}

void try_history(const struct recipe *recipe, const struct shape *shape, const char *name)
{
    running.name = name;
    running.recipe = recipe;
    running.shape = shape;
    limit_time(tracing ? 0 : LIMIT_S);
    bool right = run_history(recipe, shape, tracing ? stdout : NULL);
    passed += right;
    failed += !right;
    count_history();
    if (right)
        return;
    if (first_only)
        tell_first(now.wrong);
    printf("%s: %s\n", name_of_running(), now.wrong);
    if (!tracing && failed <= 1)
        tell_short(recipe, shape);
    fflush(stdout);
}

/* ---- A check that is no history -------------------------------------------------------------- */

void begin_check(const char *name)
{
    running.name = name;
}

void end_check(bool right)
{
    passed += right;
    failed += !right;
    if (!right && first_only)
        tell_first(now.wrong);
    if (!right)
        printf("%s: %s\n", running.name, now.wrong);
}
