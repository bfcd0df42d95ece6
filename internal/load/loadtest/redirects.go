package loadtest

import (
	"testing"

	"github.com/loadline-dev/loadline/internal/load"
	"github.com/loadline-dev/loadline/internal/record"
)

func redirects(f Features) []rule {
	rules := []rule{{"redirect", "A redirect is not followed unless asked; it is an answer like any other.", func(t *testing.T, e load.Engine) {
		s := redirecting(t)
		run(t.Context(), t, e, job(s, 1, 5)).only(t, record.Success, 5)
		if s.requests.Load() != 5 {
			t.Errorf("the server got %d requests, want 5", s.requests.Load())
		}
	}}}
	if !f.Redirects {
		return rules
	}
	return append(rules, rule{"redirect followed", "A redirect is followed as often as asked.", func(t *testing.T, e load.Engine) {
		s := redirecting(t)
		j := job(s, 1, 5)
		j.Target.Client.Follow = 3
		run(t.Context(), t, e, j).only(t, record.Failure, 5)
		if s.requests.Load() != 10 {
			t.Errorf("the server got %d requests, want 10", s.requests.Load())
		}
	}})
}

// redirecting sends / to /there, which does not exist.
func redirecting(t *testing.T) *server {
	return serve(t, func(x *exchange) then {
		if x.req.URL.Path == "/" {
			x.write(status(302, "Location: /there\r\n"))
			return keep
		}
		x.write(status(404, ""))
		return keep
	})
}
