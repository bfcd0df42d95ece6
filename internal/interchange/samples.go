package interchange

import (
	"bufio"
	"compress/gzip"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/loadline-dev/loadline/internal/record"
)

// samplesMagic opens a file of samples; docs/formats/samples.md describes the rest.
const samplesMagic = "loadline.samples/1\n"

// SampledCell is what a file of samples says of a cell before its samples.
type SampledCell struct {
	Setting record.Setting `json:"setting"`
	Repeat  int            `json:"repeat"`
	Load    record.Load    `json:"load"`
	Started time.Time      `json:"started"`
	Target  string         `json:"target"`
}

// SampleWriter keeps every request in some eight bytes. It is for one goroutine at a time.
type SampleWriter struct {
	packed *gzip.Writer
	out    *bufio.Writer
	last   int64 // planned of the last sample, ns
	row    []byte
}

// NewSampleWriter begins a file.
func NewSampleWriter(w io.Writer) (*SampleWriter, error) {
	if _, err := io.WriteString(w, samplesMagic); err != nil {
		return nil, fmt.Errorf("write samples: %w", err)
	}
	packed, err := gzip.NewWriterLevel(w, gzip.BestSpeed)
	if err != nil {
		return nil, fmt.Errorf("write samples: %w", err)
	}
	return &SampleWriter{packed: packed, out: bufio.NewWriterSize(packed, 1<<16)}, nil
}

// The first byte of a record: its kind, and for a sample its outcome and what is said by one bit.
const (
	cellRecord    = 0xff
	outcomeBits   = 0x0f
	insideBit     = 0x10
	answeredBit   = 0x20
	neverSentBit  = 0x40
	maxCellHeader = 1 << 20
)

// Cell begins the samples of a cell.
func (s *SampleWriter) Cell(c SampledCell) error {
	about, err := json.Marshal(c)
	if err != nil {
		return fmt.Errorf("write samples: %w", err)
	}
	s.last = 0
	s.row = append(s.row[:0], cellRecord)
	s.row = binary.AppendUvarint(s.row, uint64(len(about)))
	s.row = append(s.row, about...)
	_, err = s.out.Write(s.row)
	return err
}

// Append adds samples of the cell begun last.
func (s *SampleWriter) Append(samples []record.Sample) error {
	for _, sample := range samples {
		if _, err := s.out.Write(s.encode(sample)); err != nil {
			return fmt.Errorf("write samples: %w", err)
		}
	}
	return nil
}

func (s *SampleWriter) encode(sample record.Sample) []byte {
	first := byte(sample.Outcome) & outcomeBits
	if sample.Inside {
		first |= insideBit
	}
	if sample.Answered {
		first |= answeredBit
	}
	sent := sample.Sent
	if sent < 0 {
		first |= neverSentBit
		sent = sample.Planned
	}
	row := append(s.row[:0], first)
	row = binary.AppendVarint(row, int64(sample.Planned)-s.last)
	row = binary.AppendVarint(row, int64(sent-sample.Planned))
	row = binary.AppendVarint(row, int64(sample.Done-sent))
	row = binary.AppendUvarint(row, uint64(max(sample.Status, 0)))
	s.last = int64(sample.Planned)
	s.row = row
	return row
}

// Flush hands on what was gathered, so that a kill loses no more than what came after.
func (s *SampleWriter) Flush() error {
	if err := s.out.Flush(); err != nil {
		return fmt.Errorf("write samples: %w", err)
	}
	if err := s.packed.Flush(); err != nil {
		return fmt.Errorf("write samples: %w", err)
	}
	return nil
}

// Close ends the file; the writer handed to New stays open.
func (s *SampleWriter) Close() error {
	if err := s.out.Flush(); err != nil {
		return fmt.Errorf("write samples: %w", err)
	}
	if err := s.packed.Close(); err != nil {
		return fmt.Errorf("write samples: %w", err)
	}
	return nil
}

// ReadSamples reads a file of samples: visit is called for each, in the order in which they ended. A file that was cut off by a kill is
// read as far as it goes, and cut says so.
func ReadSamples(file string, in io.Reader, visit func(SampledCell, record.Sample) error) (cut bool, err error) {
	magic := make([]byte, len(samplesMagic))
	if _, err := io.ReadFull(in, magic); err != nil || string(magic) != samplesMagic {
		return false, inFile(file, faultAt(0, "name a file that --samples wrote", "found %q, want %q at its beginning", clip(string(magic)), strings.TrimSpace(samplesMagic)))
	}
	z, err := gzip.NewReader(in)
	if err != nil {
		return false, inFile(file, faultAt(0, "check that the file is whole", "%v", err))
	}
	r := sampleReader{in: bufio.NewReaderSize(z, 1<<16)}
	for {
		err := r.record(visit)
		switch {
		case err == nil:
		case errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF):
			return false, nil
		case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, gzip.ErrChecksum), errors.Is(err, gzip.ErrHeader):
			return true, nil
		default:
			return false, inFile(file, err)
		}
	}
}

