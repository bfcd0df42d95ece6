package interchange

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/loadline-dev/loadline/internal/record"
)

func anySample() *rapid.Generator[record.Sample] {
	return rapid.Custom(func(t *rapid.T) record.Sample {
		planned := time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "planned"))
		s := record.Sample{Planned: planned, Sent: planned + time.Duration(rapid.Int64Range(0, int64(time.Minute)).Draw(t, "lag")),
			Outcome: record.Outcome(rapid.IntRange(0, record.NumOutcomes-1).Draw(t, "outcome")), Status: rapid.IntRange(0, 599).Draw(t, "status"),
			Inside: rapid.Bool().Draw(t, "inside"), Answered: rapid.Bool().Draw(t, "answered")}
		s.Done = s.Sent + time.Duration(rapid.Int64Range(0, int64(time.Minute)).Draw(t, "response"))
		if s.Outcome == record.Dropped {
			s.Sent, s.Done = -1, planned
		}
		return s
	})
}

var sampledCell = SampledCell{Setting: record.Setting{{Name: "slots", Value: int64(10)}}, Repeat: 1, Load: record.Load{Model: record.Closed, Concurrency: 4},
	Started: time.Unix(1796078564, 0).UTC(), Target: "http://127.0.0.1:8081/a,b"}

func written(t testing.TB, samples []record.Sample) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := NewSampleWriter(&out)
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []func() error{func() error { return w.Cell(sampledCell) }, func() error { return w.Append(samples) }, w.Flush, w.Close} {
		if err := step(); err != nil {
			t.Fatal(err)
		}
	}
	return out.Bytes()
}

func TestSamplesAreReadBackAsTheyWereWritten(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		want := rapid.SliceOfN(anySample(), 0, 50).Draw(rt, "samples")
		var got []record.Sample
		cut, err := ReadSamples("f", bytes.NewReader(written(t, want)), func(c SampledCell, s record.Sample) error {
			if c.Target != sampledCell.Target || c.Setting.Key() != sampledCell.Setting.Key() || !c.Started.Equal(sampledCell.Started) {
				rt.Fatalf("cell %+v", c)
			}
			got = append(got, s)
			return nil
		})
		if err != nil || cut || len(got) != len(want) {
			rt.Fatalf("%d of %d, cut %v, %v", len(got), len(want), cut, err)
		}
		for i := range got {
			if got[i] != want[i] {
				rt.Fatalf("sample %d: got %+v, want %+v", i, got[i], want[i])
			}
		}
	})
}

func TestAFileOfSamplesThatWasCutOffIsReadAsFarAsItGoes(t *testing.T) {
	var samples []record.Sample
	for i := range 1000 {
		at := time.Duration(i) * time.Millisecond
		samples = append(samples, record.Sample{Planned: at, Sent: at, Done: at + 20*time.Millisecond, Status: 200, Inside: true, Answered: true})
	}
	whole := written(t, samples)
	n := 0
	cut, err := ReadSamples("f", bytes.NewReader(whole[:len(whole)-20]), func(SampledCell, record.Sample) error { n++; return nil })
	if err != nil || !cut || n < 900 {
		t.Errorf("%d samples, cut %v, %v", n, cut, err)
	}
	if per := float64(len(whole)) / 1000; per > 10 {
		t.Errorf("%.1f bytes a request, want at most 10", per)
	}
}

func TestAnotherFileIsNoFileOfSamples(t *testing.T) {
	_, err := ReadSamples("x.jtl", strings.NewReader("timeStamp,elapsed\n1,2\n"), nil)
	if err == nil || !strings.Contains(err.Error(), "x.jtl: found") {
		t.Errorf("got %v", err)
	}
}

func TestJTLIsReadBackByTheImporterWithTheSameOutcomes(t *testing.T) {
	var samples []record.Sample
	want := map[record.Outcome]int64{}
	for i, o := range []struct {
		outcome record.Outcome
		status  int
		back    record.Outcome
	}{{record.Success, 200, record.Success}, {record.Failure, 500, record.Failure}, {record.Rejected, 503, record.Rejected}, {record.Timeout, 504, record.Timeout},
		{record.Timeout, 0, record.Timeout}, {record.Refused, 0, record.Refused}, {record.Reset, 0, record.Reset}, {record.DNS, 0, record.DNS},
		{record.TLS, 0, record.TLS}, {record.ClientLimit, 0, record.ClientLimit}, {record.Late, 200, record.Timeout}} {
		at := time.Duration(i) * 100 * time.Millisecond
		samples = append(samples, record.Sample{Planned: at, Sent: at, Done: at + 20*time.Millisecond, Outcome: o.outcome, Status: o.status})
		want[o.back]++
	}
	samples = append(samples, record.Sample{Planned: 1, Sent: -1, Done: 1, Outcome: record.Dropped})
	var out bytes.Buffer
	w := NewJTLWriter(&out)
	if err := w.Append(sampledCell, samples); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	run, err := Import("jtl", "x.jtl", bytes.NewReader(out.Bytes()), Options{})
	if err != nil {
		t.Fatalf("%v in:\n%s", err, out.String())
	}
	wantOutcomes(t, run.Cells[0], want)
	if run.Cells[0].Load.Concurrency != 4 || !run.Cells[0].Started.Equal(sampledCell.Started) {
		t.Errorf("cell %+v", run.Cells[0].Load)
	}
}

func FuzzReadSamples(f *testing.F) {
	f.Add(written(f, []record.Sample{{Planned: 1, Sent: 2, Done: 3, Status: 200}}))
	f.Fuzz(func(t *testing.T, data []byte) {
		_, err := ReadSamples("f", bytes.NewReader(data), func(SampledCell, record.Sample) error { return nil })
		if err != nil && !strings.HasPrefix(err.Error(), "f:") {
			t.Fatalf("an error that does not name the file: %v", err)
		}
	})
}
