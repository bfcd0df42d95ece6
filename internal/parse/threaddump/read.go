package threaddump

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// ErrNoDump says that nothing in a text was a dump.
var ErrNoDump = errors.New("found no thread dump: want HotSpot's text (jstack, jcmd Thread.print, kill -3), " +
	"JSON or text of jcmd Thread.dump_to_file, or Go's goroutines (pprof debug=1 or 2, crash output)")

// Visit reads all dumps of a stream, thread by thread, in constant memory. It is ErrNoDump where there was none.
func Visit(r io.Reader, v Visitor) error {
	in := newLines(r)
	s := &sink{visitor: v}
	var err error
	if c := in.peek(); c == '{' {
		err = readJSON(in.in, s)
	} else {
		err = readText(in, s)
	}
	if err != nil {
		return err
	}
	if s.dumps == 0 {
		return ErrNoDump
	}
	return nil
}

// Read reads all dumps of a stream, each as a whole, one at a time.
func Read(r io.Reader, each func(*Dump) error) error {
	var d *Dump
	return Visit(r, Visitor{
		Begin:    func(h Head) error { d = &Dump{Head: h}; return nil },
		Thread:   func(t *Thread) error { d.Threads = append(d.Threads, *t); return nil },
		Deadlock: func(names []string) error { d.Deadlocks = append(d.Deadlocks, names); return nil },
		End: func(h Head) error {
			d.Head = h
			return each(d)
		},
	})
}

// All reads all dumps of a stream into memory.
func All(r io.Reader) ([]*Dump, error) {
	var out []*Dump
	err := Read(r, func(d *Dump) error { out = append(out, d); return nil })
	return out, err
}

// reader is one format of text, line by line.
type reader interface {
	take(line []byte) (bool, error)
	close() error
}

// readText gives every line to the format whose dump is under way; what opens a dump of another format ends it.
func readText(in *lines, s *sink) error {
	words := newFrames()
	java, golang, file := &hotspot{sink: s, frames: words}, &goroutines{sink: s, frames: words}, &toFile{sink: s, frames: words}
	formats := []reader{java, golang, file}
	var current reader
	for {
		line, err := in.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("read thread dump, line %d: %w", in.number+1, err)
		}
		chosen := choose(line, current, java, golang, file)
		if current != nil && chosen != current {
			if err := current.close(); err != nil {
				return err
			}
		}
		current, err = offer(line, chosen, formats)
		if err != nil {
			return err
		}
	}
	if current == nil {
		return nil
	}
	return current.close()
}

// choose looks for the words that open a dump.
func choose(line []byte, current, java, golang, file reader) reader {
	switch {
	case bytes.HasPrefix(line, []byte("goroutine ")) && goOpens(line):
		return golang
	case current != java && opens(line) >= 0:
		return java
	case current == nil && fileOpens(line):
		return file
	}
	return current
}

// offer gives the line to the chosen format; where none is, to each until one takes it.
func offer(line []byte, chosen reader, formats []reader) (reader, error) {
	if chosen != nil {
		_, err := chosen.take(line)
		return chosen, err
	}
	for _, f := range formats {
		if taken, err := f.take(line); taken || err != nil {
			return f, err
		}
	}
	return nil, nil
}

// sink guards the order of a visitor's calls.
type sink struct {
	visitor Visitor
	head    Head
	open    bool
	dumps   int
}

func (s *sink) begin(h Head) error {
	if err := s.end(); err != nil {
		return err
	}
	s.head, s.open = h, true
	s.dumps++
	if s.visitor.Begin == nil {
		return nil
	}
	return s.visitor.Begin(h)
}

func (s *sink) thread(t *Thread) error {
	if s.visitor.Thread == nil {
		return nil
	}
	return s.visitor.Thread(t)
}

func (s *sink) deadlock(names []string) error {
	if s.visitor.Deadlock == nil {
		return nil
	}
	return s.visitor.Deadlock(names)
}

func (s *sink) end() error {
	if !s.open {
		return nil
	}
	s.open = false
	if s.visitor.End == nil {
		return nil
	}
	return s.visitor.End(s.head)
}
