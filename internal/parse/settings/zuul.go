package settings

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/loadline-dev/loadline/internal/parse/hystrix"
	"github.com/loadline-dev/loadline/internal/parse/limits"
)

// The names that Zuul gives Hystrix as values set in code.
const (
	strategyName = "execution.isolation.strategy"
	permitsName  = "execution.isolation.semaphore.maxConcurrentRequests"
	timeoutName  = "execution.isolation.thread.timeoutInMilliseconds"
)

// sharedPool is the one pool of all services unless zuul.threadPool.useSeparateThreadPools is set.
const sharedPool = "RibbonCommand"

// zuul reads a gateway: its services by id, its routes by URL, Ribbon's clients, and Hystrix as Zuul sets it.
type zuul struct {
	s        *source
	h        hystrix.Settings
	services []string
	urls     []string
	retries  map[string]limits.Of[bool] // by service
	threads  bool
	sys      limits.System
}

func readZuul(s *source) limits.System {
	z := &zuul{s: s, h: hystrix.Read(resolved(s)), retries: map[string]limits.Of[bool]{}}
	z.routes()
	z.namedElsewhere()
	if len(z.services) == 0 && len(z.urls) == 0 {
		z.services = []string{hystrix.DefaultKey} // Discovery routes every service; their settings are the defaults.
	}
	z.isolation()
	for _, id := range z.services {
		z.service(id)
	}
	z.finishPools()
	for _, id := range z.urls {
		z.byURL(id)
	}
	z.sys.Faults = append(z.sys.Faults, z.h.Faults()...)
	z.withoutEffect()
	z.misspelt()
	return z.sys
}

// routes sorts the routes by whether they go by service or by URL; only the former have Hystrix, Ribbon and retries.
func (z *zuul) routes() {
	retryable := z.s.bool("zuul.retryable")
	for _, id := range z.s.names("zuul.routes.") {
		prefix := "zuul.routes." + id + "."
		short := z.s.text("zuul.routes." + id)
		target := z.s.text(prefix+"url", prefix+"location").Or(short)
		service := z.s.text(prefix + "service-id")
		switch {
		case strings.HasPrefix(target.Value, "forward:"):
		case strings.HasPrefix(target.Value, "http:"), strings.HasPrefix(target.Value, "https:"):
			z.urls = append(z.urls, id)
		default:
			name := service.Or(short).Value
			if name == "" {
				name = id
			}
			z.add(name)
			z.retries[name] = z.s.bool(prefix + "retryable").Or(retryable)
		}
	}
}

// namedElsewhere adds services that only Ribbon's or Hystrix's keys name.
func (z *zuul) namedElsewhere() {
	for _, p := range z.s.all {
		if name, rest, ok := strings.Cut(p.At.Key, ".ribbon."); ok && !strings.Contains(name, ".") && rest != "" {
			z.add(name)
		}
	}
	for _, name := range z.h.CommandKeys() {
		if name != hystrix.DefaultKey {
			z.add(name)
		}
	}
	for _, name := range z.s.names("zuul.eureka.") {
		z.add(name)
	}
}

func (z *zuul) add(service string) {
	if !slices.Contains(z.services, service) {
		z.services = append(z.services, service)
	}
}

func (z *zuul) isolation() {
	z.threads = strings.EqualFold(z.strategy().Value, "THREAD")
}

func (z *zuul) strategy() limits.Of[string] {
	return z.s.text("zuul.ribbon-isolation-strategy").Or(limits.Default("SEMAPHORE", "zuul.ribbonIsolationStrategy"))
}

// service builds the command of one service as RibbonRoutingFilter does: strategy, permits and timeout are set in code, above
// hystrix.command.default.* and below hystrix.command.<service>.*.
func (z *zuul) service(id string) {
	attempt := z.attempt(id)
	strategy, permits := z.strategy(), z.permits(id)
	timeout := z.timeout(id, attempt)
	z.h.Code(id, strategyName, strategy.Value, strategy.At)
	z.h.Code(id, permitsName, strconv.Itoa(permits.Value), permits.At)
	z.h.Code(id, timeoutName, strconv.FormatInt(timeout.Value.Milliseconds(), 10), timeout.At)
	of := z.h.LimitsOf([]string{id})
	c := of.Commands[0]
	c.Gateway, c.Attempt, c.Connections, c.Downstream = true, attempt, id, limits.Default(id, "")
	c.Permits.Given = c.Permits.Given && c.Permits.At.Line > 0
	c.Timeout.Given = c.Timeout.Given && c.Timeout.At.Line > 0
	if c.Isolation.Value == limits.ByPool {
		c.Pool = z.poolOf(id)
	}
	z.sys.Commands = append(z.sys.Commands, c)
	z.sys.Connections = append(z.sys.Connections, z.ribbon(id))
	if hosts := z.hosts(id); hosts.Known {
		z.sys.Downstreams = append(z.sys.Downstreams, limits.Downstream{Name: id, Hosts: hosts, At: hosts.At})
	}
}

