// Package cgroup reads the texts of control groups, version 1 and 2. It does no I/O.
package cgroup

import (
	"bufio"
	"bytes"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Membership is one line of /proc/PID/cgroup.
type Membership struct {
	Hierarchy   int      // 0: version 2
	Controllers []string // empty in version 2
	Path        string   // below the hierarchy's mount point
}

// ParseMemberships reads /proc/PID/cgroup. Lines of another form are left out.
func ParseMemberships(text []byte) []Membership {
	var out []Membership
	for line := range bytes.Lines(text) {
		parts := strings.SplitN(strings.TrimRight(string(line), "\n"), ":", 3)
		if len(parts) != 3 {
			continue
		}
		n, err := strconv.Atoi(parts[0])
		if err != nil || !strings.HasPrefix(parts[2], "/") {
			continue
		}
		m := Membership{Hierarchy: n, Path: parts[2]}
		if parts[1] != "" {
			m.Controllers = strings.Split(parts[1], ",")
		}
		out = append(out, m)
	}
	return out
}

// Mount is where a hierarchy can be read.
type Mount struct {
	Version     int      // 1 or 2
	Root        string   // the group that is seen at Point
	Point       string   // the folder
	Controllers []string // version 1 only
}

// ParseMounts finds the hierarchies in /proc/PID/mountinfo (proc_pid_mountinfo(5)).
func ParseMounts(text []byte) []Mount {
	var out []Mount
	for scanner := bufio.NewScanner(bytes.NewReader(text)); scanner.Scan(); {
		before, after, found := strings.Cut(scanner.Text(), " - ")
		left, right := strings.Fields(before), strings.Fields(after)
		if !found || len(left) < 5 || len(right) < 3 {
			continue
		}
		m := Mount{Root: unescape(left[3]), Point: unescape(left[4])}
		switch right[0] {
		case "cgroup2":
			m.Version = 2
		case "cgroup":
			m.Version = 1
			m.Controllers = strings.Split(right[2], ",")
		default:
			continue
		}
		out = append(out, m)
	}
	return out
}

// unescape turns the octal escapes of blanks and the like back.
func unescape(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) {
			if c, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(c))
				i += 3
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// ParseCPUMax reads version 2's cpu.max as a number of cores; +Inf where there is no limit.
func ParseCPUMax(text []byte) (float64, error) {
	f := strings.Fields(string(text))
	if len(f) != 2 {
		return 0, fmt.Errorf("cpu.max: found %.40q, want QUOTA PERIOD", text)
	}
	if f[0] == "max" {
		return math.Inf(1), nil
	}
	return Cores(f[0], f[1])
}

// Cores is a quota divided by its period, both in µs; version 1 says -1 where there is no limit.
func Cores(quota, period string) (float64, error) {
	q, err1 := strconv.ParseFloat(strings.TrimSpace(quota), 64)
	p, err2 := strconv.ParseFloat(strings.TrimSpace(period), 64)
	if err1 != nil || err2 != nil || !(p > 0) {
		return 0, fmt.Errorf("CPU quota: found %.20q of %.20q, want µs of µs", quota, period)
	}
	if q < 0 {
		return math.Inf(1), nil
	}
	return q / p, nil
}

// ParseBytes reads a figure or a limit in bytes; +Inf where there is no limit, which version 1 writes as a number near 2^63.
func ParseBytes(text []byte) (float64, error) {
	s := strings.TrimSpace(string(text))
	if s == "max" {
		return math.Inf(1), nil
	}
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("bytes: found %.40q, want a number or max", s)
	}
	const none = 1 << 62
	if n >= none {
		return math.Inf(1), nil
	}
	return float64(n), nil
}

// Throttling is how often and how long a group was stopped because its quota was used up. All are cumulative.
type Throttling struct {
	Periods   float64 // in which the group wanted to run
	Throttled float64 // of these, in which it was stopped
	Seconds   float64 // stopped, summed over CPUs
	CPU       float64 // seconds used; 0 in version 1, which tells it elsewhere
}

// ParseCPUStat reads cpu.stat of either version: version 2 counts µs, version 1 ns.
func ParseCPUStat(text []byte) Throttling {
	const perMicro, perNano = 1e-6, 1e-9
	var t Throttling
	for line := range bytes.Lines(text) {
		f := strings.Fields(string(line))
		if len(f) != 2 {
			continue
		}
		v, err := strconv.ParseFloat(f[1], 64)
		if err != nil {
			continue
		}
		switch f[0] {
		case "nr_periods":
			t.Periods = v
		case "nr_throttled":
			t.Throttled = v
		case "throttled_usec":
			t.Seconds = v * perMicro
		case "throttled_time":
			t.Seconds = v * perNano
		case "usage_usec":
			t.CPU = v * perMicro
		}
	}
	return t
}
