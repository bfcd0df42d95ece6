package interchange

import (
	"bufio"
	"bytes"
	"html"
	"io"

	"github.com/loadline-dev/loadline/internal/record"
)

// jtlXML reads a JTL in XML element by element. A general XML reader is not used: it is three times slower, and the file is well-formed
// only if the test was not killed.
//
// JMeter escapes «<» and «>» in attributes and text, so an element ends with the first «>».
type jtlXML struct {
	in       *bufio.Reader
	gathered *jtl
	line     int
	depth    int // of samples within samples
	spill    []byte
	root     bool // the closing tag of the root was seen
}

func readJTLXML(in *bufio.Reader, opt Options) ([]record.Cell, error) {
	x := &jtlXML{in: in, gathered: newJTL(opt), line: 1}
	for {
		tag, err := x.tag()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, faultAt(x.line, "check that the file is whole", "%v", err)
		}
		if err := x.element(tag); err != nil {
			return nil, err
		}
	}
	if !x.root {
		x.gathered.caveat("truncated", "the file has no closing tag: the test was killed or the file is cut off")
	}
	return x.gathered.cells("XML")
}

// tag reads up to the end of the next element's tag and returns it without «<» and «>».
func (x *jtlXML) tag() ([]byte, error) {
	part, err := x.in.ReadSlice('>')
	if err == bufio.ErrBufferFull {
		x.spill = append(x.spill[:0], part...)
		for err == bufio.ErrBufferFull {
			part, err = x.in.ReadSlice('>')
			x.spill = append(x.spill, part...)
			if len(x.spill) > maxRow {
				return nil, errLongRow
			}
		}
		part = x.spill
	}
	x.line += bytes.Count(part, []byte{'\n'})
	if err != nil {
		return nil, err // What stands after the last «>» is no element.
	}
	start := bytes.IndexByte(part, '<')
	if start < 0 {
		return nil, nil
	}
	return part[start+1 : len(part)-1], nil
}

var sampleNames = [][]byte{[]byte("httpSample"), []byte("sampleResult"), []byte("sample")}

func (x *jtlXML) element(tag []byte) error {
	if len(tag) == 0 {
		return nil
	}
	if tag[0] == '/' {
		switch {
		case bytes.Equal(tag, []byte("/testResults")):
			x.root = true
		case isSample(tag[1:]):
			x.depth = max(x.depth-1, 0)
		}
		return nil
	}
	if !isSample(tag) {
		return nil
	}
	row, err := x.sample(tag)
	if err != nil {
		return err
	}
	row.subSample = x.depth > 0
	if tag[len(tag)-1] != '/' {
		x.depth++
	}
	return x.gathered.add(row, x.line)
}

func isSample(tag []byte) bool {
	for _, name := range sampleNames {
		if rest, ok := bytes.CutPrefix(tag, name); ok && (len(rest) == 0 || rest[0] == ' ' || rest[0] == '/') {
			return true
		}
	}
	return false
}

// sample reads the attributes; «rs», «time», «timeStamp» and «label» are those of the oldest forms.
func (x *jtlXML) sample(tag []byte) (jtlRow, error) {
	r := jtlRow{stamp: -1, elapsed: -1}
	_, rest, _ := bytes.Cut(tag, []byte{' '})
	for {
		name, value, tail, ok := attribute(rest)
		if !ok {
			break
		}
		rest = tail
		if err := x.set(&r, string(name), value); err != nil {
			return r, err
		}
	}
	if r.stamp < 0 || r.elapsed < 0 {
		return r, faultAt(x.line, "save with timestamps and elapsed times", "a sample without ts or t: neither rate nor percentile can be had")
	}
	return r, nil
}

func (x *jtlXML) set(r *jtlRow, name string, value []byte) error {
	switch name {
	case "t", "time":
		return x.number(&r.elapsed, name, value)
	case "ts", "timeStamp":
		err := x.number(&r.stamp, name, value)
		r.stamp = milliseconds(r.stamp)
		return err
	case "na":
		return x.number(&r.users, name, value)
	case "sc":
		return x.number(&r.count, name, value)
	case "s", "success":
		r.success = string(value) == "true"
	case "lb", "label":
		r.label = unescape(value)
	case "rc", "rs":
		r.code = unescape(value)
	case "rm":
		r.message = unescape(value)
	case "tn":
		r.thread = value
	case "hn":
		r.host = value
	}
	return nil
}

func (x *jtlXML) number(into *int64, name string, value []byte) error {
	n, ok := integer(value)
	if !ok {
		return faultAt(x.line, "check the file", "attribute %s: found %q, want a whole number", name, clip(string(value)))
	}
	*into = n
	return nil
}

// attribute reads name="value" from the front of text.
func attribute(text []byte) (name, value, rest []byte, ok bool) {
	text = bytes.TrimLeft(text, " \t\r\n")
	eq := bytes.IndexByte(text, '=')
	if eq < 0 || eq+1 >= len(text) {
		return nil, nil, nil, false
	}
	quote := text[eq+1]
	if quote != '"' && quote != '\'' {
		return nil, nil, nil, false
	}
	body := text[eq+2:]
	end := bytes.IndexByte(body, quote)
	if end < 0 {
		return nil, nil, nil, false
	}
	return text[:eq], body[:end], body[end+1:], true
}

func unescape(value []byte) []byte {
	if bytes.IndexByte(value, '&') < 0 {
		return value
	}
	return []byte(html.UnescapeString(string(value)))
}
