package plan_test

import (
	"strings"
	"testing"
	"time"

	"github.com/loadline-dev/loadline/internal/plan"
	"github.com/loadline-dev/loadline/internal/record"
	"github.com/loadline-dev/loadline/internal/schedule"
)

func TestARateThatChangesIsReadWithItsMeanAndLength(t *testing.T) {
	p, err := plan.Parse("x", []byte(`name: spike
target: {request: {url: "http://127.0.0.1:8081/"}}
load: {profile: [{rate: 100, for: 10s}, {from: 100, to: 500, for: 5s}, {rate: 0, for: 5s}], connections: 30}
`))
	if err != nil {
		t.Fatal(err)
	}
	l := p.Load
	want := []schedule.Stage{{From: 100, To: 100, Length: 10 * time.Second}, {From: 100, To: 500, Length: 5 * time.Second}, {Length: 5 * time.Second}}
	if l.Model != record.Open || len(l.Profile) != 3 || l.Profile[0] != want[0] || l.Profile[1] != want[1] || l.Profile[2] != want[2] {
		t.Errorf("profile %+v", l.Profile)
	}
	// 1000 + 1500 + 0 arrivals in 20 s.
	if l.Measure != 20*time.Second || l.Rate[0] != 125 || l.Connections != 30 {
		t.Errorf("measure %v, rate %v, connections %d", l.Measure, l.Rate, l.Connections)
	}
}

func TestAQuickPlanRunsTheWholeProfileFaster(t *testing.T) {
	p, err := plan.Parse("x", []byte(`name: spike
target: {request: {url: "http://127.0.0.1:8081/"}}
load: {profile: [{rate: 100, for: 20s}, {rate: 500, for: 5s}]}
`))
	if err != nil {
		t.Fatal(err)
	}
	q := p.Quick().Load
	if q.Measure != 2500*time.Millisecond || q.Profile[0].Length != 2*time.Second || q.Profile[1].Length != 500*time.Millisecond || q.Profile[1].From != 500 {
		t.Errorf("measure %v, profile %+v", q.Measure, q.Profile)
	}
	if p.Load.Profile[0].Length != 20*time.Second {
		t.Error("the plan itself was changed")
	}
}

func TestHowTheGeneratorConnectsIsRead(t *testing.T) {
	p, err := plan.Parse("x", []byte(`name: client
target:
  request: {url: "https://127.0.0.1:8443/"}
  client: {protocol: http2, follow: 3, proxy: "http://127.0.0.1:3128", tls: {insecure: true, server_name: shop}, close: true, max_requests: 9,
           connect_rate: 2.5, sources: [127.0.0.0/24, 127.0.1.1], dns_ttl: 30s}
load: {concurrency: [1]}
`))
	if err != nil {
		t.Fatal(err)
	}
	c := p.Target.Client
	if c.Protocol != plan.ProtocolHTTP2 || c.Follow != 3 || c.Proxy != "http://127.0.0.1:3128" || !c.TLS.Insecure || c.TLS.ServerName != "shop" || !c.Close ||
		c.MaxRequests != 9 || c.ConnectRate != 2.5 || len(c.Sources) != 2 || c.DNSTTL != 30*time.Second {
		t.Errorf("client %+v", c)
	}
}

func TestFaultsOfClientAndProfileAreNamed(t *testing.T) {
	for _, c := range []struct{ name, client, load, want string }{
		{"a protocol nobody speaks", "{protocol: http3}", "{concurrency: [1]}", "target.client.protocol"},
		{"a source that is no address", "{sources: [here]}", "{concurrency: [1]}", "target.client.sources[0]"},
		{"truth", "{close: maybe}", "{concurrency: [1]}", "target.client.close"},
		{"two sources of arrivals", "{}", "{rate: [1], profile: [{rate: 1, for: 1s}]}", "load.profile"},
		{"a stage without length", "{}", "{profile: [{rate: 1}]}", "load.profile[0].for"},
		{"a stage of two kinds", "{}", "{profile: [{rate: 1, to: 2, for: 1s}]}", "load.profile[0].to"},
		{"no arrivals", "{}", "{profile: [{rate: 0, for: 1s}]}", "load.profile"},
		{"longer than the profile", "{}", "{profile: [{rate: 1, for: 1s}], measure: 2s}", "load.measure"},
		{"a profile of the closed model", "{}", "{concurrency: [1], profile: [{rate: 1, for: 1s}]}", "load.profile"},
		{"no file", "{}", "{recorded: ''}", "load.recorded"},
	} {
		text := "name: x\ntarget: {request: {url: \"http://127.0.0.1:8081/\"}, client: " + c.client + "}\nload: " + c.load + "\n"
		_, err := plan.Parse("x", []byte(text))
		if err == nil || !strings.Contains(err.Error(), c.want+":") {
			t.Errorf("%s: got %v, want a fault of %s", c.name, err, c.want)
		}
	}
}
