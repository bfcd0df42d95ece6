// Package golang takes goroutine dumps of Go services: by the URL of net/http/pprof, or, on request, by the signal that ends the process
// with a dump on its standard error.
package golang

import (
	"context"
	"debug/buildinfo"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/loadline-dev/loadline/internal/parse/threaddump"
)

// Profile takes dumps from net/http/pprof. Each stops the service for a time that grows with its goroutines. It may be used from several
// goroutines.
type Profile struct {
	URL    string            // of the service's pprof, such as http://127.0.0.1:6060/debug/pprof; required
	Counts bool              // count identical goroutines (debug=1): smaller and with labels, without states
	Client http.RoundTripper // default: a connection of its own for each dump, without a proxy
}

// Source is the address.
func (p Profile) Source() string { return p.URL }

// Dump takes one.
func (p Profile) Dump(ctx context.Context) (format string, data []byte, err error) {
	u, err := url.Parse(p.URL)
	if err != nil || u.Host == "" {
		return "", nil, fmt.Errorf("found URL %q, want http://HOST:PORT/debug/pprof", p.URL)
	}
	debug := "2"
	if p.Counts {
		debug = "1"
	}
	if filepath.Base(u.Path) != "goroutine" {
		u = u.JoinPath("goroutine")
	}
	u.RawQuery = url.Values{"debug": {debug}}.Encode()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return "", nil, err
	}
	client := p.Client
	if client == nil {
		own := &http.Transport{DisableKeepAlives: true, ResponseHeaderTimeout: time.Minute}
		defer own.CloseIdleConnections()
		client = own
	}
	answer, err := client.RoundTrip(request)
	if err != nil {
		return "", nil, err
	}
	defer answer.Body.Close()
	const most = 1 << 30
	data, err = io.ReadAll(io.LimitReader(answer.Body, most))
	if err != nil {
		return "", nil, fmt.Errorf("read goroutines: %w", err)
	}
	if answer.StatusCode != http.StatusOK {
		return "", nil, fmt.Errorf("found status %s, want 200 OK with goroutines; does the service import net/http/pprof?", answer.Status)
	}
	return string(threaddump.Go), data, nil
}

// ErrNotGo is wrapped where a process is no Go program.
var ErrNotGo = errors.New("not a Go program")

// Quit ends a Go program with a dump of all goroutines on its standard error, which whoever started it reads. A program that is not
// Go's is not touched; one that catches the signal does what it pleases with it.
func Quit(pid int) error {
	proc := filepath.Join("/proc", strconv.Itoa(pid))
	if _, err := buildinfo.ReadFile(filepath.Join(proc, "exe")); err != nil {
		return fmt.Errorf("process %d: %w: %w", pid, ErrNotGo, err)
	}
	if err := unix.Kill(pid, unix.SIGQUIT); err != nil {
		return fmt.Errorf("process %d: send SIGQUIT: %w", pid, err)
	}
	return nil
}
