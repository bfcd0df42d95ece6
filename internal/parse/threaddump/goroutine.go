package threaddump

import (
	"bytes"
	"encoding/json"
	"strings"
	"time"
)

// goroutines reads Go's text: debug=2 and what a crash or SIGQUIT prints (one goroutine after the other), and debug=1 (counts).
type goroutines struct {
	sink    *sink
	frames  *frames
	thread  *Thread
	seen    map[int64]bool // ids of this dump: one that comes again begins the next
	open    bool
	counted bool // debug=1
	skip    bool // inside what an ancestor did
	created bool // the next line tells where
	call    bool // the last line was a call whose place follows
}

// mostSeen bounds the memory for ids. A dump of more goroutines is one dump whatever follows.
const mostSeen = 1 << 20

var (
	profileOpens = []byte("goroutine profile: total ")
	goroutine    = []byte("goroutine ")
	goLabelsOpen = []byte(" labels:{")
)

// goOpens tells whether a line that begins with «goroutine » opens a goroutine or a profile.
func goOpens(line []byte) bool {
	if bytes.HasPrefix(line, profileOpens) {
		return true
	}
	rest := line[len(goroutine):]
	return len(rest) > 0 && rest[0] >= '0' && rest[0] <= '9' && bytes.IndexByte(rest, '[') > 0 && bytes.HasSuffix(rest, []byte(":"))
}

func (g *goroutines) take(line []byte) (bool, error) {
	switch {
	case bytes.HasPrefix(line, profileOpens):
		g.counted = true
		return true, g.begin()
	case bytes.HasPrefix(line, goroutine) && goOpens(line):
		return true, g.header(line)
	case !g.open:
		return false, nil
	case g.counted:
		return true, g.countedLine(line)
	}
	return true, g.line(line)
}

func (g *goroutines) begin() error {
	if err := g.flush(); err != nil {
		return err
	}
	g.open, g.seen = true, map[int64]bool{}
	return g.sink.begin(Head{Format: Go})
}

// header reads «goroutine 7 gp=0xc0 m=3 [chan receive, 5 minutes, locked to thread]:».
func (g *goroutines) header(line []byte) error {
	id := number(line[len(goroutine):])
	if !g.open || g.counted || g.seen[id] {
		g.counted = false
		if err := g.begin(); err != nil {
			return err
		}
	}
	if err := g.flush(); err != nil {
		return err
	}
	if len(g.seen) < mostSeen {
		g.seen[id] = true
	}
	t := &Thread{ID: id, Count: 1, CPU: -1, Elapsed: -1}
	words := bytes.TrimSuffix(line[bytes.IndexByte(line, '[')+1:], []byte("]:"))
	if at := bytes.Index(words, goLabelsOpen); at >= 0 {
		t.setLabels(words[at+len(goLabelsOpen)-1:])
		words = words[:at]
	}
	reason, details, _ := bytes.Cut(words, []byte(", "))
	t.Detail = g.frames.word(reason)
	for part := range bytes.SplitSeq(details, []byte(", ")) {
		if minutes, ok := bytes.CutSuffix(part, []byte(" minutes")); ok {
			t.Waited = time.Duration(number(minutes)) * time.Minute
		}
	}
	t.State = goState(t.Detail)
	g.thread = t
	return nil
}

// goState puts the runtime's wait reasons into Java's words (runtime/runtime2.go, waitReasonStrings).
func goState(reason string) State {
	for _, mark := range []string{" (durable)", " (scan)", " (leaked)"} {
		reason = strings.TrimSuffix(reason, mark)
	}
	switch {
	case reason == "running", reason == "runnable", reason == "syscall", reason == "GC assist marking", reason == "GC worker (active)", reason == "preempted", reason == "copystack":
		return Runnable
	case strings.HasPrefix(reason, "sync.Mutex"), strings.HasPrefix(reason, "sync.RWMutex"):
		return Blocked
	case reason == "sleep":
		return TimedWaiting
	case reason == "idle", reason == "dead":
		return Terminated
	}
	return Waiting
}

