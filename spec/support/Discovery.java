// A Java service that uses Curator's service discovery: java Discovery HOSTS PATH. It registers the instance "java-1" of "web", and then
// obeys its input:
//
//   show NAME       prints the instances of the service, by id: "id address port sslPort payload enabled", then "."
//   update PORT     changes the port of its instance; prints "."
//   (the end)       unregisters its instance
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.retry.ExponentialBackoffRetry;
import org.apache.curator.x.discovery.ServiceDiscovery;
import org.apache.curator.x.discovery.ServiceDiscoveryBuilder;
import org.apache.curator.x.discovery.ServiceInstance;

@SuppressWarnings({"unchecked", "rawtypes"})
public final class Discovery {
    static ServiceInstance<Map> instance(int port) throws Exception {
        Map<String, Object> payload = new TreeMap<>();
        payload.put("zone", "north");
        payload.put("weight", 3);
        return ServiceInstance.<Map>builder().name("web").id("java-1").address("10.1.0.1").port(port).payload(payload).build();
    }

    static void show(ServiceDiscovery<Map> discovery, String name) throws Exception {
        List<ServiceInstance<Map>> list = new ArrayList<>(discovery.queryForInstances(name));
        list.sort(Comparator.comparing(ServiceInstance::getId));
        for (ServiceInstance<Map> one : list) {
            Object payload = one.getPayload() == null ? null : new TreeMap<Object, Object>(one.getPayload());
            System.out.println(one.getId() + " " + one.getAddress() + " " + one.getPort() + " " + one.getSslPort() + " " + payload + " "
                + one.isEnabled());
        }
    }

    public static void main(String[] args) throws Exception {
        CuratorFramework client = CuratorFrameworkFactory.newClient(args[0], 15000, 15000, new ExponentialBackoffRetry(100, 10));
        client.start();
        client.blockUntilConnected();
        ServiceDiscovery<Map> discovery = ServiceDiscoveryBuilder.builder(Map.class).client(client).basePath(args[1])
            .thisInstance(instance(8080)).build();
        discovery.start();
        System.out.println("registered");
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split(" ");
            if (words[0].equals("show")) show(discovery, words[1]);
            if (words[0].equals("update")) discovery.updateService(instance(Integer.parseInt(words[1])));
            System.out.println(".");
        }
        discovery.close();
        client.close();
    }
}
