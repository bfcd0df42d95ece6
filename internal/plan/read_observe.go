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

// sourceKinds are the keys of which a source has exactly one.
var sourceKinds = []string{"process", "prometheus", "dumps", "jvm"}

// JVMDumps begins a source of dumps that is a JVM's process.
const JVMDumps = "jvm:"

func (r *reader) source(n *node, key string, services []string) Observe {
	f := r.mapping(n, key, append(slices.Clone(sourceKinds), "service", "every")...)
	const anyProcess = "a service's name, pid:N, name:NAME or port:N"
	out := Observe{
		Process: f.textOr("process", anyProcess, ""), JVM: f.textOr("jvm", anyProcess, ""),
		Dumps:   f.textOr("dumps", "the URL of net/http/pprof, or jvm: and "+anyProcess, ""),
		Service: f.textOr("service", "the name of the service that the metrics or dumps belong to", ""),
		Every:   f.duration("every", DefaultEvery, span{10 * time.Millisecond, time.Minute}),
	}
	for name, value := range map[string]string{"process": out.Process, "jvm": out.JVM} {
		if p := f.find(name); p != nil {
			f.process(name, value, p, services)
		}
	}
	if u := f.find("prometheus"); u != nil {
		out.Prometheus = r.url(u, join(key, "prometheus"))
		f.need("service", "the name of the service that the metrics belong to")
	}
	f.dumps(&out, services)
	if s := f.find("service"); s != nil && s.kind == text && !isName(s.value) {
		f.fail("service", s.describe(), "a name: letters, digits, _, - and ., a letter or _ first", "")
	}
	r.oneKind(f, n, key)
	return out
}

// dumps checks where dumps are taken, and to whom they belong.
func (f fields) dumps(out *Observe, services []string) {
	n := f.find("dumps")
	if n == nil {
		return
	}
	process, isJVM := strings.CutPrefix(out.Dumps, JVMDumps)
	if !isJVM {
		f.r.url(n, join(f.key, "dumps"))
		f.need("service", "the name of the service that the dumps belong to")
		return
	}
	f.process("dumps", process, n, services)
	if slices.Contains(services, process) && out.Service == "" {
		out.Service = process
		return
	}
	f.need("service", "the name of the service that the dumps belong to")
}

// oneKind refuses a source of several kinds, or of none.
func (r *reader) oneKind(f fields, n *node, key string) {
	var found []string
	for _, kind := range sourceKinds {
		if f.has(kind) {
			found = append(found, kind)
		}
	}
	if len(found) == 1 || f.broken {
		return
	}
	what := strings.Join(found, " and ")
	if what == "" {
		what = "none"
	}
	r.add(Fault{Line: n.line, Key: key, Found: what, Allowed: "one of " + strings.Join(sourceKinds, ", ") + " in a source", Do: "write a source for each"})
}

// process checks that a process can be found: by the name of a service of the plan, or by pid, name or port.
func (f fields) process(key, found string, n *node, services []string) {
	what, value, prefixed := strings.Cut(found, ":")
	ok := slices.Contains(services, found)
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
	if near := nearest(found, services); near != "" {
		do = fmt.Sprintf("did you mean %s?", near)
	}
	f.fail(key, n.describe(), allowed, do)
}
