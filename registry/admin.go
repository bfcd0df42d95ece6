package registry

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/loadline-dev/loadline/internal/buckets"
)

// AdminConfig describes the admin handler.
type AdminConfig struct {
	// Token is what requests must bring as «Authorization: Bearer TOKEN». Empty means that anyone may read; writing needs one.
	Token string
	// Writable lets requests change settings. By default the handler only reads.
	Writable bool
}

// minToken is the shortest token with which writing is allowed.
const minToken = 16

// Admin is an HTTP handler over the registry, JSON in and out (docs/formats/settings.md lists the routes):
//
//	GET /                          how everything stands
//	GET /settings                  every value with its origin; ETag is the version
//	GET /document, PUT /document   the settings document; PUT wants If-Match
//	PATCH, DELETE /settings/{kind}/{name}   an override, and its end
//	PUT /tier                      {"tier": "peak"}
//	GET /history, /findings, /graph
//
// Put it behind http.StripPrefix where it does not stand at the root. A write names the version that it saw by If-Match ("*" for any);
// 412 is a conflict, 422 a refused or faulty change with its findings, and neither changes anything.
func (r *Registry) Admin(config AdminConfig) (http.Handler, error) {
	if config.Writable && len(config.Token) < minToken {
		return nil, fmt.Errorf("registry: admin: Token: %d characters: a writable handler wants a token of at least %d", len(config.Token), minToken)
	}
	a := &admin{r: r, config: config, token: sha256.Sum256([]byte(config.Token))}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", a.read(func() any { return summary(r.Snapshot()) }))
	mux.HandleFunc("GET /settings", a.read(func() any { return r.Settings() }))
	mux.HandleFunc("GET /document", a.read(func() any { d, _ := r.Document(); return d }))
	mux.HandleFunc("GET /history", a.read(func() any { return r.History() }))
	mux.HandleFunc("GET /findings", a.read(func() any { return map[string]any{"schema": "loadline.findings/1", "findings": r.Findings()} }))
	mux.HandleFunc("GET /graph", a.read(func() any { return map[string]any{"edges": r.Graph(), "starvation": r.Starvation()} }))
	mux.HandleFunc("PUT /document", a.write(func(_ *http.Request, body []byte, o []Option) (Result, error) {
		d, err := ParseDocument(body)
		if err != nil {
			return Result{}, err
		}
		return r.Apply(d, o...)
	}))
	mux.HandleFunc("PUT /tier", a.write(a.tier))
	mux.HandleFunc("PATCH /settings/{kind}/{name}", a.write(a.patch))
	mux.HandleFunc("DELETE /settings/{kind}/{name}", a.write(func(q *http.Request, _ []byte, o []Option) (Result, error) {
		return r.Release(Kind(q.PathValue("kind")), q.PathValue("name"), o...)
	}))
	return a.guard(mux), nil
}

type admin struct {
	r      *Registry
	config AdminConfig
	token  [sha256.Size]byte
}

// guard lets nobody in without the token. Hashes of equal length make the comparison's time say nothing of it.
func (a *admin) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		given, _ := strings.CutPrefix(q.Header.Get("Authorization"), "Bearer ")
		sum := sha256.Sum256([]byte(given))
		if a.config.Token != "" && subtle.ConstantTimeCompare(sum[:], a.token[:]) != 1 {
			w.Header().Set("WWW-Authenticate", "Bearer")
			answer(w, http.StatusUnauthorized, fault(errors.New("a bearer token is needed")))
			return
		}
		next.ServeHTTP(w, q)
	})
}

func (a *admin) read(get func() any) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("ETag", etag(a.r.Version()))
		answer(w, http.StatusOK, get())
	}
}

func etag(version uint64) string { return `"` + strconv.FormatUint(version, 10) + `"` }

// write reads the precondition and the body, and turns what came of it into a status.
func (a *admin) write(do func(*http.Request, []byte, []Option) (Result, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, q *http.Request) {
		if !a.config.Writable {
			answer(w, http.StatusForbidden, fault(errors.New("this handler only reads: set AdminConfig.Writable to change settings")))
			return
		}
		seen, err := ifMatch(q.Header.Get("If-Match"))
		if err != nil {
			answer(w, http.StatusPreconditionRequired, fault(err))
			return
		}
		body, err := io.ReadAll(http.MaxBytesReader(w, q.Body, maxDocument))
		if err != nil {
			answer(w, http.StatusRequestEntityTooLarge, fault(fmt.Errorf("read body: %w", err)))
			return
		}
		result, err := do(q, body, []Option{Seen(seen), By("admin " + q.RemoteAddr)})
		if err != nil {
			answer(w, statusOf(err), fault(err))
			return
		}
		w.Header().Set("ETag", etag(result.Version))
		answer(w, http.StatusOK, result)
	}
}

