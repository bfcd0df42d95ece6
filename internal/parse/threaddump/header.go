package threaddump

import (
	"bytes"
	"strconv"
	"strings"
	"time"
)

// headerStarts are the words that can follow a thread's name. A name may hold quotes itself.
var headerStarts = []string{"#", "daemon ", "prio=", "os_prio=", "cpu=", "tid=", "nid=", "- Thread t@", "id=", "Id=", "virtual", "["}

// header reads the line that opens a thread: its name in quotes and what follows. It is nil for other lines.
func (p *hotspot) header(line []byte) *Thread {
	if len(line) < 2 || line[0] != '"' {
		return nil
	}
	for at := 1; ; {
		next := bytes.Index(line[at:], []byte(`" `))
		if next < 0 {
			return nil
		}
		at += next
		rest := strings.TrimLeft(string(line[at+2:]), " ")
		if startsHeader(rest) {
			return p.describe(string(line[1:at]), rest)
		}
		at++
	}
}

func startsHeader(rest string) bool {
	for _, s := range headerStarts {
		if strings.HasPrefix(rest, s) {
			return strings.Contains(rest, "id=") || strings.Contains(rest, "Id=") || strings.Contains(rest, "t@")
		}
	}
	return false
}

func (p *hotspot) describe(name, rest string) *Thread {
	t := &Thread{Name: strings.Clone(name), Count: 1, CPU: -1, Elapsed: -1}
	native := int64(0)
	for word := range strings.FieldsSeq(rest) {
		key, value, _ := strings.Cut(word, "=")
		switch key {
		case "nid", "lwp_id":
			native, _ = strconv.ParseInt(value, 0, 64)
		case "id", "Id":
			if t.ID == 0 { // A second one is the owner's.
				t.ID, _ = strconv.ParseInt(value, 10, 64)
			}
		case "cpu":
			t.CPU = duration(value)
		case "elapsed":
			t.Elapsed = duration(value)
		case "daemon":
			t.Daemon = true
		case "virtual":
			t.Virtual = true
		}
		if strings.HasPrefix(word, "#") && t.ID == 0 {
			t.ID, _ = strconv.ParseInt(word[1:], 10, 64)
		}
		if id, ok := strings.CutPrefix(word, "t@"); ok && t.ID == 0 {
			t.ID, _ = strconv.ParseInt(id, 10, 64)
		}
	}
	t.Native = native
	p.tail(t, rest)
	return t
}

// tail reads what stands behind the ids: HotSpot's own words for the state, or ThreadInfo's state and lock.
func (p *hotspot) tail(t *Thread, rest string) {
	words := strings.Fields(rest)
	for i, w := range words {
		if s := ParseState(w); s != Unknown {
			t.State = s
			t.infoLock(p, strings.Join(words[i+1:], " "))
			return
		}
	}
	at := max(strings.LastIndex(rest, "nid="), strings.LastIndex(rest, "lwp_id="))
	if at < 0 {
		return
	}
	_, after, _ := strings.Cut(rest[at:], " ")
	after, _, _ = strings.Cut(after, "[")
	t.Detail = p.frames.word([]byte(strings.TrimSpace(after)))
	// Threads that have no Java state line are the JVM's own; one that comes clears this.
	t.Internal = true
	t.State = hotspotState(t.Detail)
}

// infoLock reads ThreadInfo's «on java.lang.Object@1b2c owned by "x" Id=3».
func (t *Thread) infoLock(p *hotspot, rest string) {
	lock, ok := strings.CutPrefix(rest, "on ")
	if !ok {
		return
	}
	t.WaitFor = p.object([]byte(lock))
	switch t.State {
	case Blocked:
		t.Wait = ForMonitor
	default:
		t.Wait = Parked
	}
}

func hotspotState(words string) State {
	switch {
	case words == "runnable":
		return Runnable
	case strings.HasPrefix(words, "waiting for monitor entry"):
		return Blocked
	case strings.HasPrefix(words, "in Object.wait()"), strings.HasPrefix(words, "waiting on condition"):
		return Waiting
	case strings.HasPrefix(words, "sleeping"):
		return TimedWaiting
	}
	return Unknown
}

// duration reads «1124.82ms» and «116459.50s»; -1 for anything else.
func duration(s string) time.Duration {
	if d, err := time.ParseDuration(s); err == nil {
		return d
	}
	return -1
}
