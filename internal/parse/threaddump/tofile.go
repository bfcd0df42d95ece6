package threaddump

import (
	"bytes"
	"strings"
)

// toFile reads the text of Thread.dump_to_file: «#22 "worker-1" virtual WAITING», then frames without «at».
type toFile struct {
	sink   *sink
	frames *frames
	locks  hotspot // reads the lines with a dash
	thread *Thread
	before [3]string // process id, time, version
	open   bool
}

// fileOpens tells whether a line is a thread's: a number sign, digits, a blank and a quote.
func fileOpens(line []byte) bool {
	if len(line) < 4 || line[0] != '#' {
		return false
	}
	i := 1
	for i < len(line) && line[i] >= '0' && line[i] <= '9' {
		i++
	}
	return i > 1 && i+1 < len(line) && line[i] == ' ' && line[i+1] == '"'
}

func (p *toFile) take(line []byte) (bool, error) {
	if fileOpens(line) {
		return true, p.header(line)
	}
	if !p.open {
		if text := strings.TrimSpace(string(line)); text != "" {
			p.before = [3]string{p.before[1], p.before[2], text}
		}
		return false, nil
	}
	p.line(bytes.TrimSpace(line))
	return true, nil
}

func (p *toFile) header(line []byte) error {
	if !p.open {
		p.open = true
		if err := p.sink.begin(Head{Format: HotSpotFile, When: p.before[1], Runtime: p.before[2]}); err != nil {
			return err
		}
	}
	if err := p.flush(); err != nil {
		return err
	}
	t := &Thread{ID: number(line[1:]), Count: 1, CPU: -1, Elapsed: -1}
	first, last := bytes.IndexByte(line, '"'), bytes.LastIndexByte(line, '"')
	if last > first {
		t.Name = string(line[first+1 : last])
	}
	for _, w := range bytes.Fields(line[last+1:]) {
		if string(w) == "virtual" {
			t.Virtual = true
		} else if s := ParseState(string(w)); s != Unknown {
			t.State = s
		}
	}
	p.thread = t
	return nil
}

func (p *toFile) line(text []byte) {
	switch {
	case p.thread == nil || len(text) == 0:
	case bytes.HasPrefix(text, []byte("- ")):
		p.locks.thread, p.locks.frames = p.thread, p.frames
		p.locks.lockLine(bytes.TrimPrefix(text, []byte("// ")))
	case bytes.HasSuffix(text, []byte(")")):
		p.thread.Stack = append(p.thread.Stack, p.frames.javaFrame(text))
	}
}

func (p *toFile) flush() error {
	t := p.thread
	p.thread = nil
	if t == nil {
		return nil
	}
	return p.sink.thread(t)
}

func (p *toFile) close() error {
	if !p.open {
		return nil
	}
	p.open = false
	if err := p.flush(); err != nil {
		return err
	}
	return p.sink.end()
}
