package registry_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/loadline-dev/loadline/registry"
)

func TestAFaultyDocumentNamesLineKeyAndWhatIsAllowed(t *testing.T) {
	for text, want := range map[string][]string{
		"{\n \"pols\": {}}":                              {"line 2", "pols", "did you mean pools?"},
		"{\n\"pools\": {\"a\": {\"cor\": 1}}}":           {"pools.a.cor", "did you mean core?"},
		`{"pools": {"a": {"core": "ten"}}}`:              {"pools.a.core", `found "ten"`, "a whole number"},
		`{"pools": {"a": {"queue": "endless"}}}`:         {"pools.a.queue", "unbounded"},
		`{"pools": {"a": {"keep_alive": 5}}}`:            {"pools.a.keep_alive", `such as "500ms"`},
		`{"pools": {"a": {"policy": "drop"}}}`:           {"pools.a.policy", "one of abort, caller-runs, discard"},
		`{"breakers": {"a": {"failure_ratio": "half"}}}`: {"breakers.a.failure_ratio", "a number"},
		`{"commands": {"a": {"breaker": {"proces": 2}}}}`: {
			"commands.a.breaker.proces", "probes"},
		`{"commands": {"a": {"breaker": 3}}}`:        {"commands.a.breaker", "an object"},
		`{"commands": {"a": {"no_timeout": "yes"}}}`: {"commands.a.no_timeout", "true or false"},
		"{\"pools\": {\n\"a\": 3}}":                  {"line 2", "an object"},
		"{\"pools\":\n {]}":                          {"line 2", "not JSON"},
		"{\"pools\": {}\n":                           {"line 2", "too early"},
		"{}\n{}":                                     {"line 2", "after the document's end"},
		`{"schema": "loadline.settings/9"}`:          {"schema", "loadline.settings/1"},
		`{"replicas": -4}`:                           {"replicas", "-4"},
		`{"downstreams": {"db": {"limit": 0}}}`:      {"downstreams.db", "at least 1"},
		`{"timezone": "Mars/Olympus"}`:               {"timezone", "Europe/Berlin"},
		`{"tiers": {"low": {}}, "schedule": [{"tier": "lo", "from": "8:00"}]}`: {"schedule[0].tier", "did you mean low?"},
		`{"tiers": {"low": {}}, "schedule": [{"tier": "low", "from": "25:00"}]}`: {
			"schedule[0].from", "00:00 to 23:59"},
		`{"tiers": {"low": {}}, "schedule": [{"tier": "low", "from": "08:00", "days": ["monday"]}]}`: {"schedule[0].days", "mon"},
		`{"tiers": {"low": {"pools": {"a": {"cores": 2}}}}}`:                                         {"tiers.low.pools.a.cores", "core"},
		`{"pools": {"a": {"core": 99999999999}}}`:                                                    {"pools.a.core", "99999999999"},
		`{"pools": {"a": {"core": 1.5}}}`:                                                            {"pools.a.core", "1.5"},
		`{"pools": {"": {"core": 1}}}`:                                                               {"empty name"},
		`{"tiers": {"": {}}}`:                                                                        {"tiers", "empty name"},
		"{\"pools\": {\"a\": {\"core\": 1,\n\"core\": 2}}}":                                          {"line 2", "pools.a.core", "twice", "line 1"},
		"{\"pools\": {},\n\"pools\": {}}":                                                            {"line 2", "pools", "twice"},
		"{\n\"POOLS\": {}}":                                                                          {"line 2", "POOLS", "no such key"},
		`{"downstreams": {"db": {"Limit": 4}}}`:                                                      {"downstreams.db.Limit", "limit"},
		`{"tiers": {"t": {"pool": {}}}}`:                                                             {"tiers.t.pool", "did you mean pools?"},
		"{\"tiers\": {\"t\": {}}, \"schedule\": [\n{\"tier\": \"t\", \"form\": \"08:00\"}]}":         {"line 2", "schedule[0].form", "did you mean from?"},
		`null`: {"found null", "an object"},
		`[]`:   {"line 1: found array", "an object"},
		`{"downstreams": {"db": {"limit": 4, "hosts": -1}}}`: {"downstreams.db", "hosts -1"},
	} {
		_, err := registry.ParseDocument([]byte(text))
		for _, part := range want {
			if err == nil || !strings.Contains(err.Error(), part) {
				t.Errorf("%s: %q is missing in %v", text, part, err)
			}
		}
	}
}

func TestEveryFaultOfADocumentIsReportedAtOnce(t *testing.T) {
	_, err := registry.ParseDocument([]byte(`{"pools": {"a": {"core": "x", "max": "y"}}, "breakers": {"b": {"probes": "z"}}}`))
	for _, part := range []string{"pools.a.core", "pools.a.max", "breakers.b.probes"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%q is missing in %v", part, err)
		}
	}
}

// What is read can be written and read again, to the same; and no text makes it panic.
func FuzzParseDocument(f *testing.F) {
	f.Add([]byte(`{"pools": {"a": {"core": 1, "queue": "unbounded", "downstream": "db", "service_time": "18ms"}}, "downstreams": {"db": {"limit": 9}}}`))
	f.Add([]byte(`{"commands": {"a": {"isolation": "pool", "breaker": {"window": "count"}}}, "tiers": {"t": {}}, "schedule": [{"tier": "t", "from": "08:00", "days": ["mon"]}]}`))
	f.Add([]byte(`{"breakers": {"b": {"failure_ratio": 1e400}}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		d, err := registry.ParseDocument(text)
		if err != nil {
			return
		}
		written, err := json.Marshal(d)
		if err != nil {
			t.Fatalf("a document that was read cannot be written: %v", err)
		}
		again, err := registry.ParseDocument(written)
		if err != nil {
			t.Fatalf("%s: written as %s: %v", text, written, err)
		}
		if twice, _ := json.Marshal(again); string(twice) != string(written) {
			t.Fatalf("%s became %s", written, twice)
		}
	})
}
