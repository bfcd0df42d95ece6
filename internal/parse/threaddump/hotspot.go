package threaddump

import (
	"bytes"
	"strings"
	"time"
)

// hotspot reads HotSpot's text.
type hotspot struct {
	sink          *sink
	frames        *frames
	thread        *Thread // the one whose lines are read; nil between
	synchronisers bool    // inside «Locked ownable synchronizers»
	foreign       bool    // inside an exception that something else printed
	deadlock      []string
	mode          mode
	last          []byte // the line before: the time of a dump stands above it
	prefix        int    // columns that a logger puts before every line
}

// mode is the part of a dump.
type mode uint8

const (
	outside    mode = iota
	inThreads       // thread after thread
	inDeadlock      // who waits for whom
	inRepeat        // the stacks of a deadlock, told before
)

const opening = "Full thread dump"

// opens finds the words that open a dump; -1 where they are not. Frames, which are most lines, are not looked through.
func opens(line []byte) int {
	if len(line) == 0 || line[0] == '\t' {
		return -1
	}
	return bytes.Index(line, []byte(opening))
}

// take reads one line. It is false for a line that means nothing to this format.
func (p *hotspot) take(line []byte) (bool, error) {
	if at := opens(line); at >= 0 {
		return true, p.open(line, at)
	}
	p.last = append(p.last[:0], line...)
	if p.prefix > 0 && len(line) >= p.prefix {
		line = line[p.prefix:]
	}
	if t := p.header(line); t != nil && p.mode != inRepeat {
		return true, p.begin(t)
	}
	if p.mode == outside {
		return false, nil
	}
	return true, p.inside(line)
}

// open begins a dump. What stands before the words on the line is a logger's, and stands before the following lines as well.
func (p *hotspot) open(line []byte, at int) error {
	if err := p.close(); err != nil {
		return err
	}
	p.prefix, p.mode = at, inThreads
	runtime := strings.TrimSuffix(strings.TrimSpace(string(line[at+len(opening):])), ":")
	return p.sink.begin(Head{Format: HotSpot, When: timeOf(p.last[min(at, len(p.last)):]), Runtime: runtime})
}

// timeOf is a line that is a time and nothing else; empty for other lines.
func timeOf(line []byte) string {
	const form = "2006-01-02 15:04:05"
	text := bytes.TrimSpace(line)
	if len(text) < len(form) {
		return ""
	}
	if _, err := time.Parse(form, string(text[:len(form)])); err != nil || len(text) > len(form) && text[len(form)] != '.' {
		return ""
	}
	return string(text)
}

// begin opens a thread, and a dump where none was announced.
func (p *hotspot) begin(t *Thread) error {
	if p.mode == inDeadlock {
		return nil
	}
	if err := p.flush(); err != nil {
		return err
	}
	if p.mode == outside {
		if err := p.sink.begin(Head{Format: HotSpot}); err != nil {
			return err
		}
		p.mode = inThreads
	}
	p.thread, p.synchronisers, p.foreign = t, false, false
	return nil
}

// inside reads a line of a dump.
func (p *hotspot) inside(line []byte) error {
	text := bytes.TrimSpace(line)
	switch {
	case bytes.HasPrefix(text, []byte("Found ")) && bytes.Contains(text, []byte("Java-level deadlock")):
		return p.openDeadlock()
	case p.mode == inDeadlock || p.mode == inRepeat:
		return p.deadlockLine(text)
	case bytes.HasPrefix(line, []byte("JNI global ref")), bytes.Equal(text, []byte("Heap")):
		return p.flush() // A deadlock may follow.
	case p.thread == nil || len(text) == 0:
		return nil
	}
	return p.threadLine(text)
}

// threadLine reads a line below a thread's header.
func (p *hotspot) threadLine(text []byte) error {
	t := p.thread
	if frame, ok := bytes.CutPrefix(text, []byte("at ")); ok {
		if !p.foreign {
			t.Stack = append(t.Stack, p.frames.javaFrame(frame))
		}
		return nil
	}
	switch {
	case bytes.HasPrefix(text, []byte("java.lang.Thread.State: ")):
		p.state(text[len("java.lang.Thread.State: "):])
	case bytes.HasPrefix(text, []byte("Locked ownable synchronizers")), bytes.HasPrefix(text, []byte("Number of locked synchronizers")):
		p.synchronisers = true
		p.sink.head.Locks = true
	case bytes.HasPrefix(text, []byte("Carrying virtual thread #")):
		t.Carries = number(text[len("Carrying virtual thread #"):])
	case bytes.HasPrefix(text, []byte("Mounted virtual thread #")):
		return p.begin(&Thread{ID: number(text[len("Mounted virtual thread #"):]), Count: 1, CPU: -1, Elapsed: -1, State: Runnable, Virtual: true})
	case p.lockLine(text):
	default:
		p.foreign = throws(text)
		return nil
	}
	p.foreign = false
	return nil
}

// throws tells whether a line of other output is followed by the frames of an exception.
func throws(text []byte) bool {
	for _, word := range []string{"Exception", "Error", "Throwable", "Caused by:"} {
		if bytes.Contains(text, []byte(word)) {
			return true
		}
	}
	return false
}

func (p *hotspot) state(text []byte) {
	word, detail, _ := bytes.Cut(text, []byte(" "))
	p.thread.State, p.thread.Internal = ParseState(string(word)), false
	if d := bytes.Trim(detail, " ()"); len(d) > 0 {
		p.thread.Detail = p.frames.word(d)
	}
}

func (p *hotspot) openDeadlock() error {
	if err := p.flush(); err != nil {
		return err
	}
	if err := p.endDeadlock(); err != nil {
		return err
	}
	p.mode = inDeadlock
	return nil
}

// deadlockLine reads «"Thread-1":» and passes over the stacks, which the threads have told before.
func (p *hotspot) deadlockLine(text []byte) error {
	switch {
	case bytes.HasPrefix(text, []byte("Java stack information")):
		p.mode = inRepeat
		return p.endDeadlock()
	case bytes.HasPrefix(text, []byte("Found ")) && bytes.Contains(text, []byte("deadlock")):
		p.mode = inThreads
		return p.endDeadlock()
	case p.mode == inDeadlock && bytes.HasPrefix(text, []byte(`"`)) && bytes.HasSuffix(text, []byte(`":`)):
		p.deadlock = append(p.deadlock, string(text[1:len(text)-2]))
	}
	return nil
}

func (p *hotspot) endDeadlock() error {
	names := p.deadlock
	p.deadlock = nil
	if len(names) == 0 {
		return nil
	}
	return p.sink.deadlock(names)
}

// flush hands over the thread whose lines are complete.
func (p *hotspot) flush() error {
	t := p.thread
	p.thread, p.synchronisers, p.foreign = nil, false, false
	if t == nil {
		return nil
	}
	return p.sink.thread(t)
}

// close ends the dump.
func (p *hotspot) close() error {
	if p.mode == outside {
		return nil
	}
	if err := p.flush(); err != nil {
		return err
	}
	if err := p.endDeadlock(); err != nil {
		return err
	}
	p.mode, p.prefix = outside, 0
	return p.sink.end()
}

func number(text []byte) int64 {
	var v int64
	for _, c := range text {
		if c < '0' || c > '9' || v > 1<<56 {
			break
		}
		v = v*10 + int64(c-'0')
	}
	return v
}
