package experiment

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/loadline-dev/loadline/internal/plan"
)

const patience = 10 * time.Second

// pidIn waits until a command has written its number into a file.
func pidIn(t *testing.T, file string) int {
	t.Helper()
	pid := 0
	eventually(t, "a number in "+file, func() bool {
		data, err := os.ReadFile(file)
		if err != nil {
			return false
		}
		pid, err = strconv.Atoi(strings.TrimSpace(string(data)))
		return err == nil
	})
	return pid
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.After(patience); !holds(); {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("not within %v: %s", patience, what)
		}
	}
}

// lives tells whether a process runs; one that nobody has waited for yet is dead all the same.
func lives(pid int) bool {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err == nil && !strings.Contains(string(data), ") Z ")
}

func script(timeout time.Duration, text string) []plan.ApplyStep {
	return []plan.ApplyStep{{Command: []string{"sh", "-c", text}, Timeout: timeout}}
}

func TestAnApplyCommandThatTakesTooLongEndsWithItsChildren(t *testing.T) {
	folder := t.TempDir()
	r := &runner{Config: Config{Folder: folder, Environ: os.Environ()}}
	err := r.apply(t.Context(), script(300*time.Millisecond, "sleep 60 & echo $! > child; wait"))
	if !errors.Is(err, ErrApply) || !strings.Contains(err.Error(), "apply[0]") || !strings.Contains(err.Error(), "not done within 300ms") {
		t.Errorf("found %v", err)
	}
	child := pidIn(t, filepath.Join(folder, "child"))
	eventually(t, "the child is gone", func() bool { return !lives(child) })
}

func TestAnApplyCommandThatFailsShowsItsLastLines(t *testing.T) {
	r := &runner{Config: Config{Folder: t.TempDir(), Environ: os.Environ()}}
	err := r.apply(t.Context(), script(patience, `printf 'first\n\033[31mno such pool\033[0m\n' >&2; exit 3`))
	if !errors.Is(err, ErrApply) || !strings.HasSuffix(err.Error(), "exit status 3; its last lines:\n  first\n  no such pool") {
		t.Errorf("found %q", err)
	}
}

func TestWhatAnApplyCommandLeavesRunningStays(t *testing.T) {
	folder := t.TempDir()
	r := &runner{Config: Config{Folder: folder, Environ: os.Environ()}}
	if err := r.apply(t.Context(), script(patience, "sleep 60 & echo $! > child")); err != nil {
		t.Fatal(err)
	}
	child := pidIn(t, filepath.Join(folder, "child"))
	if !lives(child) {
		t.Error("the child was ended")
	}
	if err := syscall.Kill(child, syscall.SIGKILL); err != nil {
		t.Error(err)
	}
}

func TestLoadlineInAnApplyCommandIsTheRunningProgram(t *testing.T) {
	r := &runner{Config: Config{Folder: t.TempDir(), Environ: os.Environ(), Self: "/bin/echo"}}
	if err := r.apply(t.Context(), []plan.ApplyStep{{Command: []string{"loadline", "x"}, Timeout: patience}}); err != nil {
		t.Errorf("found %v", err)
	}
}

func TestAnInterruptEndsAnApplyCommand(t *testing.T) {
	folder := t.TempDir()
	r := &runner{Config: Config{Folder: folder, Environ: os.Environ()}}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.apply(ctx, script(time.Hour, "echo $$ > self; exec sleep 60")) }()
	self := pidIn(t, filepath.Join(folder, "self"))
	cancel()
	select {
	case err := <-done:
		if err == nil {
			t.Error("an interrupted step passed as taken")
		}
	case <-time.After(patience):
		t.Fatal("it went on")
	}
	if lives(self) {
		t.Error("the command was left running")
	}
}
