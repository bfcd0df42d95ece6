package interchange

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/loadline-dev/loadline/internal/record"
)

func importFile(t *testing.T, format Format, name string) record.Run {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	run, err := Import(format, name, f, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return run
}

func importText(t *testing.T, format Format, text string) (record.Run, error) {
	t.Helper()
	return Import(format, "input", strings.NewReader(text), Options{})
}

func outcomes(c record.Cell) map[record.Outcome]int64 {
	out := map[record.Outcome]int64{}
	for _, iv := range c.Intervals {
		for _, class := range iv.Classes {
			out[class.Outcome] += class.Count
		}
	}
	return out
}

func wantOutcomes(t *testing.T, c record.Cell, want map[record.Outcome]int64) {
	t.Helper()
	got := outcomes(c)
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("outcomes: got %v, want %v", got, want)
	}
}

func hasCaveat(c record.Cell, code string) bool {
	for _, v := range c.Imported.Caveats {
		if v.Code == code {
			return true
		}
	}
	return false
}

func TestJTLCountsParentsAndNotTheirSubSamples(t *testing.T) {
	c := importFile(t, "jtl", "synthetic_jtl_default_5x.csv").Cells[0]
	wantOutcomes(t, c, map[record.Outcome]int64{record.Success: 1, record.Timeout: 1, record.Refused: 1, record.Rejected: 1})
	if !hasCaveat(c, "sub-samples") || c.Load.Concurrency != 2 {
		t.Errorf("caveats %v, concurrency %d", c.Imported.Caveats, c.Load.Concurrency)
	}
	// 1796078564001 is the first start, 1796078564400 + 5001 the last end.
	if want := 5400 * time.Millisecond; c.Window != want {
		t.Errorf("window: got %v, want %v", c.Window, want)
	}
}

func TestJTLInXMLIsReadWithoutItsSubSamples(t *testing.T) {
	c := importFile(t, "jtl", "synthetic_jtl.xml").Cells[0]
	if got := outcomes(c); got[record.Success] != 1 {
		t.Errorf("outcomes: got %v, want one success (login) beside the rest", got)
	}
	if !hasCaveat(c, "sub-samples") {
		t.Error("no word of the sub-samples left out")
	}
}

const shortHeader = "timeStamp,elapsed,label,responseCode,success\n"

func TestJTLReadsEveryDelimiterAndQuotedBreaks(t *testing.T) {
	for _, delim := range []string{",", "\t", ";", "|"} {
		text := strings.ReplaceAll(shortHeader+"1000,5,\"a\nb\"\"c\",200,true\n2000,7,x,500,false\n", ",", delim)
		run, err := importText(t, "jtl", text)
		if err != nil {
			t.Fatalf("%q: %v", delim, err)
		}
		wantOutcomes(t, run.Cells[0], map[record.Outcome]int64{record.Success: 1, record.Failure: 1})
	}
}

func TestJTLReadsFormattedStamps(t *testing.T) {
	run, err := importText(t, "jtl", shortHeader+"2026/11/30 22:43:16.500,500,x,200,true\n2026/11/30 22:43:18.000,500,x,200,true\n")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := run.Cells[0].Started, time.Date(2026, 11, 30, 22, 43, 16, 5e8, time.UTC); !got.Equal(want) || run.Cells[0].Window != 2*time.Second {
		t.Errorf("started %v, window %v", got, run.Cells[0].Window)
	}
}

func TestJTLTransactionsAreNotCountedTwice(t *testing.T) {
	text := "timeStamp,elapsed,label,responseCode,responseMessage,success\n" +
		"1000,5,a,200,OK,true\n1005,6,b,200,OK,true\n1000,11,both,200,\"Number of samples in transaction : 2, number of failing samples : 0\",true\n"
	run, err := importText(t, "jtl", text)
	if err != nil {
		t.Fatal(err)
	}
	wantOutcomes(t, run.Cells[0], map[record.Outcome]int64{record.Success: 2})
	run, err = Import("jtl", "input", strings.NewReader(text), Options{Transactions: true})
	if err != nil {
		t.Fatal(err)
	}
	wantOutcomes(t, run.Cells[0], map[record.Outcome]int64{record.Success: 1})
}

func TestJTLFaultsAreNamed(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"empty", "", "the file is empty"},
		{"header only", shortHeader, "no samples"},
		{"another order", "elapsed,timeStamp\n1,2\n", `"timeStamp" stands after "elapsed"`},
		{"no stamp", "elapsed,label\n1,2\n", `no column "timeStamp"`},
		{"not a JTL", "hello,world\n1,2\n", `begins with "hello"`},
		{"bad elapsed", shortHeader + "1000,fast,x,200,true\n", `input:2: elapsed: found "fast"`},
		{"bad stamp", shortHeader + "yesterday,1,x,200,true\n", `input:2: timeStamp: found "yesterday"`},
		{"short row", shortHeader + "1000,1\n1000,1,x,200,true\n", "input:2: 2 fields, the header has 5"},
		{"statistical", "timeStamp,elapsed,SampleCount\n1000,1,25\n", "stands for 25 samples"},
	} {
		_, err := importText(t, "jtl", c.text)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q in it", c.name, err, c.want)
		}
	}
}

