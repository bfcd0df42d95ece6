// Package launch owns child processes: it starts a service in a process group of its own, waits until it is ready, notices its death,
// keeps its last lines of output, and ends the whole group. Nothing it started outlives Loadline, not even when Loadline is killed.
// It does not decide which services run when; the experiment does.
package launch

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/loadline-dev/loadline/internal/plan"
)

// What can go wrong. ErrCommand is the plan's fault; after the others the service cannot be reached.
var (
	ErrCommand   = errors.New("cannot be started")
	ErrPortInUse = errors.New("finds its port in use")
	ErrNotReady  = errors.New("did not become ready")
	ErrDied      = errors.New("ended by itself")
	ErrKilled    = errors.New("did not end within its grace and was killed")
)

// Error is a service's failure. Unwrap gives one of the errors above and, where the caller gave up, the context's error.
type Error struct {
	Service string
	Kind    error
	Cause   error    // may be nil
	Tail    []string // the service's last lines of output, where it had run
	Advice  string
}

// Error names the service, what happened, and its last lines.
func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "service %s %v", e.Service, e.Kind)
	if e.Cause != nil {
		fmt.Fprintf(&b, ": %v", e.Cause)
	}
	if len(e.Tail) > 0 {
		fmt.Fprintf(&b, "; its last lines:\n  %s", strings.Join(e.Tail, "\n  "))
	}
	return b.String()
}

// Unwrap is the kind and the cause.
func (e *Error) Unwrap() []error {
	if e.Cause == nil {
		return []error{e.Kind}
	}
	return []error{e.Kind, e.Cause}
}

// Hint is what to do next.
func (e *Error) Hint() string { return e.Advice }

// Spec is a service to start, with its varied values filled in.
type Spec struct {
	Service plan.Service
	Self    string   // the program that «loadline» as the first word of a command means; needed only there
	Folder  string   // where the plan's relative paths begin; empty: the working directory
	Environ []string // what the service inherits, as os.Environ gives it; nil: Loadline's own environment
}

// Validate checks what can be known before the start, all faults at once.
func (s Spec) Validate() error {
	var faults []error
	bad := func(field, found, want string) {
		faults = append(faults, fmt.Errorf("%s: found %s, want %s", field, found, want))
	}
	if len(s.Service.Command) == 0 || s.Service.Command[0] == "" {
		bad("command", "nothing", "a program and its arguments")
	} else if s.Service.Command[0] == "loadline" && s.Self == "" {
		bad("self", "nothing", "the path of the running program, which the command's first word stands for")
	}
	if _, err := signalOf(s.Service.Stop.Signal); err != nil {
		faults = append(faults, err)
	}
	if s.Service.CPUs != "" {
		if _, err := plan.ParseCPUs(s.Service.CPUs); err != nil {
			faults = append(faults, fmt.Errorf("cpus: %w", err))
		}
	}
	if s.Service.Stop.Grace < 0 || s.Service.Ready.Timeout < 0 {
		bad("stop.grace, ready.timeout", "a negative duration", "0 or more")
	}
	return errors.Join(faults...)
}

// signals are the names that a plan may give.
var signals = map[string]syscall.Signal{"": syscall.SIGTERM, "TERM": syscall.SIGTERM, "INT": syscall.SIGINT, "QUIT": syscall.SIGQUIT,
	"HUP": syscall.SIGHUP, "USR1": syscall.SIGUSR1, "USR2": syscall.SIGUSR2, "KILL": syscall.SIGKILL}

func signalOf(name string) (syscall.Signal, error) {
	s, ok := signals[name]
	if !ok {
		return 0, fmt.Errorf("stop.signal: found %q, want TERM, INT, QUIT, HUP, USR1, USR2 or KILL", name)
	}
	return s, nil
}

func (s Spec) path(name string) string {
	if name == "" || filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(s.Folder, name)
}

// command finds the program and prepares its start.
func (s Spec) command() (*exec.Cmd, error) {
	dir := s.path(s.Service.Dir)
	if dir != "" {
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			return nil, fmt.Errorf("dir: found %s, want a folder that exists", dir)
		}
	}
	program, err := s.program(dir)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(program, s.Service.Command[1:]...)
	cmd.Dir = dir
	cmd.Env = s.environ()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	return cmd, nil
}

// program is the absolute path of what is to run: Loadline itself, a path from the folder where it runs, or a program found in PATH.
func (s Spec) program(dir string) (string, error) {
	name := s.Service.Command[0]
	if name == "loadline" {
		return s.Self, nil
	}
	if strings.ContainsRune(name, '/') && !filepath.IsAbs(name) {
		name = filepath.Join(dir, name)
		if !filepath.IsAbs(name) {
			name = "./" + name
		}
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return "", fmt.Errorf("command: %w", err)
	}
	return filepath.Abs(path)
}

func (s Spec) environ() []string {
	out := s.Environ
	if out == nil {
		out = os.Environ()
	}
	out = append([]string(nil), out...)
	for _, v := range s.Service.Env {
		out = append(out, v.Name+"="+v.Value) // The last one of a name holds.
	}
	return out
}

func (s Spec) readyTimeout() time.Duration {
	if s.Service.Ready.Timeout == 0 {
		return plan.DefaultReadyTimeout
	}
	return s.Service.Ready.Timeout
}
