package jvm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strconv"

	"github.com/loadline-dev/loadline/internal/parse/threaddump"
)

// Attach takes thread dumps through the JVM's own socket; no JDK is needed on the host. Processes in containers are reached by their
// id on the host. It may be used from several goroutines.
type Attach struct{ PID int }

// Source names the process.
func (a Attach) Source() string { return "JVM " + strconv.Itoa(a.PID) }

// Dump takes one, with the owners of locks. The error wraps ErrNotAttachable where the process is no JVM that can be asked.
func (a Attach) Dump(ctx context.Context) (format string, data []byte, err error) {
	t, err := newTarget(a.PID)
	if err != nil {
		return "", nil, err
	}
	data, err = t.command(ctx, "threaddump", "-l")
	return string(threaddump.HotSpot), data, err
}

// Jcmd takes thread dumps by the JDK's tool, for JVMs whose socket this process may not use.
type Jcmd struct {
	PID  int
	Path string // default jcmd, found on the PATH
}

// Source names the process.
func (j Jcmd) Source() string { return "jcmd " + strconv.Itoa(j.PID) }

// Dump takes one, with the owners of locks.
func (j Jcmd) Dump(ctx context.Context) (format string, data []byte, err error) {
	path := j.Path
	if path == "" {
		path = "jcmd"
	}
	cmd := exec.CommandContext(ctx, path, strconv.Itoa(j.PID), "Thread.print", "-l")
	var out, complaint bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaint
	if err := cmd.Run(); err != nil {
		return "", nil, fmt.Errorf("jcmd %d Thread.print: %w: %.300s", j.PID, errors.Join(ctx.Err(), err), complaint.Bytes())
	}
	return string(threaddump.HotSpot), out.Bytes(), nil
}
