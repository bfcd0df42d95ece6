package threaddump

import (
	"bytes"
	"strconv"
	"strings"
)

// frames keeps frames that were read before: stacks of a dump are much alike, and most of their lines have been seen.
type frames struct {
	java, golang map[string]Frame
	words        map[string]string
}

func newFrames() *frames {
	return &frames{java: map[string]Frame{}, golang: map[string]Frame{}, words: map[string]string{}}
}

// most entries of a table before it is begun anew, so that memory stays constant whatever is read.
const mostFrames = 1 << 16

// word keeps one copy of a string.
func (f *frames) word(text []byte) string {
	if s, ok := f.words[string(text)]; ok {
		return s
	}
	if len(f.words) >= mostFrames {
		clear(f.words)
	}
	s := string(text)
	f.words[s] = s
	return s
}

// javaFrame reads «com.shop.Order.get(Order.java:12)», with a module or loader before the class or before the file.
func (f *frames) javaFrame(text []byte) Frame {
	if known, ok := f.java[string(text)]; ok {
		return known
	}
	if len(f.java) >= mostFrames {
		clear(f.java)
	}
	s := string(text)
	out := parseJavaFrame(s)
	f.java[s] = out
	return out
}

func parseJavaFrame(s string) Frame {
	call, place, found := strings.Cut(s, "(")
	out := Frame{Func: withoutAddress(withoutModule(call))}
	if !found {
		return out
	}
	place = strings.TrimSuffix(place, ")")
	place = place[strings.LastIndexByte(place, '/')+1:]
	if place == "Native Method" || place == "Unknown Source" {
		return out
	}
	file, line, found := strings.Cut(place, ":")
	out.File = file
	if found {
		out.Line, _ = strconv.Atoi(line) // 0 where it is no number.
	}
	return out
}

// withoutModule drops «java.base@17/», «app//» and the like. The slash of a hidden class comes after a dollar sign.
func withoutModule(call string) string {
	for {
		at := strings.IndexByte(call, '/')
		if at < 0 || strings.IndexByte(call[:at], '$') >= 0 {
			return call
		}
		call = call[at+1:]
	}
}

// withoutAddress drops the address that follows a hidden class's name and differs from run to run.
func withoutAddress(call string) string {
	at := strings.Index(call, "/0x")
	if at < 0 {
		return call
	}
	end := strings.IndexByte(call[at:], '.')
	if end < 0 {
		return call[:at]
	}
	return call[:at] + call[at+end:]
}

// goCall reads «main.(*Pool).work(0xc000, 0x1)».
func (f *frames) goCall(text []byte) Frame {
	if known, ok := f.golang[string(text)]; ok {
		return known
	}
	if len(f.golang) >= mostFrames {
		clear(f.golang)
	}
	name := text
	if bytes.HasSuffix(text, []byte(")")) {
		name = text[:argumentsStart(text)]
	}
	out := Frame{Func: f.word(name)}
	f.golang[string(text)] = out
	return out
}

// argumentsStart finds the bracket that opens the arguments, which may hold brackets themselves.
func argumentsStart(text []byte) int {
	depth := 0
	for i := len(text) - 1; i >= 0; i-- {
		switch text[i] {
		case ')':
			depth++
		case '(':
			depth--
			if depth == 0 {
				return i
			}
		}
	}
	return len(text)
}
