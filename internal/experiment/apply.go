package experiment

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os/exec"
	"strings"
	"time"

	"github.com/loadline-dev/loadline/internal/plan"
)

// applySteps tells a system that was not started here of the setting, step by step.
func applySteps(ctx context.Context, steps []plan.ApplyStep, folder string, environ []string) error {
	for i, step := range steps {
		if err := applyStep(ctx, step, folder, environ); err != nil {
			return fmt.Errorf("apply[%d]: %w", i, err)
		}
		if err := pause(ctx, step.Settle); err != nil {
			return err
		}
	}
	return nil
}

func applyStep(ctx context.Context, step plan.ApplyStep, folder string, environ []string) error {
	ctx, cancel := context.WithTimeout(ctx, step.Timeout)
	defer cancel()
	if step.HTTP != nil {
		return send(ctx, http.DefaultClient, *step.HTTP, folder, func(status int) error {
			if status < 200 || status > 299 {
				return fmt.Errorf("%s %s: status %d, want 2xx", step.HTTP.Method, step.HTTP.URL, status)
			}
			return nil
		})
	}
	cmd := exec.CommandContext(ctx, step.Command[0], step.Command[1:]...)
	cmd.Dir, cmd.Env = folder, environ
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w%s", strings.Join(step.Command, " "), err, lastLines(out))
	}
	return nil
}

// lastLines is the end of a command's output, for a message.
func lastLines(out []byte) string {
	out = bytes.TrimSpace(out)
	if len(out) == 0 {
		return ""
	}
	lines := strings.Split(string(out), "\n")
	return ": " + strings.Join(lines[max(0, len(lines)-5):], "\n")
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
