package main_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// samples are results of other tools with what those tools themselves counted.
func samples() []struct {
	format, file string
	planned      int64
	rejected     int64
	p99MS        float64 // 0: not told, or too few samples of which to tell it
	caveat       string
} {
	return []struct {
		format, file string
		planned      int64
		rejected     int64
		p99MS        float64
		caveat       string
	}{
		{"ab", "captured_ab_text.txt", 20, 0, 12, "length-failures"},
		{"ab", "captured_ab_g.tsv", 20, 0, 0, "resolution"},
		{"ab", "captured_ab_e.csv", 0, 0, 0, "broken-tail"},
		{"fortio", "captured_fortio_text.txt", 20, 4, 13.461, "interpolated"},
		{"gatling", "synthetic_gatling_text_le_3.12.log", 2, 0, 0, "resolution"},
		{"hey", "captured_hey_text.txt", 20, 4, 0, "errors-included"},
		{"hey", "captured_hey.csv", 12, 2, 0, "errors-missing"},
		{"jtl", "synthetic_jtl_default_5x.csv", 4, 1, 0, ""},
		{"jtl", "synthetic_jtl.xml", 0, 0, 0, ""},
		{"k6", "synthetic_k6.csv", 3, 0, 0, "dropped-iterations"},
		{"oha", "synthetic_oha.csv", 2, 1, 0, "errors-missing"},
		{"vegeta", "captured_v.json", 20, 3, 0, ""},
		{"vegeta", "captured_v.csv", 20, 3, 0, ""},
		{"vegeta", "captured_v_report.json", 20, 3, 55.767, "errors-included"},
		{"vegeta", "captured_v_text.txt", 20, 3, 55.767, "errors-included"},
		{"vegeta", "captured_v_hist.txt", 20, 0, 0, "interpolated"},
		{"vegeta", "captured_v_hdr.txt", 20, 0, 0, "aggregates-only"},
		{"wrk", "captured_wrk_text.txt", 32, 0, 11.77, "aggregates-only"},
	}
}

func TestImportShowsEveryToolsResultsAsARun(t *testing.T) {
	archive := filepath.Join(t.TempDir(), "a.db")
	for _, s := range samples() {
		t.Run(s.file, func(t *testing.T) {
			out, page := filepath.Join(t.TempDir(), "r.json"), filepath.Join(t.TempDir(), "r.html")
			file := filepath.Join("internal", "interchange", "testdata", s.file)
			got := loadline(t, time.Minute, "import", s.format, file, "--slo", "p99<100ms", "--json", out, "--html", page, "--archive", archive)
			if got.code != 0 && got.code != 6 { // Twenty samples prove no p99.
				t.Fatalf("exit %d\n%s", got.code, got.stderr)
			}
			var r result
			validated(t, out, "run", &r)
			c := r.Cells[0]
			if s.planned > 0 && (c.Planned != s.planned || c.Outcomes["rejected"] != s.rejected) {
				t.Errorf("%d requests, %d rejected; want %d and %d", c.Planned, c.Outcomes["rejected"], s.planned, s.rejected)
			}
			if s.p99MS > 0 && (c.Latency.P99 == nil || *c.Latency.P99 < s.p99MS*0.999 || *c.Latency.P99 > s.p99MS*1.001) {
				t.Errorf("p99 %v, want the tool's %v ms", c.Latency.P99, s.p99MS)
			}
			if s.caveat != "" && !has(c.Caveats, s.caveat) {
				t.Errorf("caveats %v lack %s", c.Caveats, s.caveat)
			}
			if info, err := os.Stat(page); err != nil || info.Size() < 1000 {
				t.Errorf("report: %v", err)
			}
			_, id, _ := strings.Cut(got.stderr, "run ")
			id, _, _ = strings.Cut(id, " ")
			if again := loadline(t, time.Minute, "runs", id, "--archive", archive); again.code != 0 || again.stdout != got.stdout {
				t.Errorf("shown again: exit %d\n%s\ninstead of\n%s", again.code, again.stdout, got.stdout)
			}
		})
	}
}

