package process_test

import (
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/loadline-dev/loadline/internal/observe"
	"github.com/loadline-dev/loadline/internal/observe/process"
)

func TestAProcessIsFoundByIDNameAndPort(t *testing.T) {
	name := "ll-" + strconv.Itoa(os.Getpid())
	program := filepath.Join(t.TempDir(), name)
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		t.Skip("no sleep here")
	}
	if err := os.Symlink(sleep, program); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "100")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	pid := cmd.Process.Pid
	for _, what := range []string{"pid:" + strconv.Itoa(pid), "name:" + name} {
		if got, err := process.Find(what); err != nil || got != pid {
			t.Errorf("%s: %d, %v, want %d", what, got, err, pid)
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if got, err := process.Find("port:" + strconv.Itoa(l.Addr().(*net.TCPAddr).Port)); err != nil || got != os.Getpid() {
		t.Errorf("port: %d, %v, want %d", got, err, os.Getpid())
	}
}

func TestWhatIsNotFoundSaysHowToFindIt(t *testing.T) {
	for what, hint := range map[string]string{"pid:4194304": "ps -e", "pid:x": "number", "name:no such program": "ss -ltnp", "port:x": "number", "order": "pid:N"} {
		if _, err := process.Find(what); !errors.Is(err, process.ErrNotFound) || !strings.Contains(err.Error(), hint) {
			t.Errorf("%s: error %v, want one with %q", what, err, hint)
		}
	}
}

func TestTwoProcessesOfOneNameAreToldApart(t *testing.T) {
	dir := t.TempDir()
	for pid, text := range map[string]string{
		"10": "10 (java) S 1 0 0 0 -1 0 0 0 0 0 0 0 0 0 0 0 1 0 5 0 0 0", "11": "11 (java) S 10 0 0 0 -1 0 0 0 0 0 0 0 0 0 0 0 1 0 5 0 0 0",
	} {
		write(t, filepath.Join(dir, pid, "stat"), text)
	}
	if got, err := process.FindIn(dir, "name:java"); err != nil || got != 10 {
		t.Errorf("%d, %v: want the parent of the two", got, err)
	}
	write(t, filepath.Join(dir, "12", "stat"), "12 (java) S 1 0 0 0 -1 0 0 0 0 0 0 0 0 0 0 0 1 0 5 0 0 0")
	if _, err := process.FindIn(dir, "name:java"); err == nil || !strings.Contains(err.Error(), "2 match") {
		t.Errorf("error %v, want one that says that two match", err)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestTheCPUTimeOfThreadsIsToldByTheirNamesWithoutNumbers(t *testing.T) {
	c, err := process.New(process.Config{Service: "order", PID: os.Getpid(), Groups: 3})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var sum float64
	b, err := c.Collect(context.Background(), observe.Since(time.Now()))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range b.Series {
		if strings.ContainsAny(s.Name, "0123456789") {
			t.Errorf("series %q has a number", s.Name)
		}
		sum += s.Value
	}
	var threads time.Duration
	for _, th := range c.Threads() {
		threads += th.Run
		if th.PID != int64(os.Getpid()) || th.Name == "" {
			t.Errorf("thread %+v", th)
		}
	}
	if sum <= 0 || sum > threads.Seconds() {
		t.Errorf("groups used %v s, threads %v", sum, threads)
	}
}
