package launch

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"
)

const (
	tailLines   = 20
	tailLineMax = 1000            // bytes of a line that are kept
	drain       = 2 * time.Second // for output of a process that has ended, while another one may still hold the pipe
)

// output takes what a service writes: to the rings of last lines, and to a log file where one is wanted.
type output struct {
	stdout, stderr stream
	log            *os.File // nil: none; guarded by mu
	mu             sync.Mutex
	readers        sync.WaitGroup
}

type stream struct {
	read, write *os.File
	ring        ring
}

func newOutput(logFile string) (*output, error) {
	o := &output{}
	if logFile != "" {
		f, err := os.OpenFile(logFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
		if err != nil {
			return nil, fmt.Errorf("log: %w", err)
		}
		o.log = f
	}
	for _, s := range []*stream{&o.stdout, &o.stderr} {
		var err error
		if s.read, s.write, err = os.Pipe(); err != nil {
			o.closeAll()
			return nil, fmt.Errorf("pipe for its output: %w", err)
		}
	}
	return o, nil
}

func (o *output) closeAll() {
	for _, f := range []*os.File{o.stdout.read, o.stdout.write, o.stderr.read, o.stderr.write, o.log} {
		if f != nil {
			f.Close()
		}
	}
}

// begin hands the writing ends to the child, which must have been started, and reads.
func (o *output) begin() {
	for _, s := range []*stream{&o.stdout, &o.stderr} {
		s.write.Close()
		o.readers.Go(func() { o.copy(s) })
	}
}

func (o *output) copy(s *stream) {
	buf := make([]byte, 16<<10)
	for {
		n, err := s.read.Read(buf)
		if n > 0 {
			s.ring.add(buf[:n])
			o.logged(buf[:n])
		}
		if err != nil {
			return
		}
	}
}

// logged writes to the log. A full disk must not end a run: the log ends instead, and says so in the tail.
func (o *output) logged(b []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.log == nil {
		return
	}
	if _, err := o.log.Write(b); err != nil {
		o.stderr.ring.add([]byte("\nloadline: the log ends here: " + err.Error() + "\n"))
		o.log.Close()
		o.log = nil
	}
}

// end reads what is left and frees everything. It is called once the process has ended.
func (o *output) end() {
	deadline := time.Now().Add(drain)
	for _, s := range []*stream{&o.stdout, &o.stderr} {
		// Note: a pipe that some runaway still holds open would never end by itself.
		_ = s.read.SetReadDeadline(deadline)
	}
	o.readers.Wait()
	o.closeAll()
}

func (o *output) tail() []string {
	if lines := o.stderr.ring.lines(); len(lines) > 0 {
		return lines
	}
	return o.stdout.ring.lines()
}

// ring keeps the last lines written to it.
type ring struct {
	mu   sync.Mutex
	full [][]byte // guarded by mu; the last complete lines
	part []byte   // guarded by mu; the line under way
}

func (r *ring) add(b []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for {
		line, rest, complete := bytes.Cut(b, []byte("\n"))
		if room := tailLineMax - len(r.part); room > 0 {
			r.part = append(r.part, line[:min(room, len(line))]...)
		}
		if !complete {
			return
		}
		r.pushLocked()
		b = rest
	}
}

func (r *ring) pushLocked() {
	if len(r.full) == tailLines {
		copy(r.full, r.full[1:])
		r.full = r.full[:tailLines-1]
	}
	r.full = append(r.full, r.part)
	r.part = nil
}

func (r *ring) lines() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []string
	for _, l := range r.full {
		out = append(out, Readable(l))
	}
	if len(r.part) > 0 {
		out = append(out, Readable(r.part))
	}
	return out[max(0, len(out)-tailLines):]
}

// escapes are the sequences by which programs colour their output and steer a terminal: CSI and OSC of ECMA-48, and the two-byte ones.
var escapes = regexp.MustCompile(`\x1b(\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(\x07|\x1b\\)|[ -/]*[0-~])`)

// Readable is a line as it may stand in a message: valid UTF-8 without anything that steers a terminal. What a service writes is not
// Loadline's to trust.
func Readable(line []byte) string {
	text := strings.ToValidUTF8(string(bytes.TrimSuffix(line, []byte("\r"))), string(utf8.RuneError))
	return strings.Map(func(c rune) rune {
		switch {
		case c == '\t':
			return ' '
		case unicode.IsControl(c):
			return utf8.RuneError
		}
		return c
	}, escapes.ReplaceAllString(text, ""))
}
