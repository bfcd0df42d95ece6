package main_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// found is the part of a search's result that these tests read.
type found struct {
	Schema  string `json:"schema"`
	Partial bool   `json:"partial"`
	Cells   []struct {
		Caveats []coded `json:"caveats"`
	} `json:"cells"`
	LoadLine *line `json:"load_line"`
	Search   []struct {
		Setting  map[string]any `json:"setting"`
		Status   string         `json:"status"`
		Value    *float64       `json:"value"`
		Headroom *float64       `json:"headroom"`
		Caveats  []coded        `json:"caveats"`
	} `json:"search"`
}

type line struct {
	Concurrency  *int     `json:"concurrency"`
	Low          *float64 `json:"low"`
	High         *float64 `json:"high"`
	BindingLimit *string  `json:"binding_limit"`
}

// validated reads a JSON file after it was held against the schema of its format.
func validated(t *testing.T, path, format string, into any) {
	t.Helper()
	compiler := jsonschema.NewCompiler()
	files, err := filepath.Glob(filepath.Join("..", "..", "docs", "formats", "*.schema.json"))
	if err != nil || len(files) == 0 {
		t.Fatal("no schemas", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if err := compiler.AddResource("https://loadline.example/formats/"+filepath.Base(file), doc); err != nil {
			t.Fatal(err)
		}
	}
	schema, err := compiler.Compile("https://loadline.example/formats/" + format + ".schema.json")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if err := schema.Validate(doc); err != nil {
		t.Errorf("%s is not as %s says: %v", path, format, err)
	}
	if err := json.Unmarshal(text, into); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) (r found) {
	t.Helper()
	validated(t, path, "run", &r)
	return r
}

// lab starts a lab service on a free port of loopback and gives its address when it is ready.
func lab(t *testing.T, args ...string) string {
	t.Helper()
	addr := fmt.Sprintf("127.0.0.1:%d", freePort(t))
	cmd := exec.Command(program, append([]string{"lab", args[0], "--listen=" + addr}, args[1:]...)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err != nil {
			t.Errorf("lab %s: %v\n%s", args[0], err, stderr.String())
		}
	})
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); <-tick.C {
		if conn, err := net.Dial("tcp", addr); err == nil {
			conn.Close()
			return addr
		}
	}
	t.Fatalf("lab %s does not listen: %s", args[0], stderr.String())
	return ""
}

func orderService(t *testing.T, args ...string) string {
	t.Helper()
	price := lab(t, "price", "--sleep=20ms")
	return lab(t, append([]string{"order", "--price=http://" + price + "/circuit/price"}, args...)...)
}

// Ten workers and six places in the queue admit sixteen users; the seventeenth is refused at once. What the pool does is known, so that the
// right answer is, too.
func TestFindFindsTheUsersThatAPoolAndItsQueueAdmit(t *testing.T) {
	out := filepath.Join(t.TempDir(), "line.json")
	began := time.Now()
	got := loadline(t, 3*time.Minute, "find", findPlanFile(t), "--expected", "8", "--json", out, "--archive", filepath.Join(t.TempDir(), "a.db"))
	if took := time.Since(began); got.code != 0 || took > 150*time.Second {
		t.Fatalf("exit %d after %v\n%s\n%s", got.code, took, got.stdout, got.stderr)
	}
	r := read(t, out)
	if r.LoadLine == nil || r.LoadLine.Concurrency == nil || *r.LoadLine.Concurrency != 16 || *r.LoadLine.Low != 16 {
		t.Fatalf("load line %+v, want 16 users\n%s", r.LoadLine, got.stdout)
	}
	if r.LoadLine.BindingLimit == nil || *r.LoadLine.BindingLimit != "slots of order/price" {
		t.Errorf("binding limit %v, want the pool's slots", r.LoadLine.BindingLimit)
	}
	if s := r.Search[0]; s.Status != "found" || s.Headroom == nil || *s.Headroom != 1 || has(s.Caveats, "unbounded") {
		t.Errorf("%+v, want it found with twice the load expected, and the pool as what stops the next user", s)
	}
	for _, c := range r.Cells {
		if has(c.Caveats, "no-steady-state") || has(c.Caveats, "too-few-samples") {
			t.Errorf("a trial is reproached with its length: %+v", c.Caveats)
		}
	}
	for _, says := range []string{"load line at 16 users", "16 proved to hold", "success", "headroom +100 %"} {
		if !strings.Contains(got.stdout, says) {
			t.Errorf("stdout lacks %q:\n%s", says, got.stdout)
		}
	}
}

// findPlanFile is the order service with ten workers and a queue of six.
func findPlanFile(t *testing.T) string {
	t.Helper()
	order, _ := planFile(t, `
name: find
target: {request: {url: "http://127.0.0.1:PORT/api/order/detail", timeout: 2s}}
services:
  price: {command: [loadline, lab, price, --listen=127.0.0.1:PRICE, --sleep=20ms], ready: {url: "http://127.0.0.1:PRICE/ready", timeout: 10s}}
  order:
    command: [loadline, lab, order, --listen=127.0.0.1:PORT, "--price=http://127.0.0.1:PRICE/circuit/price", --isolation=thread, --slots=10, --queue=6]
    ready: {url: "http://127.0.0.1:PORT/ready", timeout: 10s}
load: {model: closed, concurrency: [1]}
observe: [{process: order}, {prometheus: "http://127.0.0.1:PORT/metrics", service: order}]
slo: {p99: 250ms, success: 99%}
`)
	text, err := os.ReadFile(order)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(order, []byte(strings.ReplaceAll(string(text), "PRICE", fmt.Sprint(freePort(t)))), 0o600); err != nil {
		t.Fatal(err)
	}
	return order
}

