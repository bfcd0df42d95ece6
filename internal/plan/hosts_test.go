package plan_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/loadline-dev/loadline/internal/plan"
)

func TestLocalHostsNeedNoLeave(t *testing.T) {
	for host, want := range map[string]bool{
		"localhost": true, "LocalHost.": true, "127.0.0.1": true, "127.9.9.9": true, "::1": true, "[::1]": true, "10.1.2.3": true, "172.16.0.1": true,
		"172.31.255.255": true, "192.168.0.9": true, "fd00::1": true, "::ffff:10.0.0.1": true,
		"172.32.0.1": false, "11.0.0.1": false, "8.8.8.8": false, "::ffff:8.8.8.8": false, "2001:db8::1": false, "example.com": false, "localhost.example.com": false,
		"127.0.0.1.example.com": false, "127.1": false, "0x7f000001": false, "2130706433": false, "0.0.0.0": false, "169.254.169.254": false, "": false,
		"10.0.0.1 ": true,
	} {
		if got := plan.LocalHost(host); got != want {
			t.Errorf("%q: %v, want %v", host, got, want)
		}
	}
}

func TestPublicHostsNeedLeaveExactlyOnce(t *testing.T) {
	for _, c := range []struct {
		why            string
		hosts, allowed []string
		says           string // empty: allowed
	}{
		{"local", []string{"127.0.0.1", "localhost"}, nil, ""},
		{"public", []string{"127.0.0.1", "example.com"}, nil, "add --allow-host example.com"},
		{"allowed", []string{"Example.com."}, []string{"example.COM"}, ""},
		{"allowed twice", []string{"example.com"}, []string{"example.com", "example.com"}, "--allow-host example.com is given more than once"},
		{"another allowed", []string{"example.com"}, []string{"example.org"}, "found example.com"},
		{"a local one allowed", []string{"127.0.0.1"}, []string{"127.0.0.1"}, ""},
		{"a URL in place of a name", []string{"example.com"}, []string{"http://example.com"}, "without scheme, port or path"},
		{"all at once", []string{"a.example", "b.example"}, nil, "b.example"},
	} {
		err := plan.CheckHosts(c.hosts, c.allowed)
		if c.says == "" && err != nil {
			t.Errorf("%s: found %v", c.why, err)
		}
		if c.says != "" && (!errors.Is(err, plan.ErrHost) || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%s: found %v, want %q", c.why, err, c.says)
		}
	}
}

func TestHostsOfAllSettingsAreFound(t *testing.T) {
	p := parse(t, `name: hosts
target: {request: {url: "http://${host}:8080/"}}
vary: {host: [10.0.0.1, Example.com, "[::1]", example.com.]}
load: {concurrency: 1}
`)
	got, err := p.Hosts()
	if err != nil || !slices.Equal(got, []string{"10.0.0.1", "example.com", "::1"}) {
		t.Errorf("found %q, %v", got, err)
	}
}
