package experiment

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/loadline-dev/loadline/internal/launch"
	"github.com/loadline-dev/loadline/internal/plan"
)

// ErrApply is wrapped where a system could not be told of a setting.
var ErrApply = errors.New("the setting could not be applied")

// apply tells a system that was not started here of the setting, step by step.
func (r *runner) apply(ctx context.Context, steps []plan.ApplyStep) error {
	for i, step := range steps {
		if err := r.applyStep(ctx, step); err != nil {
			return fmt.Errorf("%w: apply[%d]: %w", ErrApply, i, err)
		}
		if err := pause(ctx, step.Settle); err != nil {
			return err
		}
	}
	return nil
}

func (r *runner) applyStep(ctx context.Context, step plan.ApplyStep) error {
	ctx, cancel := context.WithTimeout(ctx, step.Timeout)
	defer cancel()
	if step.HTTP == nil {
		return r.applyCommand(ctx, step)
	}
	return send(ctx, http.DefaultClient, *step.HTTP, r.Folder, func(status int) error {
		if status < 200 || status > 299 {
			return fmt.Errorf("%s %s: status %d, want 2xx", step.HTTP.Method, step.HTTP.URL, status)
		}
		return nil
	})
}

// applyCommand runs a step's command. What it leaves running after it has ended well is meant to stay; what does not end in time ends
// with all its children.
func (r *runner) applyCommand(ctx context.Context, step plan.ApplyStep) error {
	runtime.LockOSThread() // The kernel sends the parent-death signal when the thread that forked ends.
	defer runtime.UnlockOSThread()
	program := step.Command[0]
	if program == "loadline" {
		program = r.Self
	}
	cmd := exec.CommandContext(ctx, program, step.Command[1:]...)
	cmd.Dir, cmd.Env = r.Folder, r.Environ
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	switch {
	case err == nil, errors.Is(err, exec.ErrWaitDelay) && ctx.Err() == nil: // A child that stays holds its output open.
		return nil
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		err = fmt.Errorf("not done within %v", step.Timeout)
	}
	return fmt.Errorf("%s: %w%s", strings.Join(step.Command, " "), err, lastLines(out))
}

// lastLines is the end of a command's output, for a message.
func lastLines(out []byte) string {
	out = bytes.TrimSpace(out)
	if len(out) == 0 {
		return ""
	}
	lines := bytes.Split(out, []byte("\n"))
	text := "; its last lines:"
	for _, l := range lines[max(0, len(lines)-5):] {
		text += "\n  " + launch.Readable(l)
	}
	return text
}

func pause(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
