// A real Tomcat, embedded, with a servlet that sleeps: its connector's maxThreads is what bounds the concurrency. Metrics have the names that
// Micrometer gives Tomcat's MBeans, and are served by another port, so that a full connector does not hide them.

import com.sun.net.httpserver.HttpServer;
import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.File;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.lang.management.ManagementFactory;
import javax.management.MBeanServer;
import javax.management.ObjectName;
import org.apache.catalina.Context;
import org.apache.catalina.connector.Connector;
import org.apache.catalina.startup.Tomcat;

public class Sleeper {
    static final class Servlet extends HttpServlet {
        private static final long serialVersionUID = 1;
        private final long sleepMillis;

        Servlet(long sleepMillis) {
            this.sleepMillis = sleepMillis;
        }

        @Override
        protected void doGet(HttpServletRequest request, HttpServletResponse response) throws IOException {
            try {
                Thread.sleep(sleepMillis);
            } catch (InterruptedException ended) {
                Thread.currentThread().interrupt();
            }
            response.setContentType("text/plain");
            response.getWriter().println("slept");
        }
    }

    static Map<String, String> options(String[] arguments) {
        Map<String, String> out = new HashMap<>();
        for (String a : arguments) {
            int equals = a.indexOf('=');
            if (!a.startsWith("--") || equals < 0) {
                throw new IllegalArgumentException("found " + a + ", want --name=value");
            }
            out.put(a.substring(2, equals), a.substring(equals + 1));
        }
        return out;
    }

    static InetSocketAddress address(String listen) {
        int colon = listen.lastIndexOf(':');
        return new InetSocketAddress(listen.substring(0, colon), Integer.parseInt(listen.substring(colon + 1)));
    }

    /** One MBean attribute as a sample; what a version of Tomcat does not have is left out. */
    static void sample(StringBuilder out, MBeanServer beans, ObjectName bean, String attribute, String metric, double scale) {
        try {
            double value = ((Number) beans.getAttribute(bean, attribute)).doubleValue() * scale;
            out.append(metric).append("{name=\"").append(bean.getKeyProperty("name").replace("\"", "")).append("\"} ").append(value).append('\n');
        } catch (Exception absent) {
            // Unknown is not 0.
        }
    }

    static String metrics() throws Exception {
        MBeanServer beans = ManagementFactory.getPlatformMBeanServer();
        StringBuilder out = new StringBuilder();
        Set<ObjectName> pools = beans.queryNames(new ObjectName("Tomcat:type=ThreadPool,name=*"), null);
        for (ObjectName pool : pools) {
            sample(out, beans, pool, "maxThreads", "tomcat_threads_config_max_threads", 1);
            sample(out, beans, pool, "currentThreadsBusy", "tomcat_threads_busy_threads", 1);
            sample(out, beans, pool, "currentThreadCount", "tomcat_threads_current_threads", 1);
        }
        for (ObjectName requests : beans.queryNames(new ObjectName("Tomcat:type=GlobalRequestProcessor,name=*"), null)) {
            sample(out, beans, requests, "requestCount", "tomcat_global_request_seconds_count", 1);
            sample(out, beans, requests, "processingTime", "tomcat_global_request_seconds_sum", 1e-3);
            sample(out, beans, requests, "errorCount", "tomcat_global_error_total", 1);
        }
        return out.toString();
    }

    static void serveMetrics(InetSocketAddress address) throws IOException {
        HttpServer server = HttpServer.create(address, 64);
        server.createContext("/metrics", exchange -> {
            byte[] body;
            try {
                body = metrics().getBytes(StandardCharsets.UTF_8);
            } catch (Exception failed) {
                throw new IOException(failed);
            }
            exchange.getResponseHeaders().set("Content-Type", "text/plain; version=0.0.4");
            exchange.sendResponseHeaders(200, body.length);
            exchange.getResponseBody().write(body);
            exchange.close();
        });
        server.start();
    }

    public static void main(String[] arguments) throws Exception {
        Map<String, String> options = options(arguments);
        InetSocketAddress listen = address(options.getOrDefault("listen", "127.0.0.1:8087"));
        File base = Files.createTempDirectory("loadline-tomcat-").toFile();
        base.deleteOnExit();
        Tomcat tomcat = new Tomcat();
        tomcat.setBaseDir(base.getPath());
        Connector connector = new Connector("HTTP/1.1");
        connector.setPort(listen.getPort());
        connector.setProperty("address", listen.getHostString());
        connector.setProperty("maxThreads", options.getOrDefault("max-threads", "200"));
        connector.setProperty("minSpareThreads", options.getOrDefault("min-spare-threads", "10"));
        connector.setProperty("acceptCount", options.getOrDefault("accept-count", "100"));
        connector.setProperty("maxKeepAliveRequests", "-1");
        tomcat.setConnector(connector);
        Context context = tomcat.addContext("", base.getPath());
        Tomcat.addServlet(context, "sleeper", new Servlet(Long.parseLong(options.getOrDefault("sleep", "20"))));
        context.addServletMappingDecoded("/sleep", "sleeper");
        Tomcat.addServlet(context, "ready", new Servlet(0));
        context.addServletMappingDecoded("/ready", "ready");
        tomcat.start();
        serveMetrics(address(options.getOrDefault("metrics", "127.0.0.1:8088")));
        System.err.println("tomcat listens on http://" + listen.getHostString() + ":" + listen.getPort());
        tomcat.getServer().await();
    }
}
