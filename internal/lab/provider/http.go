package provider

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/loadline-dev/loadline/internal/lab/expose"
	"github.com/loadline-dev/loadline/pool"
)

// outcomeHeader tells the class of an answer that is no success; it is in its canonical form, which net/http sends as it stands.
const outcomeHeader = "X-Loadline-Outcome"

var (
	jsonType = []string{"application/json"}
	textType = []string{"text/plain; charset=utf-8"}
)

// route is a mux of three paths.
func (s *Service) route(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "GET only", http.StatusMethodNotAllowed)
		return
	}
	switch r.URL.Path {
	case "/user":
		s.userOverHTTP(w, r)
	case "/ready":
		fmt.Fprintln(w, "ready")
	case "/metrics":
		w.Header().Set("Content-Type", expose.ContentType)
		_, _ = w.Write(s.metrics()) // A scraper that has gone needs no answer.
	default:
		http.Error(w, "GET /user?id=1, /ready or /metrics", http.StatusNotFound)
	}
}

func (s *Service) userOverHTTP(w http.ResponseWriter, r *http.Request) {
	id, err := strconv.ParseUint(r.URL.Query().Get("id"), 10, 64)
	if err != nil {
		http.Error(w, fmt.Sprintf("id: found %q, want a number such as /user?id=1", r.URL.Query().Get("id")), http.StatusBadRequest)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), s.config.Timeout)
	defer cancel()
	record, err := pool.Call(ctx, s.pool, func(ctx context.Context) ([]byte, error) { return s.user(ctx, id) })
	status := statusOf(err)
	s.outcomes.add(status)
	h := w.Header()
	if err == nil {
		h["Content-Type"] = jsonType
		_, _ = w.Write(record) // A user who has gone needs no answer.
		return
	}
	h["Content-Type"] = textType
	h[outcomeHeader] = []string{status.outcome()}
	w.WriteHeader(status.code(err))
	_, _ = fmt.Fprintf(w, "%s: %v\n", status, err)
}

// code is the HTTP status of a fault.
func (s Status) code(err error) int {
	switch s {
	case Timeout:
		return http.StatusGatewayTimeout
	case Rejected:
		return http.StatusServiceUnavailable
	default:
		if errors.Is(err, errNoUser) {
			return http.StatusNotFound
		}
		return http.StatusBadGateway
	}
}
