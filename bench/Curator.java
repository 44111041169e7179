// Curator as a contestant: java Curator HOSTS PATH SCENARIO ARGUMENTS; see bench/README.md.
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.leader.LeaderLatch;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreV2;
import org.apache.curator.framework.recipes.locks.Lease;
import org.apache.curator.framework.recipes.queue.DistributedQueue;
import org.apache.curator.framework.recipes.queue.QueueBuilder;
import org.apache.curator.framework.recipes.queue.QueueConsumer;
import org.apache.curator.framework.recipes.queue.QueueSerializer;
import org.apache.curator.framework.recipes.queue.SimpleDistributedQueue;
import org.apache.curator.framework.state.ConnectionState;
import org.apache.curator.retry.ExponentialBackoffRetry;
import org.apache.zookeeper.CreateMode;

public final class Curator {
    interface Work { void run(int i) throws Exception; }

    static final int WARM_UP = 3000; // operations to warm the compiler up
    static String hosts, path;
    static CuratorFramework client;

    static CuratorFramework connect(int timeout) throws Exception {
        CuratorFramework made = CuratorFrameworkFactory.newClient(hosts, timeout, 5000, new ExponentialBackoffRetry(1000, 3));
        made.start();
        made.blockUntilConnected();
        return made;
    }

    static long cpu() {
        return ((com.sun.management.OperatingSystemMXBean) java.lang.management.ManagementFactory.getOperatingSystemMXBean())
            .getProcessCpuTime();
    }

    static void report(long ops, double seconds, double cpu, String more) {
        System.out.println(String.format(java.util.Locale.ROOT, "{\"ops\":%d,\"seconds\":%.6f,\"cpu\":%.6f%s}", ops, seconds, cpu, more));
    }

    static void measure(long ops, Work work) throws Exception {
        long from = System.nanoTime(), spent = cpu();
        work.run(0);
        long to = System.nanoTime();
        report(ops, (to - from) / 1e9, (cpu() - spent) / 1e9, "");
    }

    static Thread[] begin(int count, Work work) {
        Thread[] threads = new Thread[count];
        for (int i = 0; i < count; i++) {
            int number = i;
            threads[i] = new Thread(null, () -> {
                try {
                    work.run(number);
                } catch (Exception problem) {
                    problem.printStackTrace();
                    System.exit(1);
                }
            }, "contender", 256 * 1024);
            threads[i].setDaemon(true);
            threads[i].start();
        }
        return threads;
    }

    static void together(int count, Work work) throws Exception {
        for (Thread thread : begin(count, work)) thread.join();
    }

    static void queued(int count) throws Exception {
        while (client.checkExists().forPath(path) == null || client.getChildren().forPath(path).size() < count) Thread.sleep(5);
        Thread.sleep(200);
    }

    static void turns(InterProcessMutex lock, int turns) throws Exception {
        for (int i = 0; i < turns; i++) {
            lock.acquire();
            lock.release();
        }
    }

    static InterProcessMutex[] locks(int count, String suffix) {
        InterProcessMutex[] locks = new InterProcessMutex[count];
        for (int i = 0; i < count; i++) locks[i] = new InterProcessMutex(client, path + (suffix == null ? "" : suffix + i));
        return locks;
    }

    static void crowd(int count, int turns, InterProcessMutex[] locks) throws Exception {
        together(count, i -> turns(locks[i], WARM_UP / count + 1));
        measure((long) count * turns, x -> together(count, i -> turns(locks[i], turns)));
    }

    // The clients take turns to give the waiters.
    static double[] drain(CuratorFramework[] by, int waiters) throws Exception {
        InterProcessMutex blocker = new InterProcessMutex(client, path);
        AtomicLong first = new AtomicLong(), last = new AtomicLong();
        blocker.acquire();
        Thread[] threads = begin(waiters, i -> {
            InterProcessMutex lock = new InterProcessMutex(by[i % by.length], path);
            lock.acquire();
            last.set(System.nanoTime());
            first.compareAndSet(0, last.get());
            lock.release();
        });
        queued(waiters + 1);
        long spent = cpu();
        blocker.release();
        for (Thread thread : threads) thread.join();
        return new double[] {(last.get() - first.get()) / 1e9, (cpu() - spent) / 1e9};
    }

    static void handoff(CuratorFramework[] by, int waiters, int rounds) throws Exception {
        for (int i = 0; i < 5; i++) drain(by, 200); // warms the compiler up
        double seconds = 0, spent = 0;
        for (int i = 0; i < rounds; i++) {
            double[] both = drain(by, waiters);
            seconds += both[0];
            spent += both[1];
        }
        report((waiters - 1L) * rounds, seconds, spent, "");
    }

