package hist

import (
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Cookies of HdrHistogram's V2 encoding, with the word size that zig-zag LEB128 counts carry.
const (
	cookieV2           = 0x1c849303 | 0x10
	cookieV2Compressed = 0x1c849304 | 0x10
	headerBytes        = 40
)

// Encode gives HDR's compressed V2 form in base 64, as HdrHistogram's log files carry it. The exact sum is not part of that form.
//
// Note: the library's encoder is not used here because it needs a dense histogram of 270 kB; a run encodes several a second.
func (h *Histogram) Encode() ([]byte, error) {
	payload := h.payload()
	var packed bytes.Buffer
	z := zlib.NewWriter(&packed)
	if _, err := z.Write(payload); err != nil {
		return nil, fmt.Errorf("encode histogram: %w", err)
	}
	if err := z.Close(); err != nil {
		return nil, fmt.Errorf("encode histogram: %w", err)
	}
	raw := binary.BigEndian.AppendUint32(nil, cookieV2Compressed)
	raw = binary.BigEndian.AppendUint32(raw, uint32(packed.Len()))
	raw = append(raw, packed.Bytes()...)
	return base64.StdEncoding.AppendEncode(nil, raw), nil
}

func (h *Histogram) payload() []byte {
	out := make([]byte, headerBytes, headerBytes+64)
	next := 0 // the first cell not yet written
	for b := range h.All() {
		i := cellOf(int64(b.From))
		if gap := i - next; gap > 0 {
			out = binary.AppendVarint(out, -int64(gap))
		}
		out = binary.AppendVarint(out, b.Count)
		next = i + 1
	}
	binary.BigEndian.PutUint32(out[0:], cookieV2)
	binary.BigEndian.PutUint32(out[4:], uint32(len(out)-headerBytes))
	binary.BigEndian.PutUint32(out[8:], 0) // normalising offset
	binary.BigEndian.PutUint32(out[12:], Digits)
	binary.BigEndian.PutUint64(out[16:], uint64(Lowest))
	binary.BigEndian.PutUint64(out[24:], uint64(Highest))
	binary.BigEndian.PutUint64(out[32:], math.Float64bits(1))
	return out
}

// Decode reads what Encode wrote, or the V2 form of another tool in whatever range and digits, in the unit of ns. The exact sum is not
// part of that form: pass it where it is known; a negative sum has it computed from the middle of the cells.
func Decode(data []byte, sum time.Duration) (*Histogram, error) {
	h, err := decodeOwn(data)
	if errors.Is(err, errForeign) {
		h, err = decodeForeign(data)
	}
	if err != nil {
		return nil, fmt.Errorf("decode histogram: %w", err)
	}
	if sum < 0 {
		sum = h.middleSum()
	}
	h.sum = sum
	return h, nil
}

// errForeign says that a histogram has another range or form than ours.
var errForeign = errors.New("another geometry")

func decodeOwn(data []byte) (*Histogram, error) {
	raw, err := base64.StdEncoding.AppendDecode(nil, data)
	if err != nil {
		return nil, err
	}
	if len(raw) < 8 || binary.BigEndian.Uint32(raw) != cookieV2Compressed {
		return nil, errForeign
	}
	z, err := zlib.NewReader(bytes.NewReader(raw[8:]))
	if err != nil {
		return nil, err
	}
	defer z.Close()
	// Ten bytes hold the longest count, so nothing valid is longer than this.
	payload, err := io.ReadAll(io.LimitReader(z, headerBytes+10*cellCount))
	if err != nil {
		return nil, err
	}
	if len(payload) < headerBytes {
		return nil, fmt.Errorf("payload of %d bytes, want at least %d", len(payload), headerBytes)
	}
	if !ownGeometry(payload) {
		return nil, errForeign
	}
	return decodeCounts(payload[headerBytes:])
}

func ownGeometry(header []byte) bool {
	return binary.BigEndian.Uint32(header) == cookieV2 && binary.BigEndian.Uint32(header[8:]) == 0 &&
		binary.BigEndian.Uint32(header[12:]) == Digits && binary.BigEndian.Uint64(header[16:]) == uint64(Lowest) &&
		binary.BigEndian.Uint64(header[24:]) == uint64(Highest)
}

func decodeCounts(data []byte) (*Histogram, error) {
	h := New()
	for i := 0; len(data) > 0; {
		n, size := binary.Varint(data)
		if size <= 0 {
			return nil, errors.New("broken count")
		}
		data = data[size:]
		if n < 0 {
			if n < -cellCount {
				return nil, fmt.Errorf("a run of %d empty cells: at most %d", -n, cellCount)
			}
			i += int(-n)
			continue
		}
		if i >= cellCount {
			return nil, fmt.Errorf("a count for cell %d: there are %d", i, cellCount)
		}
		h.addCell(i, n)
		i++
	}
	return h, nil
}

func (h *Histogram) addCell(i int, n int64) {
	if n == 0 {
		return
	}
	low, high := rangeOf(i)
	h.widen(time.Duration(low), time.Duration(high))
	*h.cell(i) += n
	h.count += n
}

func decodeForeign(data []byte) (*Histogram, error) {
	hdr, err := hdrhistogram.Decode(data)
	if err != nil {
		return nil, err
	}
	h := New()
	for _, b := range hdr.Distribution() {
		h.RecordN(time.Duration(b.From+(b.To-b.From)/2), b.Count)
	}
	return h, nil
}

func (h *Histogram) middleSum() time.Duration {
	var sum float64
	for b := range h.All() {
		sum += float64(b.From+(b.To-b.From)/2) * float64(b.Count)
	}
	return time.Duration(sum)
}
