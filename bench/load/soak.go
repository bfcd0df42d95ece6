package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"
)

const (
	soakConnections = 200
	soakSamples     = 60
	// soakGrowth is by how much the memory may grow after the first sixth of the time, in which it settles.
	soakGrowth = 0.10
	soakSlack  = 2 << 20 // bytes; the garbage collector's own swing
)

// soak runs loadline at full rate for a time and fails when its memory grows.
func soak(ctx context.Context, o options, loadline, url string, length time.Duration, out io.Writer) error {
	cmd := pinned(ctx, o.generator, loadline, "bench", url, "-c", strconv.Itoa(soakConnections), "-d", length.String(), "--quiet", "--json", os.DevNull)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	ticker := time.NewTicker(length / soakSamples)
	defer ticker.Stop()
	var rss []int64
	for {
		select {
		case <-ended: // Its exit code judges the figures, which is not what this is about.
			return judgeSoak(rss, out)
		case <-ticker.C:
		}
		n, err := rssOf(cmd.Process.Pid)
		if err != nil {
			continue // It has just ended.
		}
		rss = append(rss, n)
		fmt.Fprintf(os.Stderr, "after %v: %.1f MiB\n", time.Duration(len(rss))*length/soakSamples, mib(n))
	}
}

func judgeSoak(rss []int64, out io.Writer) error {
	if len(rss) < soakSamples/2 {
		return fmt.Errorf("the run ended early, after %d of %d samples", len(rss), soakSamples)
	}
	settled := rss[:len(rss)/6+1]
	rest := rss[len(rss)-len(rss)/6-1:]
	first, last := largest(settled), largest(rest)
	fmt.Fprintf(out, "memory: %.1f MiB when settled, %.1f MiB at the end\n", mib(first), mib(last))
	if float64(last) > float64(first)*(1+soakGrowth)+soakSlack {
		return fmt.Errorf("memory grew from %.1f to %.1f MiB", mib(first), mib(last))
	}
	return nil
}

func largest(values []int64) int64 {
	most := values[0]
	for _, v := range values {
		most = max(most, v)
	}
	return most
}

func mib(bytes int64) float64 { return float64(bytes) / (1 << 20) }

// rssOf reads a process's resident memory in bytes: the second figure of its statm, in pages.
func rssOf(pid int) (int64, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(data))
	if len(fields) < 2 {
		return 0, fmt.Errorf("statm: found %q", data)
	}
	pages, err := strconv.ParseInt(fields[1], 10, 64)
	return pages * int64(os.Getpagesize()), err
}
