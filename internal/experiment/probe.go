package experiment

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/loadline-dev/loadline/internal/load"
	"github.com/loadline-dev/loadline/internal/plan"
)

// probe sends the target one request before load is sent: any answer will do. A target that gives none would only fill a run with
// timeouts.
func probe(ctx context.Context, request plan.Request, folder string) error {
	client := &http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	if err := send(ctx, client, request, folder, nil); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return &targetError{url: request.URL, cause: err, timeout: request.Timeout}
	}
	return nil
}

// send makes one request; a nil check accepts any status.
func send(ctx context.Context, client *http.Client, request plan.Request, folder string, check func(status int) error) error {
	ctx, cancel := context.WithTimeout(ctx, request.Timeout)
	defer cancel()
	body := request.Body
	if request.BodyFile != "" {
		data, err := os.ReadFile(below(folder, request.BodyFile))
		if err != nil {
			return err
		}
		body = string(data)
	}
	req, err := http.NewRequestWithContext(ctx, request.Method, request.URL, strings.NewReader(body))
	if err != nil {
		return err
	}
	for _, h := range request.Headers {
		if strings.EqualFold(h.Name, "Host") {
			req.Host = h.Value
			continue
		}
		req.Header.Add(h.Name, h.Value)
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if check == nil {
		return nil
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 1<<20))
	return check(resp.StatusCode)
}

func below(folder, name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(folder, name)
}

// targetError says that the target gave no answer at all. It wraps load.ErrUnreachable.
type targetError struct {
	url     string
	cause   error
	timeout time.Duration
}

func (e *targetError) Error() string {
	if errors.Is(e.cause, context.DeadlineExceeded) {
		return fmt.Sprintf("target %s: no answer within its timeout of %v", e.url, e.timeout)
	}
	return fmt.Sprintf("target %s: %v", e.url, e.cause)
}

func (e *targetError) Unwrap() []error { return []error{load.ErrUnreachable, e.cause} }

// Hint is what to do about it.
func (e *targetError) Hint() string {
	return "check that the service listens at this address and answers, e.g. with curl; a longer time is set by target.request.timeout"
}
