package threaddump

import (
	"bufio"
	"bytes"
	"errors"
	"io"

	"golang.org/x/text/encoding/unicode"
)

// lines reads line by line in constant memory.
type lines struct {
	in     *bufio.Reader
	number int
	buffer []byte
}

// longest is how much of a line is kept; what follows is dropped. A stack frame is far shorter.
const longest = 64 << 10

// newLines recognises UTF-16 by its mark, or by the zero bytes between ASCII letters.
func newLines(r io.Reader) *lines {
	const window = 64 << 10
	in := bufio.NewReaderSize(r, window)
	head, _ := in.Peek(1 << 10) // A shorter text is no error here.
	if order, ok := utf16(head); ok {
		decoded := unicode.UTF16(order, unicode.UseBOM).NewDecoder().Reader(in)
		return &lines{in: bufio.NewReaderSize(decoded, window)}
	}
	if mark := []byte("\xef\xbb\xbf"); bytes.HasPrefix(head, mark) {
		_, _ = in.Discard(len(mark)) // It was peeked at.
	}
	return &lines{in: in}
}

func utf16(head []byte) (unicode.Endianness, bool) {
	switch {
	case bytes.HasPrefix(head, []byte{0xff, 0xfe}):
		return unicode.LittleEndian, true
	case bytes.HasPrefix(head, []byte{0xfe, 0xff}):
		return unicode.BigEndian, true
	}
	var zeros [2]int
	for i, c := range head {
		if c == 0 {
			zeros[i%2]++
		}
	}
	const most = 4 // Of the pairs, at least one half in four must be zero.
	switch {
	case zeros[1] > len(head)/2/most && zeros[0] == 0:
		return unicode.LittleEndian, true
	case zeros[0] > len(head)/2/most && zeros[1] == 0:
		return unicode.BigEndian, true
	}
	return unicode.LittleEndian, false
}

// next returns a line without its end, valid until the next call; io.EOF after the last.
func (l *lines) next() ([]byte, error) {
	line, err := l.in.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		l.buffer = append(l.buffer[:0], line[:min(len(line), longest)]...)
		for errors.Is(err, bufio.ErrBufferFull) {
			_, err = l.in.ReadSlice('\n')
		}
		line = l.buffer
	}
	if err != nil && (len(line) == 0 || !errors.Is(err, io.EOF)) {
		return nil, err
	}
	l.number++
	return bytes.TrimRight(line, "\r\n"), nil
}

// peek looks at the first byte that is no blank.
func (l *lines) peek() byte {
	for n := 1; ; n++ {
		head, err := l.in.Peek(n)
		if err != nil {
			return 0
		}
		if c := head[n-1]; c != ' ' && c != '\t' && c != '\n' && c != '\r' {
			return c
		}
	}
}
