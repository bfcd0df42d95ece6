package settings

import (
	"fmt"
	"strings"
	"time"

	"github.com/loadline-dev/loadline/internal/parse/limits"
)

// readDynamic reads dynamic-tp's executors, under the prefix of either generation.
func readDynamic(s *source) limits.System {
	var sys limits.System
	for _, prefix := range []string{"dynamictp.", "spring.dynamic.tp."} {
		if !s.has(prefix) {
			continue
		}
		for i := range entries(s, prefix+"executors") {
			sys.Pools = append(sys.Pools, dynamicPool(s, fmt.Sprintf("%sexecutors[%d].", prefix, i)))
		}
		if max := s.int(prefix + "tomcat-tp.maximum-pool-size"); max.Known {
			sys.Containers = append(sys.Containers, limits.Container{Name: "tomcat (dynamic-tp)", Workers: max})
		}
	}
	return sys
}

// entries counts a list's entries.
func entries(s *source, list string) int {
	n := 0
	for s.has(canonical(fmt.Sprintf("%s[%d].", list, n))) {
		n++
	}
	return n
}

func dynamicPool(s *source, prefix string) limits.Pool {
	p := limits.Pool{At: limits.At{Key: strings.TrimSuffix(prefix, ".")}, Refuses: true,
		Name:        s.text(prefix+"thread-pool-name", prefix+"thread-pool-alias-name").Value,
		Core:        s.int(prefix + "core-pool-size").Or(limits.Default(1, prefix+"corePoolSize")),
		Max:         bounded(s.int(prefix + "maximum-pool-size")),
		Queue:       bounded(s.int(prefix + "queue-capacity").Or(limits.Default(1024, prefix+"queueCapacity"))),
		KeepAlive:   s.duration(time.Second, prefix+"keep-alive-time"),
		CoreTimeout: s.bool(prefix + "allow-core-thread-time-out")}
	if p.Name == "" {
		p.Name = p.At.Key
	}
	if handler := s.text(prefix + "rejected-handler-type"); strings.Contains(strings.ToLower(handler.Value), "callerruns") {
		p.Refuses = false
	}
	if kind := s.text(prefix+"executor-type", prefix+"executor-class"); strings.Contains(strings.ToLower(kind.Value), "eager") {
		p.Growth = limits.WorkersFirst
	}
	dynamicQueue(s, &p, s.text(prefix+"queue-type"))
	for _, field := range []string{"run-timeout", "queue-timeout"} {
		if d := s.duration(time.Millisecond, prefix+field); d.Value > 0 && !s.bool(prefix+"try-interrupt").Value {
			p.Observed = append(p.Observed, d)
		}
	}
	return p
}

// dynamicQueue takes the queue's kind into account: only the variable one changes its capacity live, and a synchronous one has none.
func dynamicQueue(s *source, p *limits.Pool, kind limits.Of[string]) {
	name := strings.ToLower(kind.Value)
	switch {
	case strings.Contains(name, "synchronous"):
		if p.Queue.Given && p.Queue.Value != 0 {
			s.fault(limits.Fault{Kind: limits.WithoutEffect, At: p.Queue.At, Also: []limits.At{kind.At},
				Text: fmt.Sprintf("a capacity of %d on a SynchronousQueue, which hands off and holds nothing", p.Queue.Value),
				Next: "another queue type, or leave the capacity out"})
		}
		p.Queue = limits.Written(0, kind.At)
	case strings.Contains(name, "priority"), strings.Contains(name, "delay"), strings.Contains(name, "transfer"):
		p.Queue = limits.Written(limits.Unbounded, kind.At)
	case kind.Known && !strings.Contains(name, "variable") && p.Queue.Given:
		p.Fixed = append(p.Fixed, p.Queue)
	}
}