func ifMatch(header string) (uint64, error) {
	if header == "*" {
		return 0, nil
	}
	version, err := strconv.ParseUint(strings.Trim(header, `"`), 10, 64)
	if err != nil || version == 0 {
		return 0, errors.New(`If-Match with the ETag of what was read is needed, or "*" for any`)
	}
	return version, nil
}

func statusOf(err error) int {
	switch {
	case errors.Is(err, ErrConflict):
		return http.StatusPreconditionFailed
	case errors.Is(err, ErrUnknown):
		return http.StatusNotFound
	default:
		return http.StatusUnprocessableEntity
	}
}

// fault is an error as JSON, with the findings of a refused change.
func fault(err error) map[string]any {
	out := map[string]any{"error": err.Error()}
	var refused *RefusedError
	if errors.As(err, &refused) {
		out["findings"] = refused.Findings
	}
	return out
}

func answer(w http.ResponseWriter, status int, body any) {
	text, err := json.MarshalIndent(body, "", "  ")
	if err != nil {
		status, text = http.StatusInternalServerError, fmt.Appendf(nil, "{%q: %q}", "error", err.Error())
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(append(text, '\n')) // A client that has left needs no answer.
}

func (a *admin) patch(q *http.Request, body []byte, o []Option) (Result, error) {
	var section Section
	if err := parse(body, &section); err != nil {
		return Result{}, err
	}
	return a.r.Override(Kind(q.PathValue("kind")), q.PathValue("name"), section, o...)
}

func (a *admin) tier(_ *http.Request, body []byte, o []Option) (Result, error) {
	var ask struct {
		Tier *string `json:"tier"`
	}
	err := parse(body, &ask)
	if err == nil && ask.Tier == nil {
		err = errors.New("tier is missing")
	}
	if err != nil {
		return Result{}, fmt.Errorf(`body: %w; {"tier": "NAME"} is allowed, with "" for none`, err)
	}
	return a.r.SetTier(*ask.Tier, o...)
}

// summary is a snapshot for people and scripts: counters, gauges, and the usual quantiles in milliseconds.
func summary(s Snapshot) map[string]any {
	pools, bulkheads, breakers, commands := map[string]any{}, map[string]any{}, map[string]any{}, map[string]any{}
	for _, p := range s.Pools {
		pools[p.Name] = map[string]any{"state": p.State.String(), "workers": p.Workers, "active": p.Active, "zombies": p.Zombies, "waiting": p.Waiting,
			"largest_active": p.LargestActive, "largest_waiting": p.LargestWaiting, "recent_active": p.RecentActive, "recent_waiting": p.RecentWaiting,
			"submitted": p.Submitted, "completed": p.Completed, "failed": p.Failed, "rejected": p.Rejected.Sum(), "cancelled": p.Cancelled, "discarded": p.Discarded,
			"queue_wait_ms": quantiles(p.QueueWait), "execution_ms": quantiles(p.Execution)}
	}
	for _, b := range s.Bulkheads {
		bulkheads[b.Name] = map[string]any{"in_use": b.InUse, "permits": b.Settings.Permits, "waiting": b.Waiting, "largest_in_use": b.LargestInUse,
			"granted": b.Granted, "rejected": b.Rejected.Sum(), "cancelled": b.Cancelled, "wait_ms": quantiles(b.Wait)}
	}
	for _, b := range s.Breakers {
		breakers[b.Name] = map[string]any{"state": b.State.String(), "refusing": b.Refusing, "window_calls": b.Window.Calls, "window_failures": b.Window.Failures,
			"refused": b.Refused, "trips": b.Trips}
	}
	for _, c := range s.Commands {
		outcomes := map[string]uint64{}
		for i, n := range c.Outcomes {
			outcomes[outcomeName(i)] = n
		}
		commands[c.Name] = map[string]any{"group": c.Group, "calls": c.Calls, "active": c.Active, "zombies": c.Zombies, "outcomes": outcomes,
			"breaker": c.Breaker.State.String(), "wait_ms": quantiles(c.Wait), "execution_ms": quantiles(c.Execution)}
	}
	return map[string]any{"at": s.At.Format(time.RFC3339Nano), "version": s.Version, "tier": s.Tier, "pools": pools, "bulkheads": bulkheads,
		"breakers": breakers, "commands": commands}
}

// quantiles of a distribution in milliseconds; null where nothing was recorded.
func quantiles(h buckets.Snapshot) map[string]any {
	out := map[string]any{"n": h.N(), "mean": nil}
	if mean, ok := h.Mean(); ok {
		out["mean"] = mean.Seconds() * 1000
	}
	for name, q := range map[string]float64{"p50": 0.5, "p90": 0.9, "p99": 0.99, "p999": 0.999} {
		out[name] = nil
		if d, ok := h.Quantile(q); ok {
			out[name] = d.Seconds() * 1000
		}
	}
	return out
}
