package registry_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/loadline-dev/loadline/pool"
	"github.com/loadline-dev/loadline/registry"
)

const token = "0123456789abcdef"

func admin(t *testing.T, r *registry.Registry, config registry.AdminConfig) http.Handler {
	t.Helper()
	h, err := r.Admin(config)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// ask sends one request with header pairs and gives status and JSON body.
func ask(t *testing.T, h http.Handler, method, path, body string, header ...string) (*httptest.ResponseRecorder, map[string]any) {
	t.Helper()
	q := httptest.NewRequest(method, path, strings.NewReader(body))
	for i := 0; i+1 < len(header); i += 2 {
		q.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, q)
	out := map[string]any{}
	if text := w.Body.String(); strings.HasPrefix(text, "{") {
		if err := json.Unmarshal([]byte(text), &out); err != nil {
			t.Fatalf("%s %s: %v in %s", method, path, err, text)
		}
	}
	return w, out
}

func TestTheAdminHandlerOnlyReadsByDefault(t *testing.T) {
	r := newRegistry(t, registry.Config{})
	newPool(t, r, "biz", pool.Settings{Core: 10, Max: 20})
	h := admin(t, r, registry.AdminConfig{})
	for _, path := range []string{"/", "/settings", "/document", "/history", "/findings", "/graph"} {
		w, _ := ask(t, h, "GET", path, "")
		if w.Code != 200 || w.Header().Get("ETag") != `"1"` || w.Header().Get("Content-Type") != "application/json" {
			t.Errorf("%s: got %d, %v", path, w.Code, w.Header())
		}
	}
	_, body := ask(t, h, "GET", "/", "")
	if got := body["pools"].(map[string]any)["biz"].(map[string]any)["queue_wait_ms"].(map[string]any)["p99"]; got != nil {
		t.Errorf("a quantile of nothing is null: got %v", got)
	}
	if w, _ := ask(t, h, "PATCH", "/settings/pool/biz", `{"max": 9}`, "If-Match", "*"); w.Code != 403 {
		t.Errorf("write: got %d", w.Code)
	}
}

func TestAWritableAdminHandlerWantsALongToken(t *testing.T) {
	r := newRegistry(t, registry.Config{})
	if _, err := r.Admin(registry.AdminConfig{Writable: true, Token: "short"}); err == nil || !strings.Contains(err.Error(), "at least 16") {
		t.Errorf("got %v", err)
	}
	h := admin(t, r, registry.AdminConfig{Token: token})
	for header, want := range map[string]int{"": 401, "Bearer wrong": 401, "Bearer " + token: 200, "Bearer " + token + "x": 401} {
		if w, _ := ask(t, h, "GET", "/", "", "Authorization", header); w.Code != want {
			t.Errorf("%q: got %d, want %d", header, w.Code, want)
		}
	}
}

func TestWritesSeeTheVersionAndAnswerWhatCameOfThem(t *testing.T) {
	r := newRegistry(t, registry.Config{Downstreams: map[string]registry.Downstream{"db": {Limit: 40}}})
	p := newPool(t, r, "biz", pool.Settings{Core: 10, Max: 20})
	h := admin(t, r, registry.AdminConfig{Token: token, Writable: true})
	write := func(method, path, body, match string) (int, map[string]any) {
		t.Helper()
		w, out := ask(t, h, method, path, body, "Authorization", "Bearer "+token, "If-Match", match)
		return w.Code, out
	}
	if code, _ := write("PUT", "/document", `{"pools": {"biz": {"max": 30, "downstream": "db"}}}`, ""); code != 428 {
		t.Errorf("without If-Match: got %d", code)
	}
	if code, out := write("PUT", "/document", `{"pools": {"biz": {"max": 30, "downstream": "db"}}, "tiers": {"peak": {"pools": {"biz": {"max": 35}}}}}`, `"1"`); code != 200 || out["version"] != 2.0 {
		t.Errorf("document: got %d, %v", code, out)
	}
	if code, _ := write("PATCH", "/settings/pool/biz", `{"max": 31}`, `"1"`); code != 412 || p.Settings().Max != 30 {
		t.Errorf("stale version: got %d, max %d", code, p.Settings().Max)
	}
	code, out := write("PATCH", "/settings/pool/biz", `{"max": 41}`, `"2"`)
	if code != 422 || p.Settings().Max != 30 || !strings.Contains(out["error"].(string), "41 > 40") || len(out["findings"].([]any)) == 0 {
		t.Errorf("above the budget: got %d, %v", code, out)
	}
	if code, _ := write("PATCH", "/settings/pool/biz", `{"max": 31}`, "*"); code != 200 || p.Settings().Max != 31 {
		t.Errorf("override: got %d, max %d", code, p.Settings().Max)
	}
	if code, _ := write("PUT", "/tier", `{"tier": "peak"}`, "*"); code != 200 || p.Settings().Max != 31 {
		t.Errorf("an override stands above a tier: got %d, max %d", code, p.Settings().Max)
	}
	if code, _ := write("DELETE", "/settings/pool/biz", "", "*"); code != 200 || p.Settings().Max != 35 {
		t.Errorf("release: got %d, max %d", code, p.Settings().Max)
	}
	for _, bad := range [][3]string{{"DELETE", "/settings/pool/biz", ""}, {"PATCH", "/settings/pool/other", `{"max": 1}`}, {"PUT", "/tier", `{"tier": "noon"}`}} {
		if code, _ := write(bad[0], bad[1], bad[2], "*"); code != 404 {
			t.Errorf("%v: got %d", bad, code)
		}
	}
	for _, bad := range [][3]string{{"PATCH", "/settings/pool/biz", `{"mx": 1}`}, {"PUT", "/document", `{`}, {"PUT", "/tier", `{}`}, {"PATCH", "/settings/pool/biz", `[]`},
		{"PATCH", "/settings/pool/biz", `{"max": 34}{"max": 33}`}, {"PATCH", "/settings/pool/biz", `{"max": 34, "max": 33}`}, {"PATCH", "/settings/pool/biz", `null`},
		{"PUT", "/tier", `{"tier": "", "teir": "peak"}`}} {
		if code, out := write(bad[0], bad[1], bad[2], "*"); code != 422 || out["error"] == "" {
			t.Errorf("%v: got %d, %v", bad, code, out)
		}
	}
}
