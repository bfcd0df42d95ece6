package interchange

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"math"
	"time"
)

// maxRow bounds one record of a text format, so that a broken quote cannot take the whole file into memory.
const maxRow = 16 << 20

// rows reads the records of a delimited text format with quoting as RFC 4180 has it. Fields and rows are valid until the next call.
type rows struct {
	in     *bufio.Reader
	delim  byte
	line   int // of the record's first line
	lines  int // lines read
	spill  []byte
	fields [][]byte
	clean  []byte // unquoted text
	ended  bool   // the last record ended with a line break
}

// next reads a record; io.EOF ends the file. A record in which a quote stays open is returned as errOpenQuote.
func (r *rows) next() ([][]byte, error) {
	r.line = r.lines + 1
	row, err := r.row()
	if err != nil {
		return nil, err
	}
	return r.split(row)
}

var (
	errOpenQuote = errors.New("a quote is never closed")
	errLongRow   = errors.New("a record longer than 16 MiB")
)

// row reads one record's bytes without the line break.
func (r *rows) row() ([]byte, error) {
	row, err := r.in.ReadSlice('\n')
	r.lines++
	if err == nil && bytes.IndexByte(row, '"') < 0 {
		r.ended = true
		return trimBreak(row), nil
	}
	if len(row) == 0 && err == io.EOF {
		return nil, io.EOF
	}
	return r.longRow(row, err)
}

// longRow goes on where a record is longer than the buffer, spans lines in quotes, or ends the file.
func (r *rows) longRow(row []byte, err error) ([]byte, error) {
	r.spill = append(r.spill[:0], row...)
	for {
		switch {
		case err == bufio.ErrBufferFull:
		case err == io.EOF:
			r.ended = false
			if bytes.Count(r.spill, []byte{'"'})%2 == 1 {
				return nil, errOpenQuote
			}
			return trimBreak(r.spill), nil
		case err != nil:
			return nil, err
		case bytes.Count(r.spill, []byte{'"'})%2 == 0:
			r.ended = true
			return trimBreak(r.spill), nil
		default:
			r.lines++ // A line break within quotes.
		}
		if len(r.spill) > maxRow {
			return nil, errLongRow
		}
		row, err = r.in.ReadSlice('\n')
		r.spill = append(r.spill, row...)
	}
}

func trimBreak(row []byte) []byte {
	row = bytes.TrimSuffix(row, []byte{'\n'})
	return bytes.TrimSuffix(row, []byte{'\r'})
}

func (r *rows) split(row []byte) ([][]byte, error) {
	r.fields = r.fields[:0]
	r.clean = r.clean[:0]
	for {
		if len(row) > 0 && row[0] == '"' {
			var field []byte
			var err error
			if field, row, err = r.quoted(row); err != nil {
				return nil, err
			}
			r.fields = append(r.fields, field)
			if len(row) == 0 {
				return r.fields, nil
			}
			row = row[1:]
			continue
		}
		i := bytes.IndexByte(row, r.delim)
		if i < 0 {
			r.fields = append(r.fields, row)
			return r.fields, nil
		}
		r.fields = append(r.fields, row[:i])
		row = row[i+1:]
	}
}

// quoted reads a field in quotes; rest begins with the delimiter or is empty.
func (r *rows) quoted(row []byte) (field, rest []byte, err error) {
	start := len(r.clean)
	row = row[1:]
	for {
		i := bytes.IndexByte(row, '"')
		if i < 0 {
			return nil, nil, errOpenQuote
		}
		r.clean = append(r.clean, row[:i]...)
		row = row[i+1:]
		if len(row) > 0 && row[0] == '"' {
			r.clean = append(r.clean, '"')
			row = row[1:]
			continue
		}
		break
	}
	// Text after the closing quote is kept, as spreadsheets do.
	if i := bytes.IndexByte(row, r.delim); i >= 0 {
		r.clean = append(r.clean, row[:i]...)
		return r.clean[start:], row[i:], nil
	}
	r.clean = append(r.clean, row...)
	return r.clean[start:], nil, nil
}

// integer reads a non-negative whole number without allocation.
func integer(text []byte) (int64, bool) {
	if len(text) == 0 || len(text) > 19 {
		return 0, false
	}
	var n uint64
	for _, c := range text {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + uint64(c-'0')
	}
	return int64(n), n <= math.MaxInt64
}

// milliseconds turns ms into ns; what would overflow becomes the largest number, which no fold takes.
func milliseconds(ms int64) int64 {
	if ms > math.MaxInt64/int64(time.Millisecond) {
		return math.MaxInt64
	}
	return ms * int64(time.Millisecond)
}

// atLine gives an error of a fold its place.
func atLine(err error, line int) error {
	if err == nil {
		return nil
	}
	return faultAt(line, "check the file and the unit of its times", "%v", err)
}
