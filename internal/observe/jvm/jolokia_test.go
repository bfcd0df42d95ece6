package jvm_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/loadline-dev/loadline/internal/observe"
	"github.com/loadline-dev/loadline/internal/observe/jvm"
)

func TestPoolsOfMBeansCarryTheServiceAndTheTime(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.Method != http.MethodPost || !strings.Contains(string(body), "Catalina:type=ThreadPool") {
			t.Errorf("%s %s", r.Method, body)
		}
		n := strings.Count(string(body), `"type":"read"`)
		first := `{"status":200,"value":{"Catalina:name=\"http-nio-8080\",type=ThreadPool":{"currentThreadsBusy":7}}}`
		_, _ = io.WriteString(w, "["+first+strings.Repeat(`,{"status":404}`, n-1)+"]")
	}))
	defer server.Close()
	j, err := jvm.NewJolokia(jvm.JolokiaConfig{Service: "order", URL: server.URL + "/jolokia/"})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	b, err := j.Collect(t.Context(), observe.Since(time.Now().Add(-time.Second)))
	if err != nil || len(b.Pools) != 1 {
		t.Fatalf("%+v, %v", b, err)
	}
	if p := b.Pools[0]; p.Service != "order" || p.Pool != "http-nio-8080" || *p.Active != 7 || p.At < time.Second {
		t.Errorf("%+v", p)
	}
}

func TestAnAgentThatRefusesIsAnErrorWithItsStatus(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	j, err := jvm.NewJolokia(jvm.JolokiaConfig{Service: "order", URL: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := j.Collect(t.Context(), observe.Since(time.Now())); err == nil || !strings.Contains(err.Error(), "404") {
		t.Errorf("error %v", err)
	}
	if _, err := jvm.NewJolokia(jvm.JolokiaConfig{URL: "x"}); err == nil || !strings.Contains(err.Error(), "Service") || !strings.Contains(err.Error(), "URL") {
		t.Errorf("error %v", err)
	}
}