    static void across(int waiters, int rounds) throws Exception {
        CuratorFramework[] by = new CuratorFramework[waiters];
        for (int i = 0; i < waiters; i++) by[i] = connect(60000);
        handoff(by, waiters, rounds);
    }

    static void contend(long first, long last) throws Exception {
        InterProcessMutex lock = new InterProcessMutex(client, path);
        long count = 0, spent = -1;
        while (System.currentTimeMillis() < last * 1000) {
            turns(lock, 1);
            if (spent < 0 && System.currentTimeMillis() >= first * 1000) {
                spent = cpu();
                count = 0;
            }
            count++;
        }
        report(count, last - first, (cpu() - spent) / 1e9, "");
        System.out.flush();
        Runtime.getRuntime().halt(0);
    }

    static void attempt(int turns) throws Exception {
        new InterProcessMutex(connect(10000), path).acquire();
        InterProcessMutex lock = new InterProcessMutex(client, path);
        Work tries = count -> {
            for (int i = 0; i < count; i++) lock.acquire(0, TimeUnit.MILLISECONDS);
        };
        tries.run(WARM_UP / 4);
        measure(turns, x -> tries.run(turns));
    }

    static long resident() throws Exception {
        return Long.parseLong(Files.readString(Path.of("/proc/self/statm")).split(" ")[1]) * 4096;
    }

    static void memory(int waiters) throws Exception {
        new InterProcessMutex(client, path).acquire();
        System.gc();
        long before = resident();
        begin(waiters, i -> new InterProcessMutex(client, path).acquire());
        queued(waiters + 1);
        Thread.sleep(1000);
        System.gc();
        report(waiters, 0, 0, ",\"rss\":" + (resident() - before) / waiters);
    }

    static LeaderLatch stand(CuratorFramework by) throws Exception {
        LeaderLatch latch = new LeaderLatch(by, path);
        latch.start();
        return latch;
    }

    static void handover(int turns) throws Exception {
        CuratorFramework[] both = {client, connect(10000)};
        LeaderLatch leader = stand(both[0]);
        leader.await();
        double[] took = new double[turns];
        for (int i = -10; i < turns; i++) {
            LeaderLatch next = stand(both[(i + 11) % 2]);
            queued(2);
            long from = System.nanoTime();
            leader.close();
            next.await();
            if (i >= 0) took[i] = (System.nanoTime() - from) / 1e9;
            leader = next;
        }
        Arrays.sort(took);
        report(turns, turns * took[(turns - 1) / 2], 0, "");
    }

    static void candidate() throws Exception {
        boolean first = client.checkExists().forPath(path) == null || client.getChildren().forPath(path).isEmpty();
        LeaderLatch latch = stand(client);
        if (!first) {
            queued(2);
            System.out.println("stands");
        }
        latch.await();
        System.out.println("leads " + client.getZookeeperClient().getZooKeeper().getSessionTimeout());
        Thread.sleep(1000000000L);
    }

    static void semaphore(int count, int turns, int leases) throws Exception {
        InterProcessSemaphoreV2 semaphore = new InterProcessSemaphoreV2(client, path, leases);
        Work warm = i -> leases(semaphore, 100), work = i -> leases(semaphore, turns);
        together(count, warm);
        measure((long) count * turns, x -> together(count, work));
    }

    static void leases(InterProcessSemaphoreV2 semaphore, int turns) throws Exception {
        for (int i = 0; i < turns; i++) {
            Lease lease = semaphore.acquire();
            semaphore.returnLease(lease);
        }
    }

    static void readMostly(int count, int turns) throws Exception {
        InterProcessReadWriteLock[] locks = new InterProcessReadWriteLock[count];
        for (int i = 0; i < count; i++) locks[i] = new InterProcessReadWriteLock(client, path);
        Work work = i -> {
            for (int turn = 0; turn < turns; turn++) turns((i + turn) % 10 == 0 ? locks[i].writeLock() : locks[i].readLock(), 1);
        };
        together(count, work);
        measure((long) count * turns, x -> together(count, work));
    }

    // ---- Queues: SimpleDistributedQueue for put and take, DistributedQueue with a lock path for claim and ack ----

    static final byte[] ITEM = "x".repeat(100).getBytes();

    static int size(String queue) throws Exception {
        client.createContainers(queue);
        return client.checkExists().forPath(queue).getNumChildren();
    }