func TestFindOfAURLSaysWhatTheObjectiveBreaks(t *testing.T) {
	url := "http://" + orderService(t, "--isolation=semaphore", "--slots=5") + "/api/order/detail"
	out := filepath.Join(t.TempDir(), "line.json")
	got := loadline(t, 3*time.Minute, "find", url, "--slo", "p99<250ms,success>99%", "--max", "64", "--json", out, "--archive", filepath.Join(t.TempDir(), "a.db"))
	if got.code != 0 {
		t.Fatalf("exit %d\n%s\n%s", got.code, got.stdout, got.stderr)
	}
	if r := read(t, out); r.LoadLine == nil || *r.LoadLine.Concurrency != 5 || *r.LoadLine.High != 6 {
		t.Errorf("load line %+v, want 5 users of 5 permits\n%s", r.LoadLine, got.stdout)
	}
}

func TestFindEndsWithTheCodeOfWhatItFound(t *testing.T) {
	url := "http://" + orderService(t) + "/api/order/detail"
	for name, c := range map[string]struct {
		code int
		args []string
		says string
	}{
		"no load holds":          {5, []string{"--slo", "p99<5ms"}, "even the smallest load breaks"},
		"the largest load holds": {0, []string{"--slo", "p99<900ms,success>90%", "--max", "2"}, "at-max"},
		"nothing was proved":     {6, []string{"--slo", "p99.9<500ms", "--max", "4", "--budget", "3s"}, "nothing was proved"},
	} {
		t.Run(name, func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "line.json")
			got := loadline(t, 3*time.Minute, append([]string{"find", url, "--json", out, "--archive", filepath.Join(t.TempDir(), "a.db")}, c.args...)...)
			if got.code != c.code || !strings.Contains(got.stdout, c.says) {
				t.Errorf("exit %d, want %d and %q\n%s\n%s", got.code, c.code, c.says, got.stdout, got.stderr)
			}
			read(t, out)
		})
	}
}

func TestFindOfATargetThatIsNotThereEndsAsUnreachable(t *testing.T) {
	got := loadline(t, time.Minute, "find", fmt.Sprintf("http://127.0.0.1:%d/", freePort(t)), "--slo", "p99<5ms", "--archive", filepath.Join(t.TempDir(), "a.db"))
	if got.code != 4 || !strings.Contains(got.stderr, "refused") {
		t.Errorf("exit %d\n%s", got.code, got.stderr)
	}
}

func TestFindRefusesWhatItCannotSearch(t *testing.T) {
	for _, c := range []struct {
		args  []string
		words []string
	}{
		{[]string{"http://127.0.0.1:1/"}, []string{"objective"}},
		{[]string{"http://127.0.0.1:1/", "--slo", "p99"}, []string{"--slo"}},
		{[]string{"http://127.0.0.1:1/", "--slo", "goodput>5/s"}, []string{"percentile"}},
		{[]string{"http://127.0.0.1:1/", "--slo", "p99<5ms", "--max", "0.5", "--budget", "1ms", "--resolution", "2", "--expected", "-1", "--timeout", "0s", "-H", "x"},
			[]string{"--max", "--budget", "--resolution", "--expected", "--timeout", "--header"}},
		{[]string{"http://shop.example.com/", "--slo", "p99<5ms"}, []string{"shop.example.com", "--allow-host"}},
		{[]string{"no-such-plan.yaml"}, []string{"no-such-plan.yaml"}},
	} {
		got := loadline(t, time.Minute, append([]string{"find", "--archive", filepath.Join(t.TempDir(), "a.db")}, c.args...)...)
		if got.code != 2 {
			t.Errorf("%v: exit %d, want 2\n%s", c.args, got.code, got.stderr)
		}
		for _, w := range c.words {
			if !strings.Contains(got.stderr, w) {
				t.Errorf("%v: stderr lacks %q:\n%s", c.args, w, got.stderr)
			}
		}
	}
}

func TestAnInterruptedSearchKeepsWhatItHas(t *testing.T) {
	url := "http://" + orderService(t) + "/api/order/detail"
	out := filepath.Join(t.TempDir(), "line.json")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, "find", url, "--slo", "p99.9<900ms", "--json", out, "--archive", filepath.Join(t.TempDir(), "a.db"))
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	// The first line of progress says that a trial is on.
	var seen bytes.Buffer
	buffer := make([]byte, 4096)
	for !strings.Contains(seen.String(), "trial 2") {
		n, err := stderr.Read(buffer)
		seen.Write(buffer[:n])
		if err != nil {
			t.Fatalf("%v after %q", err, seen.String())
		}
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := stderr.Read(buffer); err != nil {
			break
		}
	}
	err = cmd.Wait()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 7 {
		t.Fatalf("%v, want exit 7", err)
	}
	if r := read(t, out); !r.Partial || len(r.Cells) == 0 {
		t.Errorf("partial %v with %d cells, want what was measured, marked partial", r.Partial, len(r.Cells))
	}
}
