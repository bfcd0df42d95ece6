package process

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/loadline-dev/loadline/internal/parse/procfs"
)

// ErrNotFound is wrapped by what Find returns where no process, or more than one, is meant.
var ErrNotFound = errors.New("no such process")

// Find finds the process that a plan names as pid:N, name:NAME (the command or its path's last part) or port:N (who listens there). Of a
// process and its descendants that match alike the first ancestor is meant.
func Find(what string) (pid int, err error) { return findIn("/proc", what) }

func findIn(proc, what string) (int, error) {
	kind, value, _ := strings.Cut(what, ":")
	f := newFiles(proc)
	var matches []int64
	switch kind {
	case "pid":
		n, err := strconv.Atoi(value)
		if err != nil || n <= 0 {
			return 0, fmt.Errorf("process %q: found %q, want a number above 0: %w", what, value, ErrNotFound)
		}
		if _, err := os.Stat(filepath.Join(proc, value, "stat")); err != nil {
			return 0, fmt.Errorf("process %q: %w: no process has this id; 'ps -e' lists them", what, ErrNotFound)
		}
		return n, nil
	case "name":
		matches = f.named(value)
	case "port":
		port, err := strconv.Atoi(value)
		if err != nil {
			return 0, fmt.Errorf("process %q: found port %q, want a number: %w", what, value, ErrNotFound)
		}
		matches = f.listening(port)
	default:
		return 0, fmt.Errorf("process %q: want pid:N, name:NAME or port:N: %w", what, ErrNotFound)
	}
	return f.only(what, matches)
}

// only leaves out matches that descend from another.
func (f files) only(what string, matches []int64) (int, error) {
	var p parents
	p.refresh(f, 0)
	var first []int64
	for _, pid := range matches {
		if !slices.ContainsFunc(matches, func(other int64) bool { return other != pid && p.descends(pid, other) }) {
			first = append(first, pid)
		}
	}
	switch len(first) {
	case 1:
		return int(first[0]), nil
	case 0:
		return 0, fmt.Errorf("process %q: %w: none matches; 'ps -e' and 'ss -ltnp' list what runs and listens, "+
			"and other users' processes need their user or root", what, ErrNotFound)
	}
	return 0, fmt.Errorf("process %q: %w: %d match (%v); give pid:N", what, ErrNotFound, len(first), first)
}

// named finds processes by the command's name, or the last part of its path where the kernel's name is cut.
func (f files) named(name string) []int64 {
	pids, err := f.numbers(f.root)
	if err != nil {
		return nil
	}
	var out []int64
	self := int64(os.Getpid())
	for _, pid := range pids {
		dir := filepath.Join(f.root, strconv.FormatInt(pid, 10))
		if pid != self && (f.command(dir) == name || f.program(dir) == name) {
			out = append(out, pid)
		}
	}
	return out
}

func (f files) command(dir string) string {
	text, err := f.read(dir + "/stat")
	if err != nil {
		return ""
	}
	s, _ := procfs.ParseStat(text)
	return string(s.Command)
}

func (f files) program(dir string) string {
	text, err := f.read(dir + "/cmdline")
	if err != nil || len(text) == 0 {
		return ""
	}
	first, _, _ := strings.Cut(string(text), "\x00")
	return filepath.Base(first)
}

// listening finds processes that hold a socket that listens at a port.
func (f files) listening(port int) []int64 {
	wanted := map[string]bool{}
	for _, name := range []string{"tcp", "tcp6"} {
		text, err := os.ReadFile(filepath.Join(f.root, "net", name))
		if err != nil {
			continue // A machine without this address family.
		}
		for s := range procfs.Sockets(text) {
			if s.State == procfs.Listen && s.LocalPort == port {
				wanted[fmt.Sprintf("socket:[%d]", s.Inode)] = true
			}
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	pids, err := f.numbers(f.root)
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(pids, func(pid int64) bool { return !f.holds(pid, wanted) })
}

func (f files) holds(pid int64, wanted map[string]bool) bool {
	dir := filepath.Join(f.root, strconv.FormatInt(pid, 10), "fd")
	fds, err := f.numbers(dir)
	if err != nil {
		return false
	}
	for _, fd := range fds {
		if link, err := os.Readlink(filepath.Join(dir, strconv.FormatInt(fd, 10))); err == nil && wanted[link] {
			return true
		}
	}
	return false
}
