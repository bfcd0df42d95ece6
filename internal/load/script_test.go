package load_test

import (
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/loadline-dev/loadline/internal/load"
	"github.com/loadline-dev/loadline/internal/plan"
	"github.com/loadline-dev/loadline/internal/record"
)

// shop is a service with a login. It counts what went as it should.
type shop struct {
	mu     sync.Mutex
	logins map[string]int // by user
	orders map[string]int // by token, sent with the right cookie and fields
	faults []string
}

func (s *shop) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		s.faults = append(s.faults, err.Error())
	}
	r.Body = io.NopCloser(strings.NewReader(string(body)))
	switch {
	case r.URL.Path == "/login":
		user := r.FormValue("user")
		if user == "" || r.Header.Get("Content-Type") != "application/x-www-form-urlencoded" {
			s.faults = append(s.faults, "login with "+string(body))
		}
		s.logins[user]++
		http.SetCookie(w, &http.Cookie{Name: "session", Value: "of-" + strings.ReplaceAll(user, " ", "_"), Expires: time.Now().Add(time.Hour)})
		http.SetCookie(w, &http.Cookie{Name: "other", Value: "1"})
		w.Header().Set("X-Next", "42")
		fmt.Fprintf(w, `{"items":[{"token":"t/%s"}]}`, user)
	case strings.HasPrefix(r.URL.Path, "/order/t/"):
		user := strings.TrimPrefix(r.URL.Path, "/order/t/")
		session, err := r.Cookie("session")
		if err != nil || session.Value != "of-"+strings.ReplaceAll(user, " ", "_") || r.URL.Query().Get("q") != "a b&"+user || r.Header.Get("X-Next") != "42" ||
			string(body) != `{"user":"`+user+`"}` {
			s.faults = append(s.faults, fmt.Sprintf("order %s with cookie %v, header %q, body %s", r.URL, session, r.Header.Get("X-Next"), body))
		}
		s.orders[user]++
		fmt.Fprint(w, `{"state":"done"}`)
	case r.URL.Path == "/auth":
		want := "Basic " + base64.StdEncoding.EncodeToString([]byte("me:secret"))
		if r.Header.Get("Authorization") != want {
			s.faults = append(s.faults, "authorization "+r.Header.Get("Authorization"))
		}
		fmt.Fprint(w, `{"state":"other"}`)
	default:
		s.faults = append(s.faults, "path "+r.URL.Path)
	}
}

func shopTarget(t *testing.T, url string) (plan.Target, string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "users.csv"), []byte("name,age\nann b,1\nbob,2\ncid,3\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	login := plan.Step{Name: "login", Request: plan.Request{URL: url + "/login", Form: []plan.Header{{Name: "user", Value: "{{users.name}}"}}},
		Extract: []plan.Extract{{Name: "token", JSON: "items.0.token"}, {Name: "next", Header: "x-next"}}}
	order := plan.Step{Name: "order", Request: plan.Request{Method: "PUT", URL: url + "/order/t/{{users.name}}?q=a%20b%26{{ users.name }}", Body: `{"user":"{{users.name}}"}`,
		Headers: []plan.Header{{Name: "X-Next", Value: "{{next}}"}}}, Checks: []plan.Check{{Name: "state", JSON: "state", Equals: "done", Status: plan.StatusMatch{Classes: []int{2}}}}}
	auth := plan.Step{Name: "auth", Request: plan.Request{URL: url + "/auth", Auth: plan.Auth{User: "me", Password: "secret"}},
		Checks: []plan.Check{{Name: "done", JSON: "state", Equals: "done"}}}
	return plan.Target{
		Client:  plan.Client{Cookies: true},
		Flows:   []plan.Flow{{Name: "buy", Weight: 3, Steps: []plan.Step{login, order}}, {Name: "auth", Steps: []plan.Step{auth, {Request: plan.Request{URL: url + "/never"}}}}},
		Feeders: []plan.Feeder{{Name: "users", File: "users.csv"}},
	}, dir
}

func TestFlowsSendWhatTheirFeedersAndEarlierAnswersSay(t *testing.T) {
	for _, kind := range []load.Kind{load.Fast, load.General} {
		for _, step := range []record.Load{{Model: record.Closed, Concurrency: 4}, {Model: record.Open, RatePerSec: 300}} {
			t.Run(string(kind)+" "+string(step.Model), func(t *testing.T) {
				s := &shop{logins: map[string]int{}, orders: map[string]int{}}
				srv := httptest.NewServer(s)
				defer srv.Close()
				target, dir := shopTarget(t, srv.URL)
				counts := map[record.Outcome]int64{}
				codes := map[string]int64{}
				job := load.Job{Target: target, Load: step, Shape: load.Shape{Requests: 400, Seed: 5}, Phases: load.Phases{Window: time.Minute}}
				err := engine(t, load.Config{Kind: kind, Folder: dir}).Run(t.Context(), job, load.SinkFunc(func(i record.Interval) error {
					for _, c := range i.Classes {
						counts[c.Outcome] += c.Count
					}
					for code, n := range i.Codes {
						codes[code] += n
					}
					return nil
				}))
				if err != nil {
					t.Fatal(err)
				}
				s.check(t, counts, codes)
			})
		}
	}
}