func TestImportRefusesWhatHoldsNoStatisticsAndWhatCannotBeMerged(t *testing.T) {
	archive := filepath.Join(t.TempDir(), "a.db")
	data := filepath.Join("internal", "interchange", "testdata")
	for _, c := range []struct {
		code  int
		args  []string
		words string
	}{
		{3, []string{"ab", filepath.Join(data, "captured_ab_err.txt")}, "incomplete"},
		{3, []string{"k6", filepath.Join(data, "captured_wrk_text.txt")}, "captured_wrk_text.txt"},
		{2, []string{"jmeter", filepath.Join(data, "synthetic_jtl.xml")}, "jtl"},
		{2, []string{"jtl", "no-such-file.jtl"}, "no-such-file.jtl"},
		{2, []string{"jtl", filepath.Join(data, "synthetic_jtl.xml"), filepath.Join(data, "synthetic_jtl.xml")}, "cannot be merged"},
		{2, []string{"jtl", filepath.Join(data, "synthetic_jtl.xml"), "--slo", "fast"}, "--slo"},
	} {
		got := loadline(t, time.Minute, append([]string{"import", "--archive", archive}, c.args...)...)
		if got.code != c.code || !strings.Contains(got.stderr, c.words) || strings.Contains(got.stderr, "panic") {
			t.Errorf("%v: exit %d, want %d and %q\n%s", c.args, got.code, c.code, c.words, got.stderr)
		}
	}
}

// jtlStream is a JTL CSV of so many rows, one each millisecond, that is made as it is read.
type jtlStream struct {
	rows, next int
	buffer     []byte
}

func (j *jtlStream) Read(p []byte) (int, error) {
	for len(j.buffer) < len(p) && j.next < j.rows {
		j.row()
	}
	if len(j.buffer) == 0 {
		return 0, io.EOF
	}
	n := copy(p, j.buffer)
	j.buffer = append(j.buffer[:0], j.buffer[n:]...)
	return n, nil
}

func (j *jtlStream) row() {
	i := int64(j.next)
	b := j.buffer
	if j.next == 0 {
		b = append(b, "timeStamp,elapsed,label,responseCode,responseMessage,threadName,dataType,success,failureMessage,bytes,sentBytes,grpThreads,allThreads,URL,Latency,IdleTime,Connect\n"...)
	}
	b = strconv.AppendInt(b, 1796078564000+i, 10)
	b = append(b, ',')
	b = strconv.AppendInt(b, 20+i%37, 10)
	if i%1000 == 999 { // One in a thousand is refused.
		b = append(b, ",GET /api/order/detail,503,Service Unavailable,Thread Group 1-"...)
	} else {
		b = append(b, ",GET /api/order/detail,200,OK,Thread Group 1-"...)
	}
	b = strconv.AppendInt(b, i%200, 10)
	b = append(b, ",text,"...)
	b = strconv.AppendBool(b, i%1000 != 999)
	b = append(b, ",,512,140,200,200,http://127.0.0.1:8081/api/order/detail,19,0,0\n"...)
	j.buffer = b
	j.next++
}

func TestAGigabyteOfJTLIsImportedInConstantMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("a gigabyte takes some seconds")
	}
	const rows = 8_000_000 // 131 bytes each and more
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	out := filepath.Join(t.TempDir(), "r.json")
	cmd := exec.CommandContext(ctx, program, "import", "jtl", "-", "--json", out, "--archive", filepath.Join(t.TempDir(), "a.db"))
	in := &counted{r: &jtlStream{rows: rows}}
	cmd.Stdin = in
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	began := time.Now()
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, stderr.String())
	}
	took := time.Since(began)
	peak := cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss << 10
	t.Logf("%d MB in %v, %.0f MB/s with the making of it, peak memory %d MiB", in.n/1e6, took.Round(time.Millisecond), float64(in.n)/1e6/took.Seconds(), peak>>20)
	if in.n < 1e9 {
		t.Errorf("the stream had %d bytes, want a gigabyte", in.n)
	}
	if peak > 100<<20 {
		t.Errorf("peak memory %d MiB, want less than 100", peak>>20)
	}
	var r result
	validated(t, out, "run", &r)
	c := r.Cells[0]
	if c.Outcomes["success"] != rows-rows/1000 || c.Outcomes["rejected"] != rows/1000 || c.Load.Concurrency != 200 {
		t.Errorf("%s", fmt.Sprint(c.Outcomes, c.Load))
	}
}

type counted struct {
	r io.Reader
	n int64
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}
