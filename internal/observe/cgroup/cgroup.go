// Package cgroup samples the limits of the control groups that a service runs in, how much of them it uses, and how often and how long
// it was throttled. Version 1, version 2 and both at once are read.
package cgroup

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/loadline-dev/loadline/internal/observe"
	"github.com/loadline-dev/loadline/internal/parse/cgroup"
	"github.com/loadline-dev/loadline/internal/record"
)

// Config names what is sampled.
type Config struct {
	Service string // the name that series carry; required
	PID     int    // whose groups; required
	Root    string // what stands before /proc and the mount points; default /
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

// Collector samples one service's groups. It is for one goroutine at a time.
type Collector struct {
	config Config
	cpu    []folder // of the service's group and those above it; the smallest limit holds
	memory []folder
}

// folder is a group as it can be read.
type folder struct {
	path    string
	version int
}

// ErrNone is wrapped by New where the process is in no group that can be read.
var ErrNone = errors.New("no control group can be read")

// New finds the groups.
func New(c Config) (*Collector, error) {
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("cgroup: %w", err)
	}
	if c.Root == "" {
		c.Root = "/"
	}
	proc := filepath.Join(c.Root, "proc", strconv.Itoa(c.PID))
	groups, err := os.ReadFile(filepath.Join(proc, "cgroup"))
	if err != nil {
		return nil, fmt.Errorf("cgroup of process %d: %w", c.PID, err)
	}
	mounts, err := os.ReadFile(filepath.Join(proc, "mountinfo"))
	if err != nil {
		return nil, fmt.Errorf("mounts of process %d: %w", c.PID, err)
	}
	out := &Collector{config: c}
	for _, m := range cgroup.ParseMemberships(groups) {
		for _, at := range cgroup.ParseMounts(mounts) {
			out.add(m, at)
		}
	}
	if len(out.cpu) == 0 && len(out.memory) == 0 {
		return nil, fmt.Errorf("process %d: %w: neither cpu nor memory is controlled where it runs", c.PID, ErrNone)
	}
	return out, nil
}

// add notes the folders of a membership that a mount shows.
func (c *Collector) add(m cgroup.Membership, at cgroup.Mount) {
	version := 1
	if m.Hierarchy == 0 {
		version = 2
	}
	if at.Version != version {
		return
	}
	for _, path := range below(m.Path, at) {
		f := folder{filepath.Join(c.config.Root, path), version}
		if f.has(at, m, "cpu") && f.exists("cpu.max", "cpu.cfs_quota_us") {
			c.cpu = append(c.cpu, f)
		}
		if f.has(at, m, "memory") && f.exists("memory.max", "memory.limit_in_bytes") {
			c.memory = append(c.memory, f)
		}
	}
}

// below lists the group's folder and those above it, up to the mount point. Within a container the mount shows the container's group as
// its root, while the membership may name the path from the host's root.
func below(path string, at cgroup.Mount) []string {
	if at.Root != "/" {
		path = strings.TrimPrefix(path, at.Root)
	}
	var out []string
	for p := filepath.Clean("/" + path); ; p = filepath.Dir(p) {
		out = append(out, filepath.Join(at.Point, p))
		if p == "/" {
			return out
		}
	}
}

func (f folder) has(at cgroup.Mount, m cgroup.Membership, controller string) bool {
	return f.version == 2 || slices.Contains(m.Controllers, controller) && slices.Contains(at.Controllers, controller)
}

func (f folder) exists(v2, v1 string) bool {
	_, err := os.Stat(filepath.Join(f.path, f.named(v2, v1)))
	return err == nil
}

func (f folder) named(v2, v1 string) string {
	if f.version == 2 {
		return v2
	}
	return v1
}

func (f folder) read(v2, v1 string) ([]byte, error) {
	return os.ReadFile(filepath.Join(f.path, f.named(v2, v1)))
}

// Source names the service.
func (c *Collector) Source() string { return "cgroup " + c.config.Service }

// Collect looks once. A limit that is not set yields no series.
func (c *Collector) Collect(_ context.Context, clock observe.Clock) (observe.Batch, error) {
	s := series{service: c.config.Service, at: clock()}
	err := errors.Join(c.collectCPU(&s), c.collectMemory(&s))
	return observe.Batch{Series: s.samples}, err
}

func (c *Collector) collectCPU(s *series) error {
	limit := math.Inf(1)
	var faults []error
	var most cgroup.Throttling
	for _, f := range c.cpu {
		cores, err := f.cores()
		if err != nil {
			faults = append(faults, err)
			continue
		}
		limit = min(limit, cores)
		text, err := f.read("cpu.stat", "cpu.stat")
		if err != nil {
			continue // The root of version 2 has none on old kernels, and throttles nothing.
		}
		// A group is stopped when its own quota or that of one above it is used up.
		t := cgroup.ParseCPUStat(text)
		if t.Throttled >= most.Throttled {
			most = t
		}
	}
	if len(c.cpu) > 0 {
		s.limit("cgroup_cpu_limit_cores", limit)
		s.add("cgroup_cpu_periods_total", most.Periods)
		s.add("cgroup_cpu_throttled_periods_total", most.Throttled)
		s.add("cgroup_cpu_throttled_seconds_total", most.Seconds)
	}
	return errors.Join(faults...)
}

// cores is the group's own limit. The root of version 2 has no file for it and no limit.
func (f folder) cores() (float64, error) {
	if f.version == 2 {
		text, err := f.read("cpu.max", "")
		if err != nil {
			return 0, err
		}
		return cgroup.ParseCPUMax(text)
	}
	quota, err := f.read("", "cpu.cfs_quota_us")
	if err != nil {
		return 0, err
	}
	period, err := f.read("", "cpu.cfs_period_us")
	if err != nil {
		return 0, err
	}
	return cgroup.Cores(string(quota), string(period))
}

func (c *Collector) collectMemory(s *series) error {
	limit := math.Inf(1)
	for i, f := range c.memory {
		text, err := f.read("memory.max", "memory.limit_in_bytes")
		if err != nil {
			return err
		}
		bytes, err := cgroup.ParseBytes(text)
		if err != nil {
			return fmt.Errorf("%s: %w", f.path, err)
		}
		limit = min(limit, bytes)
		if i > 0 {
			continue
		}
		used, err := f.read("memory.current", "memory.usage_in_bytes")
		if err != nil {
			return err
		}
		if bytes, err = cgroup.ParseBytes(used); err != nil {
			return fmt.Errorf("%s: %w", f.path, err)
		}
		s.add("cgroup_memory_used_bytes", bytes)
	}
	if len(c.memory) > 0 {
		s.limit("cgroup_memory_limit_bytes", limit)
	}
	return nil
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

func (s *series) limit(name string, value float64) {
	if !math.IsInf(value, 1) {
		s.add(name, value)
	}
}
