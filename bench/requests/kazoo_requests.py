"""kazoo as a contestant of make bench-requests: python3 kazoo_requests.py HOSTS PATH JOB N; see bench/README.md.

What HOSTS passes is counted. The client of $DIRECT prepares, and makes the changes that are to be seen.
"""
import logging
import os
import sys
import threading
import time

from kazoo.client import KazooClient
from kazoo.recipe.cache import TreeCache, TreeEvent

logging.disable(logging.CRITICAL)
hosts, path, job, count = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
LIMIT = 120  # seconds
DATA = b"x" * 100


def connect(to):
    made = KazooClient(hosts=to, timeout=60)
    made.start()
    return made


client, direct = connect(hosts), connect(os.environ["DIRECT"])


def eventually(condition):
    deadline = time.monotonic() + LIMIT
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.002)


def plant(children):
    direct.create(path, b"")
    for i in range(1, children + 1):
        direct.create("%s/%d" % (path, i), DATA)


# ---- Copies ----

def tree_of(children):
    plant(children)
    tree, ready = TreeCache(client, path), threading.Event()
    tree.listen(lambda event: ready.set() if event.event_type == TreeEvent.INITIALIZED else None)
    tree.start()
    assert ready.wait(LIMIT)
    assert len(tree.get_children(path)) == children
    return tree


def data_of(tree, name):
    data = tree.get_data(path + "/" + name)
    return data and data.data


def load():
    tree_of(count)


def change():
    tree = tree_of(10)
    for i in range(count):
        direct.set(path + "/1", b"%d" % i)
        eventually(lambda: data_of(tree, "1") == b"%d" % i)


def add():
    tree = tree_of(100)
    for i in range(count):
        direct.create("%s/new-%d" % (path, i), DATA)
        eventually(lambda: data_of(tree, "new-%d" % i) == DATA)


def value():
    direct.create(path, b"0")
    seen = []
    client.DataWatch(path, lambda data, stat: seen.append(data))
    for i in range(1, count + 1):
        direct.set(path, b"%d" % i)
        eventually(lambda: seen[-1] == b"%d" % i)


# ---- Counters ----

def add_one():
    counter = client.Counter(path)
    for _ in range(count):
        counter += 1


def count_after():
    counter, theirs = client.Counter(path), direct.Counter(path)
    for _ in range(count):
        theirs += 1
        counter += 1


# ---- Members ----

def others():
    for i in range(10):
        direct.Party(path, "other-%d" % i).join()


# list(party) would list the znodes once more, for the length.
def names(party):
    return [name for name in party]


def member():
    others()
    for _ in range(count):
        party = client.Party(path, "me")
        party.join()
        assert len(names(party)) == 11
        party.leave()


def who():
    others()
    party = client.Party(path, "me")
    for _ in range(count):
        assert len(names(party)) == 10


# ---- Partitions ----

# Runs it in a thread, as a program would; returns it.
def partitioner_of(its, name):
    one = its.SetPartitioner(path, ["part-%d" % i for i in range(count)], identifier=name, time_boundary=0.2)

    def work():
        while not one.failed:
            if one.release:
                one.release_set()
            elif one.allocating:
                one.wait_for_acquire(LIMIT)
            time.sleep(0.002)

    threading.Thread(target=work, daemon=True).start()
    return one


def mine(one):
    return len(list(one)) if one.acquired else 0


def gets_all(one):
    eventually(lambda: mine(one) == count)
    return one


# The directories of the parts are there already, as they are in the long run.
def parts():
    gets_all(partitioner_of(direct, "a")).finish()
    gets_all(partitioner_of(client, "b"))


def parts_half():
    global count
    first = gets_all(partitioner_of(direct, "a"))
    second = partitioner_of(client, "b")
    eventually(lambda: mine(second) == count // 2 and mine(first) == count // 2)
    count //= 2


jobs = dict(load=load, change=change, add=add, value=value, count=add_one, count_after=count_after, member=member, who=who,
            parts=parts, parts_half=parts_half)
jobs[job]()
print('{"ops":%d}' % count, flush=True)
os._exit(0)
