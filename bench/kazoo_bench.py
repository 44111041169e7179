"""kazoo as a contestant: python3 bench/kazoo_bench.py HOSTS PATH SCENARIO ARGUMENTS; see bench/README.md."""
import logging
import os
import sys
import threading
import time

from kazoo.client import KazooClient

logging.disable(logging.CRITICAL)
hosts, path, scenario = sys.argv[1:4]
numbers = [int(word) for word in sys.argv[4:]]
clock = time.process_time
WARM_UP = 100  # operations


def connect(timeout=10):
    client = KazooClient(hosts=hosts, timeout=timeout)
    client.start()
    return client


client = connect(2 if scenario == "candidate" else 10)


def report(ops, seconds, cpu, more=""):
    print('{"ops":%d,"seconds":%.6f,"cpu":%.6f%s}' % (ops, seconds, cpu, more), flush=True)


def measure(ops, fn):
    since, spent = time.monotonic(), clock()
    fn()
    report(ops, time.monotonic() - since, clock() - spent)


def together(count, fn):
    threads = [threading.Thread(target=fn, args=(i,), daemon=True) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def queued(count):
    while not client.exists(path) or len(client.get_children(path)) < count:
        time.sleep(0.005)
    time.sleep(0.2)


def turns_of(lock, turns):
    for _ in range(turns):
        lock.acquire()
        lock.release()


def crowd(count, turns, turns_at):
    together(count, lambda i: turns_at(i, 2))
    measure(count * turns, lambda: together(count, lambda i: turns_at(i, turns)))


def free(turns):
    lock = client.Lock(path)
    turns_of(lock, WARM_UP)
    measure(turns, lambda: turns_of(lock, turns))


def at_once(count, turns):
    locks = [client.Lock("%s/%d" % (path, i)) for i in range(count)]
    crowd(count, turns, lambda i, n: turns_of(locks[i], n))


def loop(count, turns):
    locks = [client.Lock(path) for _ in range(count)]
    crowd(count, turns, lambda i, n: turns_of(locks[i], n))


# The clients take turns to give the waiters.
def drain(clients, waiters):
    blocker, grants = client.Lock(path), []
    blocker.acquire()

    def wait(i):
        lock = clients[i % len(clients)].Lock(path)
        lock.acquire()
        grants.append(time.monotonic())
        lock.release()

    threads = [threading.Thread(target=wait, args=(i,), daemon=True) for i in range(waiters)]
    for thread in threads:
        thread.start()
    queued(waiters + 1)
    spent = clock()
    blocker.release()
    for thread in threads:
        thread.join()
    return grants[-1] - grants[0], clock() - spent


def handoff(waiters, rounds, clients=None):
    clients = clients or [client]
    drain(clients, waiters)
    both = [drain(clients, waiters) for _ in range(rounds)]
    report((waiters - 1) * rounds, sum(took for took, _ in both), sum(spent for _, spent in both))


def across(waiters, rounds):
    handoff(waiters, rounds, [connect(60) for _ in range(waiters)])


def contend(first, last):
    lock, count, spent = client.Lock(path), 0, None
    while time.time() < last:
        turns_of(lock, 1)
        if spent is None and time.time() >= first:
            spent, count = clock(), 0
        count += 1
    report(count, last - first, clock() - spent)
    os._exit(0)


def attempt(turns):
    connect().Lock(path).acquire()
    lock = client.Lock(path)

    def tries(count):
        for _ in range(count):
            lock.acquire(blocking=False)

    tries(WARM_UP)
    measure(turns, lambda: tries(turns))
    os._exit(0)


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096


def memory(waiters):
    blocker = client.Lock(path)
    blocker.acquire()
    before = resident()
    for _ in range(waiters):
        threading.Thread(target=client.Lock(path).acquire, daemon=True).start()
    queued(waiters + 1)
    time.sleep(1)
    report(waiters, 0, 0, ',"rss":%d' % ((resident() - before) // waiters))
    os._exit(0)


def start():
    client.Lock(path).acquire()
    report(1, 0, 0)


# An election is a lock whose holder leads.
def handover(turns):
    locks = [client.Lock(path), connect().Lock(path)]
    locks[0].acquire()
    took = []
    for i in range(-10, turns):
        led = []

        def campaign():
            locks[(i + 1) % 2].acquire()
            led.append(time.monotonic())

        thread = threading.Thread(target=campaign)
        thread.start()
        queued(2)
        since = time.monotonic()
        locks[i % 2].release()
        thread.join()
        if i >= 0:
            took.append(led[0] - since)
    report(turns, turns * sorted(took)[(turns - 1) // 2], 0)


def candidate():
    if client.exists(path) and client.get_children(path):
        def say():
            queued(2)
            print("stands", flush=True)

        threading.Thread(target=say, daemon=True).start()

    def lead():
        print("leads %d" % client._session_timeout, flush=True)
        time.sleep(1e6)

    client.Election(path).run(lead)


def semaphore(count, turns, leases):
    semaphores = [client.Semaphore(path, leases) for _ in range(count)]
    crowd(count, turns, lambda i, n: turns_of(semaphores[i], n))


def read_mostly(count, turns):
    def turns_at(i, n):
        reader, writer = client.ReadLock(path), client.WriteLock(path)
        for turn in range(n):
            turns_of(writer if (i + turn) % 10 == 0 else reader, 1)

    crowd(count, turns, turns_at)


ITEM = b"x" * 100


# Queue for put and take, LockingQueue for claim and ack. An object has its own listing, or claim, so each thread has one.
def fill(queue, entries, prefix, items):
    missing = items - len(queue)
    while missing > 0:
        with client.transaction() as transaction:
            for _ in range(min(missing, 500)):
                transaction.create(entries + "/" + prefix, ITEM, sequence=True)
        missing -= 500


def share(queues, total, work):
    left = iter(range(total))  # next() on it is atomic
    together(len(queues), lambda i: [work(queues[i]) for _ in left])


def queueing(operations, items, count, queues, entries, prefix, work):
    fill(queues[0], entries, prefix, items)
    share(queues, 2 * count, work)
    measure(operations, lambda: share(queues, operations, work))


def put(operations, items, count):
    queueing(operations, items, count, [client.Queue(path) for _ in range(count)], path, "entry-100-", lambda queue: queue.put(ITEM))


def take(operations, items, count):
    queueing(operations, items, count, [client.Queue(path) for _ in range(count)], path, "entry-100-", lambda queue: queue.get())


LIST = 100


# The operations are items.
def put_all(operations, items, count):
    queue = client.LockingQueue(path + "-claims")

    def put(total):
        for _ in range(total // LIST):
            queue.put_all([ITEM] * LIST)

    put(LIST)
    measure(operations, lambda: put(operations))


def claim(operations, items, count):
    queues = [client.LockingQueue(path + "-claims") for _ in range(count)]

    def work(queue):
        queue.get()
        queue.consume()

    queueing(operations, items, count, queues, path + "-claims/entries", "entry-100-", work)


scenarios = dict(free=free, at_once=at_once, loop=loop, handoff=handoff, across=across, contend=contend, memory=memory, start=start,
                 handover=handover, candidate=candidate, semaphore=semaphore, read_mostly=read_mostly,
                 put=put, put_all=put_all, take=take, claim=claim)
scenarios["try"] = attempt
scenarios[scenario](*numbers)
client.stop()
