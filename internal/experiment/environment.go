package experiment

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/loadline-dev/loadline/internal/record"
)

// Environment looks at the machine on which a run takes place. What cannot be read stays empty.
func Environment() record.Environment {
	e := record.Environment{OS: runtime.GOOS + "/" + runtime.GOARCH, Cores: runtime.NumCPU(), Go: runtime.Version(), Loadline: Version(),
		CPUModel: procLine("/proc/cpuinfo", "model name"), Limits: limits()}
	e.Host, _ = os.Hostname()
	var u unix.Utsname
	if unix.Uname(&u) == nil {
		e.Kernel = unix.ByteSliceToString(u.Release[:])
	}
	if kib, _, ok := strings.Cut(procLine("/proc/meminfo", "MemTotal"), " "); ok {
		if n, err := strconv.ParseInt(kib, 10, 64); err == nil {
			e.MemoryByte = n << 10
		}
	}
	return e
}

// Version is the program's version as the build recorded it.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	version := info.Main.Version
	if version == "" || version == "(devel)" {
		version = "devel"
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" && len(s.Value) >= 12 {
				version = "devel-" + s.Value[:12]
			}
		}
	}
	return version
}

// procLine finds «key : value» in a file of /proc.
func procLine(file, key string) string {
	data, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	for lines := bufio.NewScanner(bytes.NewReader(data)); lines.Scan(); {
		name, value, ok := strings.Cut(lines.Text(), ":")
		if ok && strings.TrimSpace(name) == key {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// limits are what bounds a load from this machine.
func limits() map[string]string {
	out := map[string]string{}
	var files unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &files) == nil {
		out["descriptors"] = fmt.Sprint(files.Cur)
	}
	for name, file := range map[string]string{"local_ports": "/proc/sys/net/ipv4/ip_local_port_range", "accept_backlog": "/proc/sys/net/core/somaxconn",
		"cgroup_cpu": "/sys/fs/cgroup/cpu.max", "cgroup_memory": "/sys/fs/cgroup/memory.max"} {
		if data, err := os.ReadFile(file); err == nil {
			out[name] = strings.Join(strings.Fields(string(data)), " ")
		}
	}
	return out
}
