// Package interchange reads the results of other load tools as if they were runs of our own, and writes ours in forms that other tools
// read. What a tool's figures mean is kept with them: which instant its latency starts from, whether connecting and errors are in it,
// and every trap of the format as a caveat. What cannot be known from a file stays unknown.
//
// Formats with one line a request are folded into histograms as they are read, in constant memory; formats that hold aggregates only
// become a summary, never samples.
//
// Source of the formats: the tools' own writers and documents, as docs/formats/imports.md lists them with versions.
package interchange

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/loadline-dev/loadline/internal/record"
)

// Format names a tool whose results can be read.
type Format string

// reader reads one format. It fills the cells of a run and leaves name, id and environment to Import.
type reader func(in *bufio.Reader, opt Options) ([]record.Cell, error)

// Options are what a file cannot tell.
type Options struct {
	// Transactions counts JMeter's transaction controllers instead of their children.
	Transactions bool
	// Location is the time zone of stamps that are written without one. Nil: UTC.
	Location *time.Location
}

func readers() map[Format]reader {
	return map[Format]reader{
		"ab": readAb, "bombardier": readBombardier, "fortio": readFortioForms, "gatling": readGatling, "ghz": readGhz, "hdr": readHdr, "hey": readHey,
		"jtl": readJTL, "k6": readK6, "locust": readLocust, "oha": readOha, "vegeta": readVegeta, "wrk": readWrk, "wrk2": readWrk,
	}
}

// Formats lists the names that Import takes, sorted.
func Formats() []Format {
	var out []Format
	for f := range readers() {
		out = append(out, f)
	}
	slices.Sort(out)
	return out
}

// Import reads a file of another tool. The variant of the format is recognised from its content. A file that holds no statistics is
// refused with an InputError.
func Import(format Format, file string, in io.Reader, opt Options) (record.Run, error) {
	read, ok := readers()[format]
	if !ok {
		return record.Run{}, fmt.Errorf("unknown format %q: one of %v", format, Formats())
	}
	if opt.Location == nil {
		opt.Location = time.UTC
	}
	unpacked, err := unpack(in)
	if err != nil {
		return record.Run{}, inFile(file, err)
	}
	cells, err := read(unpacked, opt)
	if err != nil {
		return record.Run{}, inFile(file, err)
	}
	run := record.Run{Name: fmt.Sprintf("%s import of %s", format, file), Cells: cells}
	if len(cells) > 0 {
		run.Started = cells[0].Started
		run.Ended = run.Started
	}
	return run, nil
}

// unpack reads through gzip where the file is packed.
func unpack(in io.Reader) (*bufio.Reader, error) {
	const size = 1 << 18
	buffered := bufio.NewReaderSize(in, size)
	if head, _ := buffered.Peek(2); !bytes.Equal(head, []byte{0x1f, 0x8b}) {
		return buffered, nil
	}
	z, err := gzip.NewReader(buffered)
	if err != nil {
		return nil, faultAt(0, "check that the file is whole", "gzip: %v", err)
	}
	return bufio.NewReaderSize(z, size), nil
}

// InputError is a fault in an imported file.
type InputError struct {
	File   string
	Line   int    // from 1; 0 where the whole file is meant
	Fault  string // what was found and what is allowed
	Advice string // what to do
}

// Error names file, line and fault.
func (e *InputError) Error() string {
	if e.Line > 0 {
		return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Fault)
	}
	return fmt.Sprintf("%s: %s", e.File, e.Fault)
}

// Hint is what to do about it.
func (e *InputError) Hint() string { return e.Advice }

func inFile(file string, err error) error {
	var e *InputError
	if errors.As(err, &e) {
		e.File = file
		return e
	}
	return fmt.Errorf("%s: %w", file, err)
}

func faultAt(line int, advice, format string, args ...any) error {
	return &InputError{Line: line, Fault: fmt.Sprintf(format, args...), Advice: advice}
}

// clip shortens text for a message.
func clip(text string) string {
	text = strings.ToValidUTF8(text, "?")
	if len(text) > 60 {
		return text[:60] + "…"
	}
	return text
}