func (z *zuul) permits(id string) limits.Of[int] {
	return z.s.int("zuul.eureka."+id+".semaphore.max-semaphores", "zuul.semaphore.max-semaphores").
		Or(limits.Default(100, "zuul.semaphore.maxSemaphores"))
}

// attempt is Ribbon's client with Spring's defaults. Retries happen only on a retryable route.
func (z *zuul) attempt(id string) limits.Attempt {
	own, all := id+".ribbon.", "ribbon."
	return limits.Attempt{
		Connect:    z.s.exactMillis(own+"ConnectTimeout", all+"ConnectTimeout").Or(limits.Default(time.Second, all+"ConnectTimeout")),
		Read:       z.s.exactMillis(own+"ReadTimeout", all+"ReadTimeout").Or(limits.Default(time.Second, all+"ReadTimeout")),
		SameServer: z.s.exactInt(own+"MaxAutoRetries", all+"MaxAutoRetries").Or(limits.Default(0, all+"MaxAutoRetries")),
		NextServer: z.s.exactInt(own+"MaxAutoRetriesNextServer", all+"MaxAutoRetriesNextServer").Or(limits.Default(1, all+"MaxAutoRetriesNextServer")),
		Possible:   z.retries[id].Or(z.s.bool("zuul.retryable")).Value}
}

// timeout is AbstractRibbonCommand's: the service's Hystrix timeout, else the default's, else (read + connect) × every attempt that the
// settings name, whether or not the route is retryable.
func (z *zuul) timeout(id string, a limits.Attempt) limits.Of[time.Duration] {
	key := "hystrix.command." + id + "." + timeoutName
	found := z.s.exactMillis(key, "hystrix.command.default."+timeoutName)
	if found.Value > 0 {
		return found
	}
	a.Possible = true
	sum := time.Duration(a.Attempts()) * (a.Connect.Value + a.Read.Value)
	return limits.Default(sum, key)
}

func (z *zuul) ribbon(id string) limits.Connections {
	own, all := id+".ribbon.", "ribbon."
	return limits.Connections{Name: id, At: limits.At{Key: own},
		Total: z.s.exactInt(own+"MaxTotalConnections", all+"MaxTotalConnections", own+"MaxTotalHttpConnections", all+"MaxTotalHttpConnections").
			Or(limits.Default(200, all+"MaxTotalConnections")),
		PerHost: z.s.exactInt(own+"MaxConnectionsPerHost", all+"MaxConnectionsPerHost", own+"MaxHttpConnectionsPerHost", all+"MaxHttpConnectionsPerHost").
			Or(limits.Default(50, all+"MaxConnectionsPerHost")),
		LeaseWait: limits.Default(time.Duration(0), ""), Downstream: limits.Default(id, "")}
}

// hosts counts a static list of servers; discovery's is not known here.
func (z *zuul) hosts(id string) limits.Of[int] {
	p, ok := z.s.exact(id + ".ribbon.listOfServers")
	list := strings.FieldsFunc(p.Value, func(r rune) bool { return r == ',' || r == ' ' })
	if !ok || len(list) == 0 {
		return limits.Of[int]{}
	}
	return limits.Written(len(list), p.At)
}

func (z *zuul) poolOf(id string) string {
	if !z.s.bool("zuul.thread-pool.use-separate-thread-pools").Value {
		return sharedPool
	}
	return z.s.text("zuul.thread-pool.thread-pool-key-prefix").Value + id
}

func (z *zuul) finishPools() {
	var names []string
	for _, c := range z.sys.Commands {
		if c.Isolation.Value != limits.ByPool || slices.Contains(names, c.Pool) {
			continue
		}
		names = append(names, c.Pool)
		p := z.h.Pool(c.Pool).Common()
		for _, d := range z.sys.Commands {
			if d.Pool == c.Pool && (!p.Timeout.Known || d.Timeout.Value < p.Timeout.Value) {
				p.Timeout = d.Timeout
			}
		}
		z.sys.Pools = append(z.sys.Pools, p)
	}
}

