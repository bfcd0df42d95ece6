package main_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// lintReport is the part of loadline.findings/1 that these tests read.
type lintReport struct {
	Findings []struct {
		Code     string   `json:"code"`
		Severity string   `json:"severity"`
		Text     string   `json:"text"`
		Next     string   `json:"next"`
		Keys     []string `json:"keys"`
		Line     int      `json:"line"`
	} `json:"findings"`
	BindingLimit *string `json:"binding_limit"`
}

// trap is a configuration with a mistake that is known by name.
type trap struct {
	name, file, text string
	code             string
	arithmetic       string // of the finding's text
	line             int
	exit             int
}

const zuul = "zuul:\n  routes:\n    u: {path: /u/**, serviceId: user}\n"

// traps are the mistakes of configurations that people were hurt by, one of each kind.
func traps() []trap {
	return []trap{
		{"maximum dead behind a queue", "application.yml", "spring:\n  task:\n    execution:\n      pool:\n        max-size: 64\n", "max-unreachable", "8 core workers to 64", 5, 0},
		{"threshold below the queue", "hystrix.properties", "hystrix.threadpool.price.coreSize=10\nhystrix.threadpool.price.maxQueueSize=100\n", "queue-cut-by-threshold", "5", 0, 0},
		{"threshold above the queue", "hystrix.properties", "hystrix.threadpool.price.coreSize=10\nhystrix.threadpool.price.maxQueueSize=10\nhystrix.threadpool.price.queueSizeRejectionThreshold=50\n", "threshold-above-capacity", "50", 3, 0},
		{"core above maximum", "application.yml", "dynamictp:\n  executors:\n    - threadPoolName: biz\n      corePoolSize: 20\n      maximumPoolSize: 10\n", "core-above-max", "core 20 > max 10", 4, 3},
		{"queue longer than the caller waits", "pool.yaml", "pool:\n  core: 10\n  max: 10\n  queue: 200\n  service_time: 18ms\n  caller_timeout: 100ms\n", "timeout-below-wait", "360", 0, 0},
		{"inner timeout above the outer", "application.yml", zuul + "ribbon: {ReadTimeout: 5000, ConnectTimeout: 1000}\nhystrix.command.default.execution.isolation.thread.timeoutInMilliseconds: 3000\n", "inner-timeout-above-outer", "5000", 0, 0},
		{"retries beyond the timeout", "application.yml", zuul + "  retryable: true\nhystrix.command.default.execution.isolation.thread.timeoutInMilliseconds: 3000\n", "retries-exceed-timeout", "4000 ms > timeout 3000 ms", 0, 0},
		{"permits below workers", "application.yml", zuul + "  semaphore: {max-semaphores: 100}\nserver: {tomcat: {max-threads: 200}}\n", "semaphore-below-workers", "100", 0, 0},
		{"pool times replicas above the database", "limits.yaml", "replicas: 4\ndownstreams: {database: {limit: 100}}\npools:\n  biz: {core: 40, max: 40, queue: 10, downstream: database}\n", "pool-above-downstream", "40 × 4 replicas = 160 > 100", 0, 3},
		{"breaker that is never reached", "application.yml", "resilience4j:\n  circuitbreaker:\n    instances:\n      price:\n        slidingWindowSize: 50\n        minimumNumberOfCalls: 60\n", "minimum-above-window", "min(60, 50)", 6, 0},
		{"half-open without expiry", "application.yml", "resilience4j:\n  circuitbreaker:\n    instances:\n      price:\n        slidingWindowSize: 50\n", "half-open-without-expiry", "for ever", 0, 0},
	}
}

func TestCheckNamesEveryTrapWithKeysArithmeticAndMend(t *testing.T) {
	for _, c := range traps() {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			path, out := filepath.Join(dir, c.file), filepath.Join(dir, "findings.json")
			if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			got := loadline(t, time.Minute, "check", path, "--json", out)
			if got.code != c.exit {
				t.Errorf("exit %d, want %d\n%s\n%s", got.code, c.exit, got.stdout, got.stderr)
			}
			var r lintReport
			validated(t, out, "findings", &r)
			for _, f := range r.Findings {
				if f.Code != c.code {
					continue
				}
				if !strings.Contains(f.Text, c.arithmetic) || f.Next == "" || len(f.Keys) == 0 || (c.line > 0 && f.Line != c.line) {
					t.Errorf("%+v, want %q at line %d with keys and a mend", f, c.arithmetic, c.line)
				}
				if !strings.Contains(got.stdout, "["+c.code+"]") || !strings.Contains(got.stdout, "mend: ") {
					t.Errorf("stdout does not show it:\n%s", got.stdout)
				}
				return
			}
			t.Errorf("no %s in %+v", c.code, r.Findings)
		})
	}
}

func TestCheckReadsTheFilesOfOneApplicationTogetherAndNamesTheBindingLimit(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	app := write("application.yml", "spring:\n  datasource:\n    hikari:\n      maximum-pool-size: 40\n")
	limits := write("limits.yaml", "replicas: 4\ndownstreams:\n  database:\n    limit: 100\n")
	out := filepath.Join(dir, "findings.json")
	got := loadline(t, time.Minute, "check", app, limits, "--json", out)
	var r lintReport
	validated(t, out, "findings", &r)
	if got.code != 3 || !slices.ContainsFunc(r.Findings, func(f struct {
		Code     string   `json:"code"`
		Severity string   `json:"severity"`
		Text     string   `json:"text"`
		Next     string   `json:"next"`
		Keys     []string `json:"keys"`
		Line     int      `json:"line"`
	}) bool {
		return f.Code == "pool-above-downstream" && f.Severity == "critical"
	}) {
		t.Errorf("exit %d, %+v", got.code, r.Findings)
	}
	gateway := write("gateway.yml", zuul+"  semaphore: {max-semaphores: 100}\nserver: {tomcat: {max-threads: 200}}\nribbon: {MaxTotalConnections: 200, MaxConnectionsPerHost: 50, ReadTimeout: 1000, ConnectTimeout: 1000}\n")
	got = loadline(t, time.Minute, "check", gateway, "--json", out)
	validated(t, out, "findings", &r)
	if got.code != 0 || r.BindingLimit == nil || *r.BindingLimit != "ribbon.MaxConnectionsPerHost" || !strings.Contains(got.stdout, "binding limit: ribbon.MaxConnectionsPerHost") {
		t.Errorf("exit %d, binding %v\n%s", got.code, r.BindingLimit, got.stdout)
	}
}

func TestCheckRefusesWhatItCannotRead(t *testing.T) {
	dir := t.TempDir()
	broken, foreign := filepath.Join(dir, "broken.yml"), filepath.Join(dir, "foreign.yml")
	for path, text := range map[string]string{broken: "a: b: c\n", foreign: "colour: blue\n"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		code  int
		file  string
		words string
	}{{3, broken, "broken.yml:1"}, {3, foreign, "foreign.yml"}, {2, filepath.Join(dir, "none.yml"), "none.yml"}, {2, dir, ""}} {
		got := loadline(t, time.Minute, "check", c.file)
		if got.code != c.code || !strings.Contains(got.stderr, c.words) || strings.Contains(got.stderr, "panic") {
			t.Errorf("%s: exit %d, want %d\n%s", c.file, got.code, c.code, got.stderr)
		}
	}
	if got := loadline(t, time.Minute, "check"); got.code != 2 {
		t.Errorf("exit %d\n%s", got.code, got.stderr)
	}
}
