package load

import (
	"fmt"
	"strings"

	"github.com/loadline-dev/loadline/internal/plan"
)

// work is what a target has users do: one request again and again, or the flows of a script.
type work struct {
	target  endpoint // of the request, or of the first step
	classes *classifier
	message *message // nil with a script
	script  *script  // nil without flows
	timeout int64    // ns, the longest of all requests
}

func workOf(t plan.Target, folder string) (*work, error) {
	w := &work{classes: newClassifier(t.Outcomes)}
	var err error
	if w.script, err = scriptOf(t, folder, w.classes); err != nil {
		return nil, fmt.Errorf("target: %w", err)
	}
	if w.script != nil {
		w.target, err = endpointOf(hostOf(t.Flows[0].Steps[0].Request.URL))
		w.timeout = w.script.longest()
		return w, err
	}
	if w.target, err = endpointOf(t.Request.URL); err != nil {
		return nil, err
	}
	body, err := bodyOf(t.Request, folder)
	if err != nil {
		return nil, err
	}
	m := messageOf(t.Request, w.target, body, t.Client.Close)
	w.message, w.timeout = &m, m.timeout
	return w, nil
}

// urls are those of all requests.
func urls(t plan.Target) []string {
	if len(t.Flows) == 0 {
		return []string{t.Request.URL}
	}
	var out []string
	for _, f := range t.Flows {
		for _, s := range f.Steps {
			out = append(out, s.Request.URL)
		}
	}
	return out
}

// hostOf is a URL's scheme, host and port, which hold no values.
func hostOf(u string) string {
	scheme, rest, ok := strings.Cut(u, "://")
	if !ok {
		return u
	}
	if end := strings.IndexAny(rest, "/?#"); end >= 0 {
		rest = rest[:end]
	}
	return strings.ToLower(scheme + "://" + rest)
}

// session begins a user's way through the script; nil without one.
func (w *work) session() *session {
	if w.script == nil {
		return nil
	}
	return w.script.newSession()
}