// byURL is a route by URL: Zuul's own client, without Hystrix, Ribbon or retries.
func (z *zuul) byURL(id string) {
	const name = "zuul.host"
	z.sys.Commands = append(z.sys.Commands, limits.Command{Name: id, At: limits.At{Key: "zuul.routes." + id}, Gateway: true, Connections: name,
		Attempt: limits.Attempt{
			Connect: z.s.duration(time.Millisecond, "zuul.host.connect-timeout-millis").Or(limits.Default(2*time.Second, "zuul.host.connectTimeoutMillis")),
			Read:    z.s.duration(time.Millisecond, "zuul.host.socket-timeout-millis").Or(limits.Default(10*time.Second, "zuul.host.socketTimeoutMillis"))}})
	if slices.ContainsFunc(z.sys.Connections, func(c limits.Connections) bool { return c.Name == name }) {
		return
	}
	lease := z.s.duration(time.Millisecond, "zuul.host.connection-request-timeout-millis").Or(limits.Default(time.Duration(-1), "zuul.host.connectionRequestTimeoutMillis"))
	lease.Value = max(lease.Value, 0)
	z.sys.Connections = append(z.sys.Connections, limits.Connections{Name: name, At: limits.At{Key: name},
		Total:     z.s.int("zuul.host.max-total-connections").Or(limits.Default(200, "zuul.host.maxTotalConnections")),
		PerHost:   z.s.int("zuul.host.max-per-route-connections").Or(limits.Default(20, "zuul.host.maxPerRouteConnections")),
		LeaseWait: lease})
}

// ineffective is a family of keys that nobody reads under some condition.
type ineffective struct {
	when   bool
	prefix string // canonical
	text   string
	next   string
}

func (z *zuul) withoutEffect() {
	for _, i := range []ineffective{
		{len(z.urls) == 0, "zuul.host.", "zuul.host.* holds for routes by URL only, and there is none", "ribbon.* holds for routes by service"},
		{!z.threads, "zuul.threadpool.", "thread pools are not used under SEMAPHORE", "zuul.ribbonIsolationStrategy=THREAD, or leave it out"},
		{z.threads, "zuul.semaphore.", "permits are not used under THREAD", "hystrix.threadpool.*.coreSize bounds the calls"},
		{true, "hystrix.command.default." + strings.ToLower(strategyName), "Zuul sets the strategy in code, above hystrix.command.default", "zuul.ribbonIsolationStrategy, or hystrix.command.<service>." + strategyName},
		{true, "hystrix.command.default." + strings.ToLower(permitsName), "Zuul sets the permits in code, above hystrix.command.default", "zuul.semaphore.maxSemaphores, or hystrix.command.<service>." + permitsName},
		{!z.threads && z.allPermits(), "hystrix.threadpool.", "no service uses a thread pool", "zuul.ribbonIsolationStrategy=THREAD, or leave it out"},
	} {
		for _, p := range z.s.all {
			if i.when && strings.HasPrefix(canonical(p.At.Key), i.prefix) {
				z.s.fault(limits.Fault{Kind: limits.WithoutEffect, At: p.At, Text: i.text, Next: i.next})
			}
		}
	}
	for _, p := range z.s.all {
		if name := p.At.Key[strings.LastIndexByte(p.At.Key, '.')+1:]; ribbonKey(p) && slices.Contains(unusedRibbon, name) {
			z.s.fault(limits.Fault{Kind: limits.WithoutEffect, At: p.At, Text: "Spring's Apache client does not read it: waiting for a connection has no limit",
				Next: "bound the callers instead: permits <= connections"})
		}
	}
}

func (z *zuul) allPermits() bool {
	return !slices.ContainsFunc(z.sys.Commands, func(c limits.Command) bool { return c.Isolation.Value == limits.ByPool })
}

// ribbonKey tells whether a key is of Ribbon: ribbon.X or service.ribbon.X.
func ribbonKey(p limits.Property) bool {
	return strings.HasPrefix(p.At.Key, "ribbon.") || strings.Contains(p.At.Key, ".ribbon.") && !strings.HasPrefix(canonical(p.At.Key), "zuul.")
}

var unusedRibbon = []string{"ConnectionManagerTimeout", "ConnIdleEvictTimeMilliSeconds"}