    static void fillSimple(int items) throws Exception {
        Semaphore room = new Semaphore(500);
        for (int missing = items - size(path); missing > 0; missing--) {
            room.acquire();
            client.create().withMode(CreateMode.PERSISTENT_SEQUENTIAL).inBackground((by, event) -> room.release())
                .forPath(path + "/qn-", ITEM);
        }
        room.acquire(500);
    }

    interface Step { void run(SimpleDistributedQueue queue) throws Exception; }

    static void queueing(int operations, int items, int count, Step step) throws Exception {
        fillSimple(items);
        SimpleDistributedQueue queue = new SimpleDistributedQueue(client, path);
        Work share = total -> {
            AtomicLong left = new AtomicLong(total);
            together(count, i -> { while (left.getAndDecrement() > 0) step.run(queue); });
        };
        share.run(Math.min(operations, WARM_UP / 10));
        measure(operations, x -> share.run(operations));
    }

    static DistributedQueue<byte[]> distributed(QueueConsumer<byte[]> consumer) throws Exception {
        QueueSerializer<byte[]> plain = new QueueSerializer<byte[]>() {
            public byte[] serialize(byte[] item) { return item; }
            public byte[] deserialize(byte[] bytes) { return bytes; }
        };
        QueueBuilder<byte[]> builder = QueueBuilder.builder(client, consumer, plain, path + "-claims");
        if (consumer != null) builder.lockPath(path + "-locks");
        DistributedQueue<byte[]> queue = builder.buildQueue();
        queue.start();
        return queue;
    }

    static void fillDistributed(int items) throws Exception {
        DistributedQueue<byte[]> queue = distributed(null);
        for (int missing = items - size(path + "-claims"); missing > 0; missing--) {
            queue.put(ITEM);
            if (missing % 500 == 0) queue.flushPuts(30, TimeUnit.SECONDS);
        }
        queue.flushPuts(30, TimeUnit.SECONDS);
    }

    // The queue calls its consumers. The time runs from the last call of the warm-up to the last call of all.
    static void claim(int operations, int items, int count) throws Exception {
        int warm = Math.min(operations, WARM_UP / 10);
        AtomicLong calls = new AtomicLong(), from = new AtomicLong(), spent = new AtomicLong();
        Semaphore over = new Semaphore(0);
        fillDistributed(items);
        for (int i = 0; i < count; i++) {
            distributed(new QueueConsumer<byte[]>() {
                public void consumeMessage(byte[] item) throws Exception {
                    long call = calls.incrementAndGet();
                    if (call == warm) {
                        from.set(System.nanoTime());
                        spent.set(cpu());
                    } else if (call == warm + operations) {
                        report(operations, (System.nanoTime() - from.get()) / 1e9, (cpu() - spent.get()) / 1e9, "");
                        over.release();
                    }
                }

                public void stateChanged(CuratorFramework by, ConnectionState state) { }
            });
        }
        over.acquire();
    }

    static long number(String[] words, int index) {
        return index < words.length ? Long.parseLong(words[index]) : 0;
    }

    public static void main(String[] words) throws Exception {
        hosts = words[0];
        path = words[1];
        client = connect(words[2].equals("candidate") ? 2000 : 10000);
        long first = number(words, 3), second = number(words, 4);
        int a = (int) first, b = (int) second, c = (int) number(words, 5);
        switch (words[2]) {
            case "free": {
                InterProcessMutex lock = new InterProcessMutex(client, path);
                turns(lock, WARM_UP);
                measure(a, x -> turns(lock, a));
                break;
            }
            case "at_once": crowd(a, b, locks(a, "/")); break;
            case "loop": crowd(a, b, locks(a, null)); break;
            case "handoff": handoff(new CuratorFramework[] {client}, a, b); break;
            case "across": across(a, b); break;
            case "contend": contend(first, second); break;
            case "try": attempt(a); break;
            case "memory": memory(a); break;
            case "start":
                new InterProcessMutex(client, path).acquire();
                report(1, 0, 0, "");
                break;
            case "handover": handover(a); break;
            case "candidate": candidate(); break;
            case "semaphore": semaphore(a, b, c); break;
            case "read_mostly": readMostly(a, b); break;
            case "put": queueing(a, b, c, queue -> queue.offer(ITEM)); break;
            case "take": queueing(a, b, c, queue -> queue.take()); break;
            case "claim": claim(a, b, c); break;
            default: System.exit(2);
        }
        System.exit(0);
    }
}
