package interchange

import (
	"bufio"
	"bytes"
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/loadline-dev/loadline/internal/record"
)

// readFortioForms tells fortio's JSON from what it prints, in which lines of its log stand between.
func readFortioForms(in *bufio.Reader, opt Options) ([]record.Cell, error) {
	data, err := slurp(in)
	if err != nil {
		return nil, err
	}
	if !json.Valid(data) && bytes.Contains(data, []byte("Aggregated Function Time")) {
		return readFortioText(bufio.NewReader(bytes.NewReader(data)))
	}
	return readFortio(bufio.NewReader(bytes.NewReader(data)), opt)
}

var (
	fortioEnded  = regexp.MustCompile(`(?m)^Ended after (\S+) : (\d+) calls\. qps=([0-9.]+)`)
	fortioStart  = regexp.MustCompile(`(?m)^Starting at (\S+) qps with (\d+) thread`)
	fortioTimes  = regexp.MustCompile(`^ : count (\d+) avg (\S+) \+/- (\S+) min (\S+) max (\S+) sum`)
	fortioTarget = regexp.MustCompile(`(?m)^# target ([0-9.]+)% ([0-9.eE+-]+)$`)
	fortioRow    = regexp.MustCompile(`(?m)^>=? \S+ <= (\S+) , \S+ , \S+, (\d+)$`)
	fortioCode   = regexp.MustCompile(`(?m)^Code\s+(-?\d+) : (\d+) `)
)

// readFortioText reads the summary of all calls; those of the errors and of the connections come after it.
func readFortioText(in *bufio.Reader) ([]record.Cell, error) {
	text, err := plainText(in)
	if err != nil {
		return nil, err
	}
	_, all, _ := strings.Cut(text, "Aggregated Function Time")
	times := fortioTimes.FindStringSubmatch(all)
	if times == nil {
		return nil, faultAt(0, "check that the run ended", "no summary of fortio's calls")
	}
	for _, next := range []string{"\nError cases", "\n# Socket", "\nConnection time"} {
		all, _, _ = strings.Cut(all, next)
	}
	second := func(text string) *time.Duration {
		if v := number(text); v != nil {
			return length(*v, time.Second)
		}
		return nil
	}
	s := record.Summary{Requests: number(times[1]), Mean: second(times[2]), Stdev: second(times[3]), Min: second(times[4]), Max: second(times[5])}
	if m := fortioEnded.FindStringSubmatch(text); m != nil {
		if d, err := time.ParseDuration(m[1]); err == nil {
			s.Seconds = figure(d.Seconds())
		}
		s.RatePerSec = number(m[3])
	}
	var p percentiles
	for _, m := range fortioTarget.FindAllStringSubmatch(all, -1) {
		q, v := number(m[1]), number(m[2])
		if q != nil && v != nil {
			p.add(*q, *v, time.Second)
		}
	}
	s.Percentiles = p.sorted()
	rows := fortioRow.FindAllStringSubmatch(all, -1)
	s.Buckets = fortioBuckets(rows)
	codes := map[string]float64{}
	for _, m := range fortioCode.FindAllStringSubmatch(text, -1) {
		codes[m[1]] += *number(m[2])
	}
	countCodes(&s, codes)
	load := record.Load{Model: record.Closed}
	if m := fortioStart.FindStringSubmatch(text); m != nil {
		threads, _ := strconv.Atoi(m[2])
		load = qpsLoad(m[1], threads)
	}
	return summaryCell(fortioAbout("text", len(rows)), s, load)
}

func fortioBuckets(rows [][]string) *record.Buckets {
	var b record.Buckets
	for _, m := range rows {
		upper, err := strconv.ParseFloat(m[1], 64)
		n, err2 := strconv.ParseInt(m[2], 10, 64)
		if d := length(upper, time.Second); err == nil && err2 == nil && d != nil {
			b.Upper, b.Counts = append(b.Upper, *d), append(b.Counts, n)
		}
	}
	return &b
}

// fortioAbout is what fortio's figures mean in either form.
func fortioAbout(variant string, buckets int) record.Imported {
	about := record.Imported{Tool: "fortio", Variant: variant, Latency: record.LatencyMeaning{From: "sent", ErrorsIncluded: true},
		Caveats: []record.ImportCaveat{caveat("errors-included", "fortio's main histogram is over all calls, errors too"),
			caveat("interpolated", "fortio interpolates percentiles within coarse buckets")}}
	if buckets < 2 {
		about.Caveats = append(about.Caveats, caveat("one-bucket", "all samples lie in one bucket: its percentiles are interpolation and nothing else"))
	}
	return about
}
