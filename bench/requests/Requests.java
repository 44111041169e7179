// Curator as a contestant of make bench-requests: java Requests HOSTS PATH JOB N; see bench/README.md.
// What HOSTS passes is counted. The client of $DIRECT prepares, and makes the changes that are to be seen.
import java.util.Arrays;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.atomic.DistributedAtomicLong;
import org.apache.curator.framework.recipes.cache.ChildData;
import org.apache.curator.framework.recipes.cache.CuratorCache;
import org.apache.curator.framework.recipes.cache.CuratorCacheListener;
import org.apache.curator.framework.recipes.cache.NodeCache;
import org.apache.curator.framework.recipes.cache.TreeCache;
import org.apache.curator.framework.recipes.cache.TreeCacheEvent;
import org.apache.curator.framework.recipes.nodes.GroupMember;
import org.apache.curator.framework.recipes.nodes.PersistentNode;
import org.apache.curator.retry.ExponentialBackoffRetry;
import org.apache.curator.retry.RetryNTimes;
import org.apache.curator.x.discovery.ServiceDiscovery;
import org.apache.curator.x.discovery.ServiceDiscoveryBuilder;
import org.apache.curator.x.discovery.ServiceInstance;
import org.apache.curator.x.discovery.ServiceProvider;
import org.apache.zookeeper.CreateMode;

public final class Requests {
    static final int LIMIT = 120; // seconds
    static final byte[] DATA = "x".repeat(100).getBytes();
    static String hosts, path;
    static int count;
    static CuratorFramework client, direct;

    static CuratorFramework connect(String to) throws Exception {
        CuratorFramework made = CuratorFrameworkFactory.newClient(to, 60000, 15000, new ExponentialBackoffRetry(100, 10));
        made.start();
        made.blockUntilConnected();
        return made;
    }

    static void check(boolean good) { if (!good) throw new AssertionError("it is not so"); }

    static void eventually(Callable<Boolean> condition) throws Exception {
        long deadline = System.nanoTime() + LIMIT * 1000000000L;
        while (!condition.call()) {
            check(System.nanoTime() < deadline);
            Thread.sleep(2);
        }
    }

    static void plant(int children) throws Exception {
        direct.create().forPath(path, new byte[0]);
        for (int i = 1; i <= children; i++) direct.create().forPath(path + "/" + i, DATA);
    }

    // ---- Copies ----

    interface Copy { ChildData get(String path); }

    static Copy treeOf(int children) throws Exception {
        plant(children);
        CountDownLatch ready = new CountDownLatch(1);
        TreeCache tree = new TreeCache(client, path);
        tree.getListenable().addListener((by, event) -> {
            if (event.getType() == TreeCacheEvent.Type.INITIALIZED) ready.countDown();
        });
        tree.start();
        check(ready.await(LIMIT, TimeUnit.SECONDS));
        check(tree.getCurrentChildren(path).size() == children);
        return tree::getCurrentData;
    }

    static Copy cacheOf(int children) throws Exception {
        plant(children);
        CountDownLatch ready = new CountDownLatch(1);
        CuratorCache cache = CuratorCache.build(client, path);
        cache.listenable().addListener(CuratorCacheListener.builder().forInitialized(ready::countDown).build());
        cache.start();
        check(ready.await(LIMIT, TimeUnit.SECONDS));
        check(cache.size() == children + 1);
        return at -> cache.get(at).orElse(null);
    }

    static boolean has(Copy copy, String at, byte[] data) {
        ChildData found = copy.get(at);
        return found != null && Arrays.equals(found.getData(), data);
    }

    static void change(Copy copy) throws Exception {
        for (int i = 0; i < count; i++) {
            byte[] data = ("" + i).getBytes();
            direct.setData().forPath(path + "/1", data);
            eventually(() -> has(copy, path + "/1", data));
        }
    }

    static void add(Copy copy) throws Exception {
        for (int i = 0; i < count; i++) {
            String at = path + "/new-" + i;
            direct.create().forPath(at, DATA);
            eventually(() -> has(copy, at, DATA));
        }
    }

    static void value() throws Exception {
        direct.create().forPath(path, "0".getBytes());
        NodeCache cache = new NodeCache(client, path);
        cache.start(true);
        for (int i = 1; i <= count; i++) {
            byte[] data = ("" + i).getBytes();
            direct.setData().forPath(path, data);
            eventually(() -> Arrays.equals(cache.getCurrentData().getData(), data));
        }
    }

