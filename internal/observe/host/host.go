// Package host samples the machine: CPU time by kind and by core, steal, load, context switches, soft interrupts, memory, TCP sockets by
// state and what waits at listening ones. Times and counts are cumulative since the machine began.
package host

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/procfs"

	"github.com/loadline-dev/loadline/internal/observe"
	"github.com/loadline-dev/loadline/internal/record"
)

// Source is the source that the host's series carry.
const Source = "host"

// Config says what is sampled.
type Config struct {
	Proc string // where proc is mounted; default /proc
}

// Collector samples the machine. It is for one goroutine at a time.
type Collector struct {
	proc procfs.FS
}

// New makes a Collector.
func New(c Config) (*Collector, error) {
	if c.Proc == "" {
		c.Proc = procfs.DefaultMountPoint
	}
	fs, err := procfs.NewFS(c.Proc)
	if err != nil {
		return nil, fmt.Errorf("host: %w", err)
	}
	return &Collector{proc: fs}, nil
}

// Source is host.
func (c *Collector) Source() string { return Source }

// Collect looks once. What can be read comes back beside the errors of what cannot.
func (c *Collector) Collect(_ context.Context, clock observe.Clock) (observe.Batch, error) {
	s := series{at: clock()}
	err := errors.Join(c.stat(&s), c.load(&s), c.memory(&s))
	return observe.Batch{Series: s.samples}, err
}

func (c *Collector) stat(s *series) error {
	stat, err := c.proc.Stat()
	if err != nil {
		return fmt.Errorf("CPU time: %w", err)
	}
	t := stat.CPUTotal
	for name, v := range map[string]float64{"user": t.User + t.Nice, "system": t.System, "idle": t.Idle, "iowait": t.Iowait, "irq": t.IRQ, "softirq": t.SoftIRQ, "steal": t.Steal} {
		s.add("cpu_"+name+"_seconds_total", v)
	}
	for id, core := range stat.CPU {
		s.add(fmt.Sprintf("core_busy_seconds_total{%d}", id), core.User+core.Nice+core.System+core.IRQ+core.SoftIRQ+core.Steal)
		s.add(fmt.Sprintf("core_steal_seconds_total{%d}", id), core.Steal)
	}
	s.add("context_switches_total", float64(stat.ContextSwitches))
	s.add("forks_total", float64(stat.ProcessCreated))
	s.add("running_threads", float64(stat.ProcessesRunning))
	s.add("blocked_threads", float64(stat.ProcessesBlocked))
	i := stat.SoftIRQ
	for name, v := range map[string]uint64{"timer": i.Timer, "net_tx": i.NetTx, "net_rx": i.NetRx, "block": i.Block, "sched": i.Sched, "rcu": i.Rcu} {
		s.add("softirqs_total{"+name+"}", float64(v))
	}
	s.add("softirqs_total", float64(stat.SoftIRQTotal))
	return nil
}

func (c *Collector) load(s *series) error {
	l, err := c.proc.LoadAvg()
	if err != nil {
		return fmt.Errorf("load: %w", err)
	}
	s.add("load1", l.Load1)
	return nil
}

func (c *Collector) memory(s *series) error {
	m, err := c.proc.Meminfo()
	if err != nil {
		return fmt.Errorf("memory: %w", err)
	}
	if m.MemAvailableBytes != nil {
		s.add("memory_available_bytes", float64(*m.MemAvailableBytes))
	}
	return nil
}

// series gathers the samples of one look.
type series struct {
	at      time.Duration
	samples []record.SeriesSample
}

func (s *series) add(name string, value float64) {
	s.samples = append(s.samples, record.SeriesSample{Source: Source, Name: name, At: s.at, Value: value})
}
