package cgroup_test

import (
	"math"
	"reflect"
	"testing"

	"github.com/loadline-dev/loadline/internal/parse/cgroup"
)

func TestMembershipsAndMountsOfBothVersions(t *testing.T) {
	got := cgroup.ParseMemberships([]byte("4:cpu,cpuacct:/shop/order\n0::/user.slice/a:b\nnonsense\n"))
	want := []cgroup.Membership{{Hierarchy: 4, Controllers: []string{"cpu", "cpuacct"}, Path: "/shop/order"}, {Path: "/user.slice/a:b"}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	mounts := cgroup.ParseMounts([]byte("36 35 98:0 / /sys/fs/cgroup/cpu,cpuacct rw,nosuid shared:1 master:2 - cgroup cgroup rw,cpu,cpuacct\n" +
		"37 35 0:30 /docker/x /sys/fs/cg\\040two rw - cgroup2 cgroup2 rw\n38 35 0:31 / /proc rw - proc proc rw\n"))
	wantMounts := []cgroup.Mount{
		{Version: 1, Root: "/", Point: "/sys/fs/cgroup/cpu,cpuacct", Controllers: []string{"rw", "cpu", "cpuacct"}},
		{Version: 2, Root: "/docker/x", Point: "/sys/fs/cg two"},
	}
	if !reflect.DeepEqual(mounts, wantMounts) {
		t.Errorf("%+v, want %+v", mounts, wantMounts)
	}
}

func TestLimitsAndTheirAbsence(t *testing.T) {
	for text, want := range map[string]float64{"max 100000\n": math.Inf(1), "150000 100000\n": 1.5} {
		if got, err := cgroup.ParseCPUMax([]byte(text)); err != nil || got != want {
			t.Errorf("%q: %v, %v, want %v", text, got, err, want)
		}
	}
	if got, err := cgroup.Cores("-1\n", "100000\n"); err != nil || !math.IsInf(got, 1) {
		t.Errorf("quota -1: %v, %v, want none", got, err)
	}
	for text, want := range map[string]float64{"max": math.Inf(1), "9223372036854771712": math.Inf(1), "1073741824\n": 1 << 30} {
		if got, err := cgroup.ParseBytes([]byte(text)); err != nil || got != want {
			t.Errorf("%q: %v, %v, want %v", text, got, err, want)
		}
	}
	for _, bad := range []string{"", "max", "1 0", "a b"} {
		if _, err := cgroup.ParseCPUMax([]byte(bad)); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
	if _, err := cgroup.ParseBytes([]byte("-5")); err == nil {
		t.Error("-5 bytes were taken")
	}
}

func TestThrottledTimeIsInSecondsInBothVersions(t *testing.T) {
	v2 := cgroup.ParseCPUStat([]byte("usage_usec 5000000\nuser_usec 1\nnr_periods 100\nnr_throttled 40\nthrottled_usec 2500000\n"))
	if v2 != (cgroup.Throttling{Periods: 100, Throttled: 40, Seconds: 2.5, CPU: 5}) {
		t.Errorf("%+v", v2)
	}
	v1 := cgroup.ParseCPUStat([]byte("nr_periods 100\nnr_throttled 40\nthrottled_time 2500000000\n"))
	if v1 != (cgroup.Throttling{Periods: 100, Throttled: 40, Seconds: 2.5}) {
		t.Errorf("%+v", v1)
	}
}

func FuzzTexts(f *testing.F) {
	f.Add([]byte("4:cpu,cpuacct:/shop/order\n0::/x\n"))
	f.Add([]byte("36 35 98:0 / /sys/fs/cgroup/cpu\\0 rw - cgroup cgroup rw,cpu\n"))
	f.Add([]byte("150000 100000\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		cgroup.ParseMemberships(text)
		cgroup.ParseMounts(text)
		cgroup.ParseCPUStat(text)
		if v, err := cgroup.ParseCPUMax(text); err == nil && (v < 0 || math.IsNaN(v)) {
			t.Errorf("%q: %v cores", text, v)
		}
		if v, err := cgroup.ParseBytes(text); err == nil && v < 0 {
			t.Errorf("%q: %v bytes", text, v)
		}
	})
}