    // ---- Counters ----

    static DistributedAtomicLong counter(CuratorFramework its) {
        return new DistributedAtomicLong(its, path, new RetryNTimes(1000, 0));
    }

    static void count() throws Exception {
        DistributedAtomicLong counter = counter(client);
        for (int i = 0; i < count; i++) check(counter.increment().succeeded());
    }

    static void countAfter() throws Exception {
        DistributedAtomicLong counter = counter(client), theirs = counter(direct);
        for (int i = 0; i < count; i++) check(theirs.increment().succeeded() && counter.increment().succeeded());
    }

    // ---- Members and services ----

    static void presence() throws Exception {
        plant(0);
        for (int i = 0; i < count; i++) {
            PersistentNode node = new PersistentNode(client, CreateMode.EPHEMERAL, false, path + "/here", DATA);
            node.start();
            check(node.waitForInitialCreate(LIMIT, TimeUnit.SECONDS));
            node.close();
        }
    }

    static void others() throws Exception {
        plant(0);
        for (int i = 0; i < 10; i++) new GroupMember(direct, path, "other-" + i).start();
        eventually(() -> direct.getChildren().forPath(path).size() == 10);
    }

    static void member() throws Exception {
        others();
        for (int i = 0; i < count; i++) {
            GroupMember member = new GroupMember(client, path, "me-" + i);
            member.start();
            eventually(() -> member.getCurrentMembers().size() == 11 && direct.getChildren().forPath(path).size() == 11);
            member.close();
        }
    }

    static void who() throws Exception {
        others();
        GroupMember member = new GroupMember(client, path, "me");
        member.start();
        eventually(() -> member.getCurrentMembers().size() == 11 && direct.getChildren().forPath(path).size() == 11);
        for (int i = 0; i < count; i++) check(member.getCurrentMembers().size() == 11);
    }

    static ServiceInstance<Void> instance(int i) throws Exception {
        return ServiceInstance.<Void>builder().name("web").id("id-" + i).address("10.0.0.1").port(i).build();
    }

    static ServiceDiscovery<Void> discovery(CuratorFramework its) throws Exception {
        ServiceDiscovery<Void> made = ServiceDiscoveryBuilder.builder(Void.class).client(its).basePath(path).build();
        made.start();
        return made;
    }

    static ServiceProvider<Void> provider(ServiceDiscovery<Void> discovery, int instances) throws Exception {
        ServiceDiscovery<Void> theirs = discovery(direct);
        for (int i = 1; i <= instances; i++) theirs.registerService(instance(i));
        ServiceProvider<Void> provider = discovery.serviceProviderBuilder().serviceName("web").build();
        provider.start();
        eventually(() -> provider.getAllInstances().size() == instances);
        return provider;
    }

    static void register() throws Exception {
        ServiceDiscovery<Void> discovery = discovery(client);
        ServiceProvider<Void> provider = provider(discovery, 1);
        for (int i = 0; i < count; i++) {
            ServiceInstance<Void> mine = instance(i + 2);
            discovery.registerService(mine);
            eventually(() -> provider.getAllInstances().size() == 2);
            discovery.unregisterService(mine);
            eventually(() -> provider.getAllInstances().size() == 1);
        }
    }

    static void pick() throws Exception {
        ServiceProvider<Void> provider = provider(discovery(client), 10);
        for (int i = 0; i < count; i++) check(provider.getInstance() != null);
    }

    public static void main(String[] words) throws Exception {
        hosts = words[0];
        path = words[1];
        count = Integer.parseInt(words[3]);
        client = connect(hosts);
        direct = connect(System.getenv("DIRECT"));
        switch (words[2]) {
            case "load": treeOf(count); break;
            case "load_cache": cacheOf(count); break;
            case "change": change(treeOf(10)); break;
            case "change_cache": change(cacheOf(10)); break;
            case "add": add(treeOf(100)); break;
            case "add_cache": add(cacheOf(100)); break;
            case "value": value(); break;
            case "count": count(); break;
            case "count_after": countAfter(); break;
            case "presence": presence(); break;
            case "member": member(); break;
            case "who": who(); break;
            case "services": provider(discovery(client), count); break;
            case "register": register(); break;
            case "pick": pick(); break;
            default: System.exit(2);
        }
        System.out.println("{\"ops\":" + count + "}");
        System.exit(0);
    }
}
