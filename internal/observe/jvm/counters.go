package jvm

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/loadline-dev/loadline/internal/observe"
	"github.com/loadline-dev/loadline/internal/parse/hsperf"
	"github.com/loadline-dev/loadline/internal/record"
)

// Config names a JVM.
type Config struct {
	Service string // the name that series carry; required
	PID     int    // required
}

// Validate joins all faults.
func (c Config) Validate() error {
	var faults []error
	if c.Service == "" {
		faults = append(faults, errors.New("field Service: found none, want the service's name"))
	}
	if c.PID <= 0 {
		faults = append(faults, fmt.Errorf("field PID: found %d, want a process id above 0", c.PID))
	}
	return errors.Join(faults...)
}

// Counters samples the file of counters that a HotSpot JVM keeps (unless run with -XX:-UsePerfData). Reading it does not touch the JVM.
type Counters struct {
	config Config
	path   string
}

// NewCounters finds the file.
func NewCounters(c Config) (*Counters, error) {
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("jvm: %w", err)
	}
	own := strconv.Itoa(c.PID)
	if t, err := newTarget(c.PID); err == nil {
		own = strconv.Itoa(t.own)
	}
	pattern := filepath.Join("/proc", strconv.Itoa(c.PID), "root", "tmp", "hsperfdata_*", own)
	found, err := filepath.Glob(pattern)
	if err != nil {
		return nil, fmt.Errorf("jvm: %w", err)
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("process %d: found no %s: it is no HotSpot JVM, or runs with -XX:-UsePerfData or -XX:+PerfDisableSharedMem, "+
			"or belongs to another user", c.PID, pattern)
	}
	return &Counters{config: c, path: found[0]}, nil
}

// Source names the process.
func (c *Counters) Source() string { return "JVM counters of " + c.config.Service }

// Collect looks once. What a JVM does not tell yields no series.
func (c *Counters) Collect(_ context.Context, clock observe.Clock) (observe.Batch, error) {
	at := clock()
	file, err := os.ReadFile(c.path)
	if err != nil {
		return observe.Batch{}, fmt.Errorf("read counters: %w", err)
	}
	counters, err := hsperf.Parse(file)
	if err != nil {
		return observe.Batch{}, fmt.Errorf("%s: %w", c.path, err)
	}
	s := series{service: c.config.Service, at: at}
	s.heap(counters)
	s.threads(counters)
	s.pauses(counters)
	return observe.Batch{Series: s.samples}, nil
}

// series gathers the samples of one look.
type series struct {
	service string
	at      time.Duration
	samples []record.SeriesSample
}

func (s *series) add(name string, value float64) {
	s.samples = append(s.samples, record.SeriesSample{Source: s.service, Name: name, At: s.at, Value: value})
}

func (s *series) heap(c hsperf.Counters) {
	if used, capacity, ok := c.Heap(); ok {
		s.add("jvm_heap_used_bytes", float64(used))
		s.add("jvm_heap_capacity_bytes", float64(capacity))
	}
	total, seconds := 0.0, 0.0
	collectors := c.Collectors()
	for _, gc := range collectors {
		name := gc.Name
		if name == "" {
			name = "unnamed"
		}
		s.add("jvm_gc_total{"+name+"}", float64(gc.Invocations))
		s.add("jvm_gc_seconds_total{"+name+"}", gc.Time.Seconds())
		total, seconds = total+float64(gc.Invocations), seconds+gc.Time.Seconds()
	}
	if len(collectors) > 0 {
		s.add("jvm_gc_total", total)
		s.add("jvm_gc_seconds_total", seconds)
	}
}

func (s *series) threads(c hsperf.Counters) {
	for from, to := range map[string]string{"java.threads.live": "jvm_threads", "java.threads.daemon": "jvm_daemon_threads", "java.threads.livePeak": "jvm_peak_threads",
		"java.threads.started": "jvm_threads_started_total", "sun.rt.safepoints": "jvm_safepoints_total"} {
		if v, ok := c.Longs[from]; ok {
			s.add(to, float64(v))
		}
	}
}

func (s *series) pauses(c hsperf.Counters) {
	for from, to := range map[string]string{"sun.rt.safepointTime": "jvm_safepoint_seconds_total", "sun.rt.safepointSyncTime": "jvm_safepoint_sync_seconds_total"} {
		if d, ok := c.Ticks(from); ok {
			s.add(to, d.Seconds())
		}
	}
}
