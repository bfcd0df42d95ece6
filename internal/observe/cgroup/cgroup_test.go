package cgroup_test

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/loadline-dev/loadline/internal/observe"
	"github.com/loadline-dev/loadline/internal/observe/cgroup"
)

// tree writes files below a folder of the test's.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for path, text := range files {
		full := filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func collect(t *testing.T, root string, pid int) map[string]float64 {
	t.Helper()
	c, err := cgroup.New(cgroup.Config{Service: "order", PID: pid, Root: root})
	if err != nil {
		t.Fatal(err)
	}
	b, err := c.Collect(t.Context(), observe.Since(time.Now()))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]float64{}
	for _, s := range b.Series {
		if s.Source != "order" {
			t.Errorf("source %q", s.Source)
		}
		out[s.Name] = s.Value
	}
	return out
}

func TestVersion2TakesTheSmallestLimitOnTheWayToTheRoot(t *testing.T) {
	root := tree(t, map[string]string{
		"proc/7/cgroup":                                       "0::/shop.slice/order.scope\n",
		"proc/7/mountinfo":                                    "30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n",
		"sys/fs/cgroup/cpu.stat":                              "usage_usec 99\n", // The root has statistics and no limit.
		"sys/fs/cgroup/shop.slice/cpu.max":                    "100000 100000\n",
		"sys/fs/cgroup/shop.slice/cpu.stat":                   "nr_periods 50\nnr_throttled 20\nthrottled_usec 1500000\n",
		"sys/fs/cgroup/shop.slice/memory.max":                 "max\n",
		"sys/fs/cgroup/shop.slice/memory.current":             "900\n",
		"sys/fs/cgroup/shop.slice/order.scope/cpu.max":        "400000 100000\n",
		"sys/fs/cgroup/shop.slice/order.scope/cpu.stat":       "nr_periods 10\nnr_throttled 0\nthrottled_usec 0\n",
		"sys/fs/cgroup/shop.slice/order.scope/memory.max":     "2147483648\n",
		"sys/fs/cgroup/shop.slice/order.scope/memory.current": "1048576\n",
	})
	got := collect(t, root, 7)
	want := map[string]float64{"cgroup_cpu_limit_cores": 1, "cgroup_cpu_periods_total": 50, "cgroup_cpu_throttled_periods_total": 20,
		"cgroup_cpu_throttled_seconds_total": 1.5, "cgroup_memory_limit_bytes": 2 << 30, "cgroup_memory_used_bytes": 1 << 20}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestVersion1InAContainerIsReadWhereTheContainerSeesIt(t *testing.T) {
	root := tree(t, map[string]string{
		"proc/7/cgroup": "5:memory:/docker/abc\n4:cpu,cpuacct:/docker/abc\n1:name=systemd:/docker/abc\n0::/\n",
		"proc/7/mountinfo": "40 30 0:27 /docker/abc /sys/fs/cgroup/cpu,cpuacct ro - cgroup cgroup rw,cpu,cpuacct\n" +
			"41 30 0:28 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n",
		"sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us":  "50000\n",
		"sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us": "100000\n",
		"sys/fs/cgroup/cpu,cpuacct/cpu.stat":          "nr_periods 100\nnr_throttled 40\nthrottled_time 2500000000\n",
		"sys/fs/cgroup/memory/memory.limit_in_bytes":  "9223372036854771712\n",
		"sys/fs/cgroup/memory/memory.usage_in_bytes":  "4096\n",
	})
	got := collect(t, root, 7)
	want := map[string]float64{"cgroup_cpu_limit_cores": 0.5, "cgroup_cpu_periods_total": 100, "cgroup_cpu_throttled_periods_total": 40,
		"cgroup_cpu_throttled_seconds_total": 2.5, "cgroup_memory_used_bytes": 4096}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v: no memory limit is no series", got, want)
	}
}

func TestTheGroupsOfThisMachineCanBeReadWhereItHasThem(t *testing.T) {
	c, err := cgroup.New(cgroup.Config{Service: "order", PID: os.Getpid()})
	if errors.Is(err, cgroup.ErrNone) {
		t.Skip("this machine controls neither cpu nor memory")
	}
	if err != nil {
		t.Fatal(err)
	}
	b, err := c.Collect(t.Context(), observe.Since(time.Now()))
	if err != nil || len(b.Series) == 0 {
		t.Errorf("%+v, %v", b, err)
	}
}

func TestAConfigAndAProcessInNoGroupAreRefused(t *testing.T) {
	_, err := cgroup.New(cgroup.Config{})
	if err == nil || !strings.Contains(err.Error(), "Service") || !strings.Contains(err.Error(), "PID: found 0") {
		t.Errorf("error %v", err)
	}
	root := tree(t, map[string]string{"proc/7/cgroup": "0::/\n", "proc/7/mountinfo": "38 35 0:31 / /proc rw - proc proc rw\n"})
	if _, err := cgroup.New(cgroup.Config{Service: "order", PID: 7, Root: root}); !errors.Is(err, cgroup.ErrNone) {
		t.Errorf("error %v, want ErrNone", err)
	}
}
