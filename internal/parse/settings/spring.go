package settings

import (
	"strings"
	"time"

	"github.com/loadline-dev/loadline/internal/parse/limits"
)

// javaMax is Integer.MAX_VALUE, Java's way to write «unbounded».
const javaMax = 1<<31 - 1

func bounded(n limits.Of[int]) limits.Of[int] {
	if n.Known && (n.Value == javaMax || n.Value < 0) {
		n.Value = limits.Unbounded
	}
	return n
}

// readContainers reads Tomcat's limits where a key of them is written or a gateway stands on it. Both spellings of Spring Boot are known.
func readContainers(s *source) []limits.Container {
	if !s.has("server.tomcat.") && !s.has("zuul.") {
		return nil
	}
	c := limits.Container{Name: "tomcat",
		Workers:        s.int("server.tomcat.threads.max", "server.tomcat.max-threads").Or(limits.Default(200, "server.tomcat.threads.max")),
		MaxConnections: s.int("server.tomcat.max-connections").Or(limits.Default(8192, "server.tomcat.max-connections")),
		AcceptQueue:    s.int("server.tomcat.accept-count").Or(limits.Default(100, "server.tomcat.accept-count"))}
	spare := s.int("server.tomcat.threads.min-spare", "server.tomcat.min-spare-threads")
	if spare.Known && spare.Value > c.Workers.Value {
		s.fault(limits.Fault{Kind: limits.WithoutEffect, At: spare.At, Also: []limits.At{c.Workers.At}, Text: "more spare workers than workers",
			Next: "min-spare <= max"})
	}
	return []limits.Container{c}
}

// readSpringPools reads the application's task executor and its pools of connections, where a key of them is written.
func readSpringPools(s *source) limits.System {
	var sys limits.System
	if s.has("spring.task.execution.pool.") {
		sys.Pools = append(sys.Pools, taskExecutor(s))
	}
	if s.has("spring.datasource.") {
		sys.Connections = append(sys.Connections, hikari(s))
	}
	for _, client := range []string{"jedis", "lettuce"} {
		for _, prefix := range []string{"spring.redis.", "spring.data.redis."} {
			if s.has(prefix + client + ".pool.") {
				sys.Connections = append(sys.Connections, redis(s, prefix+client+".pool.", client))
			}
		}
	}
	return sys
}

func taskExecutor(s *source) limits.Pool {
	const prefix = "spring.task.execution.pool."
	return limits.Pool{Name: "spring.task.execution", At: limits.At{Key: prefix},
		Core:        s.int(prefix + "core-size").Or(limits.Default(8, prefix+"core-size")),
		Max:         bounded(s.int(prefix + "max-size").Or(limits.Default(limits.Unbounded, prefix+"max-size"))),
		Queue:       bounded(s.int(prefix + "queue-capacity").Or(limits.Default(limits.Unbounded, prefix+"queue-capacity"))),
		KeepAlive:   s.duration(time.Millisecond, prefix+"keep-alive"),
		CoreTimeout: s.bool(prefix + "allow-core-thread-timeout").Or(limits.Default(true, prefix+"allow-core-thread-timeout")), Refuses: true}
}

func hikari(s *source) limits.Connections {
	const prefix = "spring.datasource.hikari."
	return limits.Connections{Name: "hikari", At: limits.At{Key: prefix},
		Total: s.int(prefix + "maximum-pool-size").Or(limits.Default(10, prefix+"maximum-pool-size")),
		LeaseWait: s.duration(time.Millisecond, prefix+"connection-timeout").
			Or(limits.Default(30*time.Second, prefix+"connection-timeout")),
		Downstream: limits.Default("database", "")}
}

func redis(s *source, prefix, client string) limits.Connections {
	wait := s.duration(time.Millisecond, prefix+"max-wait").Or(limits.Default(time.Duration(-1), prefix+"max-wait"))
	if wait.Value < 0 {
		wait.Value = 0
	}
	return limits.Connections{Name: client, At: limits.At{Key: strings.TrimSuffix(prefix, ".")},
		Total: bounded(s.int(prefix + "max-active").Or(limits.Default(8, prefix+"max-active"))), LeaseWait: wait, Downstream: limits.Default("redis", "")}
}