func (s *shop) check(t *testing.T, counts map[record.Outcome]int64, codes map[string]int64) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, f := range s.faults {
		if i < 3 {
			t.Errorf("the service got %s", f)
		}
	}
	logins, orders := 0, 0
	for _, user := range []string{"ann b", "bob", "cid"} {
		logins += s.logins[user]
		orders += s.orders[user]
		if s.logins[user] < 20 {
			t.Errorf("rows are used in turn: %d logins of %s", s.logins[user], user)
		}
	}
	if counts[record.Success] != int64(logins+orders) || counts[record.Success]+counts[record.Failure] != 400 {
		t.Errorf("got %v, the service saw %d logins and %d orders, want 400 requests", counts, logins, orders)
	}
	// A flow in four is the one whose check fails: one request of it beside two of the other, so a seventh of 400, ± 3 standard deviations of 7.
	if n := counts[record.Failure]; codes["check: done"] != n || n < 36 || n > 78 {
		t.Errorf("%d failures, codes %v, want about 57 by the check", n, codes)
	}
}

func TestAFeederWhoseRowsAreUsedOnceEndsItsUsers(t *testing.T) {
	for _, kind := range []load.Kind{load.Fast, load.General} {
		var paths sync.Map
		srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { paths.Store(r.URL.Path, true) }))
		defer srv.Close()
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "ids.json"), []byte(`[{"id":1},{"id":2},{"id":"x"}]`), 0o600); err != nil {
			t.Fatal(err)
		}
		job := load.Job{Load: record.Load{Model: record.Closed, Concurrency: 2}, Phases: load.Phases{Window: 200 * time.Millisecond}, Target: plan.Target{
			Flows:   []plan.Flow{{Steps: []plan.Step{{Request: plan.Request{URL: srv.URL + "/{{ids.id}}"}}}}},
			Feeders: []plan.Feeder{{Name: "ids", File: "ids.json", Choose: plan.ChooseOnce}}}}
		var planned int64
		err := engine(t, load.Config{Kind: kind, Folder: dir}).Run(t.Context(), job, load.SinkFunc(func(i record.Interval) error {
			planned += i.Planned
			return nil
		}))
		n := 0
		paths.Range(func(any, any) bool { n++; return true })
		if err != nil || planned != 3 || n != 3 {
			t.Errorf("%s: %d planned, %d paths seen, %v, want 3 and 3", kind, planned, n, err)
		}
	}
}

func TestFaultsOfAScriptAreNamedBeforeAnythingIsSent(t *testing.T) {
	step := func(change func(s *plan.Step)) plan.Target {
		s := plan.Step{Name: "one", Request: plan.Request{URL: "http://127.0.0.1:1/"}}
		change(&s)
		return plan.Target{Flows: []plan.Flow{{Name: "f", Steps: []plan.Step{s}}}}
	}
	for want, target := range map[string]plan.Target{
		"{{nobody}}": step(func(s *plan.Step) { s.Request.URL += "{{nobody}}" }),
		"{{ later }}": step(func(s *plan.Step) {
			s.Request.Body = "{{ later }}"
			s.Extract = []plan.Extract{{Name: "later", JSON: "a"}}
		}),
		"in path and query": step(func(s *plan.Step) { s.Request.URL = "http://{{user}}/" }),
		"extract":           step(func(s *plan.Step) { s.Extract = []plan.Extract{{Name: "a", JSON: "b", Header: "c"}} }),
		"weight":            {Flows: []plan.Flow{{Weight: -1, Steps: []plan.Step{{}}}}},
		"steps":             {Flows: []plan.Flow{{Name: "empty"}}},
		"missing.csv":       {Flows: []plan.Flow{{}}, Feeders: []plan.Feeder{{Name: "m", File: "missing.csv"}}},
	} {
		job := load.Job{Target: target, Load: record.Load{Model: record.Closed, Concurrency: 1}, Phases: load.Phases{Window: time.Second}}
		err := engine(t, load.Config{}).Run(t.Context(), job, load.SinkFunc(func(record.Interval) error { return nil }))
		if err == nil || !strings.Contains(err.Error(), strings.Trim(want, "{ }")) {
			t.Errorf("got %v, want an error that names %s", err, want)
		}
	}
}