func TestJTLKeepsWhatIsWholeOfATruncatedFile(t *testing.T) {
	for _, tail := range []string{"3000,5", "3000,5,\"cut"} {
		run, err := importText(t, "jtl", shortHeader+"1000,5,x,200,true\n"+tail)
		if err != nil {
			t.Fatal(err)
		}
		wantOutcomes(t, run.Cells[0], map[record.Outcome]int64{record.Success: 1})
		if !hasCaveat(run.Cells[0], "truncated") {
			t.Errorf("%q: no word of it", tail)
		}
	}
	run, err := importText(t, "jtl", `<testResults version="1.2"><httpSample t="5" ts="1000" s="true" lb="x" rc="200"/><httpSample t="5" ts="20`)
	if err != nil || !hasCaveat(run.Cells[0], "truncated") {
		t.Errorf("XML: %v", err)
	}
}

func TestJTLLevelsOfUsersBecomeCells(t *testing.T) {
	var text bytes.Buffer
	text.WriteString("timeStamp,elapsed,label,responseCode,success,allThreads\n")
	for second := range 40 {
		users := 10 * (1 + second/20)
		for i := range users {
			fmt.Fprintf(&text, "%d,%d,x,200,true,%d\n", second*1000+i, 100, users)
		}
	}
	run, err := Import("jtl", "input", &text, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(run.Cells) != 2 || run.Cells[0].Load.Concurrency != 10 || run.Cells[1].Load.Concurrency != 20 {
		t.Fatalf("got %d cells", len(run.Cells))
	}
	wantOutcomes(t, run.Cells[1], map[record.Outcome]int64{record.Success: 400})
}

func TestALongImportStaysWithinItsSlices(t *testing.T) {
	f := newFold()
	for second := range 100_000 {
		mustAdd(t, f, sample{start: int64(second) * int64(time.Second), latency: time.Millisecond, users: 3})
	}
	cells := f.cells(record.Imported{})
	if len(cells) != 1 || len(cells[0].Intervals) > maxSlices {
		t.Fatalf("%d cells, %d slices", len(cells), len(cells[0].Intervals))
	}
	wantOutcomes(t, cells[0], map[record.Outcome]int64{record.Success: 100_000})
}

func TestSamplesBeforeTheFirstAreKept(t *testing.T) {
	f := newFold()
	for _, second := range []int64{5000, 4990, 100, 9000, 0} {
		mustAdd(t, f, sample{start: second * int64(time.Second), latency: time.Second})
	}
	cells := f.cells(record.Imported{})
	wantOutcomes(t, cells[0], map[record.Outcome]int64{record.Success: 5})
	if cells[0].Window != 9001*time.Second {
		t.Errorf("window: got %v", cells[0].Window)
	}
}

func mustAdd(t *testing.T, f *fold, s sample) {
	t.Helper()
	if err := f.add(s); err != nil {
		t.Fatal(err)
	}
}

func TestTimesBeyondAnyClockAreRefused(t *testing.T) {
	for _, row := range []string{"9223372036854775807,5,x,200,true\n", "9223372036854,5,x,200,true\n", "1000,9223372036854775807,x,200,true\n"} {
		if _, err := importText(t, "jtl", shortHeader+"1000,5,x,200,true\n"+row); err == nil || !strings.Contains(err.Error(), "input:3") {
			t.Errorf("%q: got %v", row, err)
		}
	}
}

func FuzzJTL(f *testing.F) {
	for _, name := range []string{"synthetic_jtl_default_5x.csv", "synthetic_jtl.xml"} {
		data, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte(shortHeader + "1000,5,\"a\nb\",200,true\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		run, err := Import("jtl", "input", bytes.NewReader(data), Options{})
		if err != nil {
			return
		}
		for _, c := range run.Cells {
			for _, iv := range c.Intervals {
				if iv.Planned < 0 || iv.End < iv.Start {
					t.Fatalf("interval %+v", iv)
				}
			}
		}
	})
}

// repeated yields a block again and again without holding the whole.
type repeated struct {
	head, block, rest []byte
	left              int
}

func (r *repeated) Read(p []byte) (int, error) {
	if len(r.rest) == 0 {
		if r.head != nil {
			r.rest, r.head = r.head, nil
		} else if r.left > 0 {
			r.rest = r.block
			r.left--
		} else {
			return 0, io.EOF
		}
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

func jtlBlock() []byte {
	var b bytes.Buffer
	for i := range 5000 {
		fmt.Fprintf(&b, "%d,%d,GET /api/order/detail,200,OK,Thread Group 1-%d,text,true,,512,140,200,200,http://127.0.0.1:8081/api/order/detail,%d,0,0\n",
			1796078564001+i, 20+i%37, i%200, 19+i%37)
	}
	return b.Bytes()
}

func BenchmarkJTLCSV(b *testing.B) {
	block := jtlBlock()
	const blocks = 20
	b.SetBytes(int64(len(block)) * blocks)
	for b.Loop() {
		in := &repeated{head: []byte(strings.Join(jtlDefault, ",") + "\n"), block: block, left: blocks}
		if _, err := Import("jtl", "input", in, Options{}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkJTLXML(b *testing.B) {
	var block bytes.Buffer
	for i := range 5000 {
		fmt.Fprintf(&block, `<httpSample t="%d" it="0" lt="%d" ct="0" ts="%d" s="true" lb="GET /api/order/detail" rc="200" rm="OK" tn="Thread Group 1-%d" dt="text" by="512" sby="140" ng="200" na="200"/>`+"\n",
			20+i%37, 19+i%37, 1796078564001+i, i%200)
	}
	const blocks = 20
	b.SetBytes(int64(block.Len()) * blocks)
	for b.Loop() {
		in := &repeated{head: []byte("<?xml version=\"1.0\"?>\n<testResults version=\"1.2\">\n"), block: block.Bytes(), left: blocks}
		if _, err := Import("jtl", "input", in, Options{}); err != nil {
			b.Fatal(err)
		}
	}
}