type sampleReader struct {
	in   *bufio.Reader
	cell SampledCell
	last int64
	any  bool
}

func (r *sampleReader) record(visit func(SampledCell, record.Sample) error) error {
	first, err := r.in.ReadByte()
	if err != nil {
		return err
	}
	if first == cellRecord {
		return unexpected(r.header())
	}
	sample, err := r.sample(first)
	if err != nil {
		return unexpected(err)
	}
	return visit(r.cell, sample)
}

// unexpected marks an end in the middle of a record.
func unexpected(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

func (r *sampleReader) header() error {
	size, err := binary.ReadUvarint(r.in)
	if err != nil {
		return err
	}
	if size > maxCellHeader {
		return faultAt(0, "check that the file is whole", "a cell's description of %d bytes, at most %d", size, maxCellHeader)
	}
	about := make([]byte, size)
	if _, err := io.ReadFull(r.in, about); err != nil {
		return err
	}
	r.cell, r.last, r.any = SampledCell{}, 0, true
	if err := json.Unmarshal(about, &r.cell); err != nil {
		return faultAt(0, "check that the file is whole", "a cell's description: %v", err)
	}
	return nil
}

func (r *sampleReader) sample(first byte) (record.Sample, error) {
	var s record.Sample
	if !r.any || int(first&outcomeBits) >= record.NumOutcomes {
		return s, faultAt(0, "check that the file is whole", "a sample before any cell, or of an unknown outcome")
	}
	var parts [3]int64
	for i := range parts {
		v, err := binary.ReadVarint(r.in)
		if err != nil {
			return s, err
		}
		parts[i] = v
	}
	status, err := binary.ReadUvarint(r.in)
	if err != nil {
		return s, err
	}
	r.last += parts[0]
	s = record.Sample{Planned: time.Duration(r.last), Sent: time.Duration(r.last + parts[1]), Done: time.Duration(r.last + parts[1] + parts[2]),
		Outcome: record.Outcome(first & outcomeBits), Status: int(status & 0xffff), Inside: first&insideBit != 0, Answered: first&answeredBit != 0}
	if first&neverSentBit != 0 {
		s.Sent = -1
	}
	return s, nil
}

// JTLWriter writes samples as JMeter's CSV, in JMeter 5's default columns. It is for one goroutine at a time.
//
// A JTL knows one start and one duration: here they are those of the latency, from the planned instant.
type JTLWriter struct {
	out    *bufio.Writer
	header bool
	row    []byte
}

// NewJTLWriter begins a file.
func NewJTLWriter(w io.Writer) *JTLWriter { return &JTLWriter{out: bufio.NewWriterSize(w, 1<<16)} }

// Append adds a cell's samples.
func (j *JTLWriter) Append(c SampledCell, samples []record.Sample) error {
	if !j.header {
		j.header = true
		if _, err := j.out.WriteString(strings.Join(jtlDefault, ",") + "\n"); err != nil {
			return fmt.Errorf("write JTL: %w", err)
		}
	}
	for _, s := range samples {
		if s.Outcome == record.Dropped {
			continue // Never sent: JMeter has no row for it.
		}
		if _, err := j.out.Write(j.encode(c, s)); err != nil {
			return fmt.Errorf("write JTL: %w", err)
		}
	}
	return nil
}

// jtlErrors are the response codes that JMeter itself writes for what is no answer.
var jtlErrors = map[record.Outcome]string{
	record.Timeout: "java.net.SocketTimeoutException", record.Refused: "org.apache.http.conn.HttpHostConnectException",
	record.Reset: "java.net.SocketException", record.DNS: "java.net.UnknownHostException", record.TLS: "javax.net.ssl.SSLException",
	record.ClientLimit: "java.net.BindException", record.Cut: "java.net.SocketTimeoutException", record.Late: "java.net.SocketTimeoutException",
}

func (j *JTLWriter) encode(c SampledCell, s record.Sample) []byte {
	code := fmt.Sprint(s.Status)
	if s.Status == 0 || s.Outcome == record.Late {
		code = nonHTTP + jtlErrors[s.Outcome]
	}
	elapsed := (s.Done - s.Planned).Milliseconds()
	j.row = fmt.Appendf(j.row[:0], "%d,%d,%s,%s,%s,users 1-1,text,%t,,0,0,%d,%d,%s,%d,0,0\n", c.Started.Add(s.Planned).UnixMilli(), elapsed,
		quoted(c.Setting.String()), quoted(code), s.Outcome, s.Outcome == record.Success, c.Load.Concurrency, c.Load.Concurrency, quoted(c.Target), elapsed)
	return j.row
}

// quoted is a CSV field.
func quoted(text string) string {
	if !strings.ContainsAny(text, ",\"\r\n") {
		return text
	}
	return `"` + strings.ReplaceAll(text, `"`, `""`) + `"`
}

// Close writes what is left; the writer handed to New stays open.
func (j *JTLWriter) Close() error {
	if err := j.out.Flush(); err != nil {
		return fmt.Errorf("write JTL: %w", err)
	}
	return nil
}
