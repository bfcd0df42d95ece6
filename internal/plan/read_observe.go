package plan

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// DefaultEvery is how often a source is sampled.
const DefaultEvery = time.Second

func (r *reader) observe(n *node, services []Service) []Observe {
	if n == nil {
		return nil
	}
	if n.kind != sequence {
		r.add(Fault{Line: n.line, Key: "observe", Found: n.describe(), Allowed: "a list of sources", Do: "write [{process: NAME}, …]"})
		return nil
	}
	var known []string
	for _, s := range services {
		known = append(known, s.Name)
	}
	var out []Observe
	for i, item := range n.items {
		out = append(out, r.source(item, fmt.Sprintf("observe[%d]", i), known))
	}
	return out
}

func (r *reader) source(n *node, key string, services []string) Observe {
	f := r.mapping(n, key, "process", "prometheus", "service", "every")
	out := Observe{
		Process: f.textOr("process", "a service's name, pid:N, name:NAME or port:N", ""),
		Service: f.textOr("service", "the name of the service that the metrics belong to", ""),
		Every:   f.duration("every", DefaultEvery, span{10 * time.Millisecond, time.Minute}),
	}
	if p := f.find("process"); p != nil {
		f.process(p, services)
	}
	if u := f.find("prometheus"); u != nil {
		out.Prometheus = r.url(u, join(key, "prometheus"))
		f.need("service", "the name of the service that the metrics belong to")
	}
	if s := f.find("service"); s != nil && s.kind == text && !isName(s.value) {
		f.fail("service", s.describe(), "a name: letters, digits, _, - and ., a letter or _ first", "")
	}
	if f.has("process") == f.has("prometheus") && !f.broken {
		r.add(Fault{Line: n.line, Key: key, Found: map[bool]string{true: "process and prometheus", false: "neither process nor prometheus"}[f.has("process")],
			Allowed: "one of the two in a source", Do: "write a source for each"})
	}
	return out
}

// process checks that a process can be found: by the name of a service of the plan, or by pid, name or port.
func (f fields) process(n *node, services []string) {
	what, value, prefixed := strings.Cut(n.value, ":")
	ok := slices.Contains(services, n.value)
	if prefixed {
		id, err := strconv.Atoi(value)
		switch what {
		case "pid":
			ok = err == nil && id > 0
		case "port":
			ok = isPort(value)
		case "name":
			ok = value != ""
		}
	}
	if ok || n.kind == mapping || n.kind == sequence || n.kind == null {
		return
	}
	allowed, do := "pid:N, name:NAME, port:N", ""
	if len(services) > 0 {
		allowed = strings.Join(services, ", ") + ", " + allowed
	}
	if near := nearest(n.value, services); near != "" {
		do = fmt.Sprintf("did you mean %s?", near)
	}
	f.fail("process", n.describe(), allowed, do)
}