// setLabels reads «{"pool":"price", "worker":"price-worker-1"}», which stands behind the state where the program runs with
// GODEBUG=tracebacklabels=1, and on a line of its own in debug=1. A worker's label is its name.
func (t *Thread) setLabels(text []byte) {
	var labels map[string]string
	if json.Unmarshal(text, &labels) != nil {
		return // Quoted as no other program would.
	}
	t.Labels = labels
	if t.Count == 1 {
		t.Name = labels["worker"]
	}
}

// line reads a line below a goroutine's header.
func (g *goroutines) line(line []byte) error {
	t := g.thread
	if t == nil {
		return nil
	}
	place := len(line) > 0 && line[0] == '\t'
	switch {
	case len(line) == 0:
		return g.flush()
	case bytes.HasPrefix(line, []byte("[originating from goroutine")):
		g.skip = true
	case g.skip:
	case bytes.HasPrefix(line, []byte("created by ")):
		g.createdBy(line[len("created by "):])
	case bytes.HasPrefix(line, []byte("...")):
	case place && g.call && !g.created:
		f := &t.Stack[len(t.Stack)-1]
		f.File, f.Line = g.place(line[1:])
		g.call = false
	case !place && !g.created && bytes.HasSuffix(line, []byte(")")):
		t.Stack = append(t.Stack, g.frames.goCall(line))
		g.call = true
	}
	return nil
}

func (g *goroutines) createdBy(text []byte) {
	name, _, _ := bytes.Cut(text, []byte(" in goroutine "))
	g.thread.CreatedBy = g.frames.word(name)
	g.created = true
}

// place reads «/src/order.go:12 +0x1d».
func (g *goroutines) place(text []byte) (file string, line int) {
	if at := bytes.LastIndex(text, []byte(" +0x")); at >= 0 {
		text = text[:at]
	}
	at := bytes.LastIndexByte(text, ':')
	if at < 0 {
		return g.frames.word(text), 0
	}
	return g.frames.word(text[:at]), int(number(text[at+1:]))
}

// countedLine reads debug=1: «3 @ 0x43 0x44», «# labels: {…}», «#	0x43	main.work+0x1d	/src/main.go:12».
func (g *goroutines) countedLine(line []byte) error {
	if n, _, ok := bytes.Cut(line, []byte(" @ ")); ok && len(n) > 0 && n[0] >= '0' && n[0] <= '9' {
		if err := g.flush(); err != nil {
			return err
		}
		g.thread = &Thread{Count: max(1, int(number(n))), CPU: -1, Elapsed: -1}
		return nil
	}
	if g.thread == nil {
		return nil
	}
	if labels, ok := bytes.CutPrefix(line, []byte("# labels: ")); ok {
		g.thread.setLabels(bytes.TrimSpace(labels))
		return nil
	}
	f := bytes.Split(line, []byte("\t"))
	if len(f) < 4 || len(f[0]) != 1 || f[0][0] != '#' {
		return nil
	}
	name := f[2]
	if at := bytes.LastIndexByte(name, '+'); at > 0 {
		name = name[:at]
	}
	frame := Frame{Func: g.frames.word(name)}
	frame.File, frame.Line = g.place(bytes.TrimSpace(f[len(f)-1]))
	g.thread.Stack = append(g.thread.Stack, frame)
	return nil
}

func (g *goroutines) flush() error {
	t := g.thread
	g.thread, g.skip, g.created, g.call = nil, false, false, false
	if t == nil {
		return nil
	}
	return g.sink.thread(t)
}

func (g *goroutines) close() error {
	if !g.open {
		return nil
	}
	g.open, g.counted = false, false
	if err := g.flush(); err != nil {
		return err
	}
	return g.sink.end()
}
