// Package jvm looks into Java virtual machines from outside, without an agent: thread dumps by the attach protocol or by jcmd, heap,
// collections, threads and safepoints from the counters that HotSpot publishes in a file, and the pools that Jolokia's MBeans show.
package jvm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// ErrNotAttachable is wrapped where a process is no JVM that can be attached to.
var ErrNotAttachable = errors.New("no JVM that can be attached to")

// target is a JVM's process.
type target struct {
	pid  int
	root string // /proc/PID/root: the file system as the JVM sees it
	own  int    // the JVM's own id, within its container
	uid  int
	gid  int
}

// newTarget makes sure that a process is a JVM before anything is sent to it: the signal that asks a JVM to listen ends other processes.
func newTarget(pid int) (target, error) {
	proc := filepath.Join("/proc", strconv.Itoa(pid))
	status, err := os.ReadFile(filepath.Join(proc, "status"))
	if err != nil {
		return target{}, fmt.Errorf("process %d: %w: %w", pid, ErrNotAttachable, err)
	}
	maps, err := os.ReadFile(filepath.Join(proc, "maps"))
	if err != nil {
		return target{}, fmt.Errorf("process %d: %w: its maps cannot be read; run as its user or as root: %w", pid, ErrNotAttachable, err)
	}
	if !bytes.Contains(maps, []byte("libjvm.so")) {
		return target{}, fmt.Errorf("process %d: %w: it has not loaded libjvm.so", pid, ErrNotAttachable)
	}
	fields := statusFields(status)
	caught, err := strconv.ParseUint(fields["SigCgt"], 16, 64)
	if err != nil || caught&(1<<(uint(unix.SIGQUIT)-1)) == 0 {
		return target{}, fmt.Errorf("process %d: %w: it does not listen to SIGQUIT (still starting, or run with -Xrs)", pid, ErrNotAttachable)
	}
	t := target{pid: pid, root: filepath.Join(proc, "root"), own: pid}
	t.uid, t.gid = firstNumber(fields["Uid"]), firstNumber(fields["Gid"])
	if ids := strings.Fields(fields["NSpid"]); len(ids) > 0 {
		t.own, _ = strconv.Atoi(ids[len(ids)-1]) // The kernel writes numbers.
	}
	return t, nil
}

func statusFields(status []byte) map[string]string {
	out := map[string]string{}
	for line := range strings.Lines(string(status)) {
		if key, value, ok := strings.Cut(line, ":"); ok {
			out[key] = strings.TrimSpace(value)
		}
	}
	return out
}

// firstNumber of «real effective saved filesystem» is taken after the first: the effective one is the second.
func firstNumber(ids string) int {
	f := strings.Fields(ids)
	if len(f) < 2 {
		return -1
	}
	n, err := strconv.Atoi(f[1])
	if err != nil {
		return -1
	}
	return n
}

func (t target) socket() string {
	return filepath.Join(t.root, "tmp", ".java_pid"+strconv.Itoa(t.own))
}

// attach connects to the JVM's socket; where there is none yet, the JVM is asked to open it by a file and a signal.
func (t target) attach(ctx context.Context) (net.Conn, error) {
	if conn, err := dial(ctx, t.socket()); err == nil {
		return conn, nil
	}
	trigger, err := t.trigger()
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.Remove(trigger) }() // Left behind it would make the JVM listen again, which harms nothing.
	if err := unix.Kill(t.pid, unix.SIGQUIT); err != nil {
		return nil, fmt.Errorf("ask process %d to listen: %w; run as its user or as root", t.pid, err)
	}
	const first, slowest = 5 * time.Millisecond, 200 * time.Millisecond
	for wait := first; ; wait = min(2*wait, slowest) {
		conn, err := dial(ctx, t.socket())
		if err == nil {
			return conn, nil
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("process %d: %w: it did not open its socket (-XX:+DisableAttachMechanism?): %w", t.pid, ErrNotAttachable, ctx.Err())
		case <-time.After(wait):
		}
	}
}

// trigger makes the file by which the JVM knows that the signal is meant as a request. The JVM accepts it from its own user only.
func (t target) trigger() (string, error) {
	name := ".attach_pid" + strconv.Itoa(t.own)
	var faults []error
	for _, dir := range []string{filepath.Join("/proc", strconv.Itoa(t.pid), "cwd"), filepath.Join(t.root, "tmp")} {
		path := filepath.Join(dir, name)
		f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o660)
		if err != nil {
			faults = append(faults, err)
			continue
		}
		if os.Geteuid() == 0 && t.uid > 0 {
			err = f.Chown(t.uid, t.gid)
		}
		return path, errors.Join(err, f.Close())
	}
	return "", fmt.Errorf("ask process %d to listen: %w", t.pid, errors.Join(faults...))
}

func dial(ctx context.Context, path string) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, "unix", path)
}

// command sends one command with its arguments (version 1 of the protocol: always three) and returns what the JVM prints.
func (t target) command(ctx context.Context, name string, args ...string) ([]byte, error) {
	conn, err := t.attach(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	request := "1\x00" + name + "\x00"
	for i := range 3 {
		if i < len(args) {
			request += args[i]
		}
		request += "\x00"
	}
	if _, err := io.WriteString(conn, request); err != nil {
		return nil, fmt.Errorf("process %d: send %s: %w", t.pid, name, err)
	}
	answer, err := io.ReadAll(io.LimitReader(conn, maxDump))
	if err != nil {
		return nil, fmt.Errorf("process %d: read the answer to %s: %w", t.pid, name, errors.Join(ctx.Err(), err))
	}
	status, text, found := bytes.Cut(answer, []byte("\n"))
	if !found || string(status) != "0" {
		return nil, fmt.Errorf("process %d: the JVM refused %s: found status %.20q, want 0: %.200s", t.pid, name, status, text)
	}
	return text, nil
}

// maxDump is how much of an answer is read: 100 000 threads with deep stacks.
const maxDump = 1 << 30
