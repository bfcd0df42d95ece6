package plan

import (
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Defaults of a service and of apply.
const (
	DefaultReadyTimeout = 10 * time.Second
	DefaultGrace        = 5 * time.Second
	DefaultSignal       = "TERM"
	DefaultApplyTimeout = 30 * time.Second
)

var stopSignals = []string{"TERM", "INT", "QUIT", "HUP", "USR1", "USR2", "KILL"}

func (r *reader) services(n *node) []Service {
	if n == nil {
		return nil
	}
	f := r.open(n, "services", "a mapping of names and services")
	var out []Service
	for _, e := range f.node.entry {
		r.checkName(e.line, join("services", e.key), e.key)
		out = append(out, r.service(e.value, e.key))
	}
	return out
}

func (r *reader) service(n *node, name string) Service {
	key := join("services", name)
	f := r.mapping(n, key, "command", "ready", "env", "cpus", "dir", "log", "stop")
	out := Service{Name: name, Ready: Ready{Timeout: DefaultReadyTimeout}, Stop: Stop{Signal: DefaultSignal, Grace: DefaultGrace}}
	const want = "a list: the program and its arguments"
	if c := f.need("command", want); c != nil {
		out.Command = r.command(c, join(key, "command"), want)
	}
	if n := f.find("ready"); n != nil {
		out.Ready = r.ready(n, join(key, "ready"))
	}
	if n := f.find("env"); n != nil {
		out.Env = r.env(n, join(key, "env"))
	}
	out.CPUs = f.textOr("cpus", "a list of CPUs such as 0-1 or 0,2", "")
	if c := f.find("cpus"); c != nil {
		if _, err := ParseCPUs(c.value); err != nil {
			f.fail("cpus", c.describe(), "a list of CPUs such as 0-1 or 0,2", "")
		}
	}
	out.Dir = f.textOr("dir", "the path of a folder, from the plan's folder", "")
	out.Log = f.textOr("log", "the path of a file, from the plan's folder", "")
	if n := f.find("stop"); n != nil {
		s := r.mapping(n, join(key, "stop"), "signal", "grace")
		out.Stop.Signal = s.word("signal", DefaultSignal, stopSignals...)
		out.Stop.Grace = s.duration("grace", DefaultGrace, span{0, 10 * time.Minute})
	}
	return out
}

func (r *reader) command(n *node, key, want string) []string {
	out := r.texts(n, key, want)
	if n.kind == sequence && (len(n.items) == 0 || n.items[0].value == "") {
		r.add(Fault{Line: n.line, Key: key, Found: "no program", Allowed: want})
	}
	return out
}

func (r *reader) ready(n *node, key string) Ready {
	f := r.mapping(n, key, "url", "tcp", "timeout")
	out := Ready{Timeout: f.duration("timeout", DefaultReadyTimeout, span{10 * time.Millisecond, time.Hour})}
	if u := f.find("url"); u != nil {
		out.URL = r.url(u, join(key, "url"))
	}
	if t := f.find("tcp"); t != nil {
		out.TCP = r.text(t, join(key, "tcp"), "HOST:PORT")
		if _, port, err := net.SplitHostPort(t.value); err != nil || !isPort(port) {
			f.fail("tcp", t.describe(), "HOST:PORT such as 127.0.0.1:8080", "")
		}
	}
	if f.has("url") == f.has("tcp") && !f.broken {
		r.add(Fault{Line: n.line, Key: key, Found: map[bool]string{true: "url and tcp", false: "neither url nor tcp"}[f.has("url")], Allowed: "one of the two",
			Do: "leave ready out where a started program counts as ready"})
	}
	return out
}

func isPort(s string) bool {
	n, err := strconv.Atoi(s)
	return err == nil && n >= 1 && n <= 65535
}

func (r *reader) env(n *node, key string) []Header {
	f := r.open(n, key, "a mapping of variables and values")
	var out []Header
	for _, e := range f.node.entry {
		if e.key == "" || strings.ContainsAny(e.key, "=\x00") {
			r.add(Fault{Line: e.line, Key: join(key, e.key), Found: fmt.Sprintf("the variable %q", e.key), Allowed: "a name without ="})
		}
		value := r.text(e.value, join(key, e.key), "text")
		if strings.Contains(e.value.value, "\x00") {
			r.add(Fault{Line: e.line, Key: join(key, e.key), Found: "a NUL byte", Allowed: "text"})
		}
		out = append(out, Header{Name: e.key, Value: value})
	}
	return out
}

// maxCPU is the largest CPU number that a list may name; Linux's CPU_SETSIZE is 1024.
const maxCPU = 1023

// ParseCPUs reads a list of CPUs as taskset and cgroups write it, such as 0-3,8. The result is sorted, each CPU once.
func ParseCPUs(s string) ([]int, error) {
	var out []int
	for part := range strings.SplitSeq(s, ",") {
		from, to, isRange := strings.Cut(part, "-")
		if !isRange {
			to = from
		}
		a, errA := strconv.ParseUint(from, 10, 16)
		b, errB := strconv.ParseUint(to, 10, 16)
		if errA != nil || errB != nil || a > b || b > maxCPU {
			return nil, fmt.Errorf("CPU list %q: found %q, want a CPU or a range from 0 to %d such as 0-3,8", s, part, maxCPU)
		}
		for c := a; c <= b; c++ {
			out = append(out, int(c))
		}
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// apply reads how a setting reaches a system that Loadline did not start: one step, or a list.
func (r *reader) apply(n *node) []ApplyStep {
	if n == nil {
		return nil
	}
	if n.kind != sequence {
		return []ApplyStep{r.applyStep(n, "apply")}
	}
	if len(n.items) == 0 {
		r.add(Fault{Line: n.line, Key: "apply", Found: "an empty list", Allowed: "one or more steps", Do: "remove apply"})
	}
	var out []ApplyStep
	for i, item := range n.items {
		out = append(out, r.applyStep(item, fmt.Sprintf("apply[%d]", i)))
	}
	return out
}

func (r *reader) applyStep(n *node, key string) ApplyStep {
	f := r.mapping(n, key, "command", "http", "timeout", "settle")
	out := ApplyStep{
		Timeout: f.duration("timeout", DefaultApplyTimeout, span{time.Millisecond, time.Hour}),
		Settle:  f.duration("settle", 0, span{0, time.Hour}),
	}
	if c := f.find("command"); c != nil {
		out.Command = r.command(c, join(key, "command"), "a list: the program and its arguments")
	}
	if h := f.find("http"); h != nil {
		request := r.request(h, join(key, "http"), "url", "method", "headers", "body", "body_file")
		request.Timeout = out.Timeout
		out.HTTP = &request
	}
	if f.has("command") == f.has("http") && !f.broken {
		r.add(Fault{Line: n.line, Key: key, Found: map[bool]string{true: "command and http", false: "neither command nor http"}[f.has("http")],
			Allowed: "one of the two in a step", Do: "write a list of steps where both are meant"})
	}
	return out
}