// misspelt looks for keys of Zuul and Ribbon that differ from a known one by a little.
func (z *zuul) misspelt() {
	for _, p := range z.s.all {
		key := canonical(p.At.Key)
		if rest, ok := strings.CutPrefix(key, "zuul."); ok {
			z.nearZuul(p, rest)
			continue
		}
		if !ribbonKey(p) {
			continue
		}
		name := p.At.Key[strings.LastIndex(p.At.Key, "ribbon.")+len("ribbon."):]
		if slices.Contains(ribbonNames, name) || slices.Contains(unusedRibbon, name) {
			continue
		}
		for _, known := range ribbonNames {
			if strings.EqualFold(known, strings.ReplaceAll(name, "-", "")) {
				z.s.fault(limits.Fault{Kind: limits.Unknown, At: p.At, Text: "Ribbon's names are case-sensitive: nothing reads this one", Next: "write " + known})
			}
		}
		if near, ok := limits.Nearest(name, ribbonNames); ok {
			z.s.fault(limits.Fault{Kind: limits.Unknown, At: p.At, Text: "Ribbon reads no such key", Next: "did you mean " + near + "?"})
		}
	}
}

func (z *zuul) nearZuul(p limits.Property, rest string) {
	head, _, _ := strings.Cut(rest, ".")
	head, _, _ = strings.Cut(head, "[")
	families := map[string][]string{"host": hostNames, "semaphore": {"maxSemaphores"}, "threadpool": {"useSeparateThreadPools", "threadPoolKeyPrefix"}}
	known, tail := zuulNames, head
	if names, ok := families[head]; ok {
		known, tail = names, strings.TrimPrefix(strings.TrimPrefix(rest, head), ".")
	}
	if slices.ContainsFunc(known, func(k string) bool { return canonical(k) == tail }) {
		return
	}
	f := limits.Fault{Kind: limits.Unknown, At: p.At, Text: "Zuul reads no such key"}
	lower := make([]string, len(known))
	for i, k := range known {
		lower[i] = canonical(k)
	}
	if near, ok := limits.Nearest(tail, lower); ok {
		f.Next = fmt.Sprintf("did you mean %s?", known[slices.Index(lower, near)])
	} else {
		f.Next = "known are " + strings.Join(known, ", ")
	}
	z.s.fault(f)
}

// The names of the families, as Spring Cloud Netflix 2.2 documents them.
var (
	zuulNames = []string{"routes", "sensitiveHeaders", "ignoredHeaders", "ignoreSecurityHeaders", "prefix", "stripPrefix", "ignoredServices",
		"ignoredPatterns", "ignoreLocalService", "retryable", "addProxyHeaders", "addHostHeader", "decodeUrl", "removeSemicolonContent",
		"forceOriginalQueryStringEncoding", "servletPath", "setContentLength", "includeDebugHeader", "traceRequestBody", "initialStreamBufferSize",
		"sslHostnameValidationEnabled", "ribbonIsolationStrategy", "semaphore", "eureka", "threadPool", "host", "debug", "filter", "x-forwarded-for"}
	hostNames = []string{"maxTotalConnections", "maxPerRouteConnections", "socketTimeoutMillis", "connectTimeoutMillis", "connectionRequestTimeoutMillis",
		"timeToLive", "timeUnit"}
	ribbonNames = []string{"ConnectTimeout", "ReadTimeout", "MaxTotalConnections", "MaxConnectionsPerHost", "MaxTotalHttpConnections",
		"MaxHttpConnectionsPerHost", "MaxAutoRetries", "MaxAutoRetriesNextServer", "OkToRetryOnAllOperations", "retryableStatusCodes", "PoolKeepAliveTime",
		"PoolKeepAliveTimeUnits", "ConnectionCleanerRepeatInterval", "FollowRedirects", "GZipPayload", "ServerListRefreshInterval",
		"NFLoadBalancerPingInterval", "NFLoadBalancerPingClassName", "NFLoadBalancerRuleClassName", "NFLoadBalancerClassName", "NIWSServerListClassName",
		"NIWSServerListFilterClassName", "listOfServers", "ActiveConnectionsLimit", "EnableZoneAffinity", "EnableZoneExclusivity", "eureka", "http", "eager-load",
		"restclient", "okhttp", "IsSecure", "Port", "SecurePort", "UseIPAddrForServer", "enabled", "DeploymentContextBasedVipAddresses"}
)
