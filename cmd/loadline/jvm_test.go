package main_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/loadline-dev/loadline/internal/lab/tomcat"
)

// needJava skips where no JDK could be installed.
func needJava(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("starts a JVM")
	}
	if _, err := exec.LookPath("java"); err != nil {
		t.Skip("no JDK: tools/install-deps.sh installs one where it can")
	}
}

func TestTomcatsThreadsCarryWhatTheirCeilingSays(t *testing.T) {
	needJava(t)
	if _, err := tomcat.Program(""); err != nil {
		t.Skipf("no Tomcat: %v; tools/install-deps.sh installs it where it can", err)
	}
	dir := t.TempDir()
	archive, result := filepath.Join(dir, "a.db"), filepath.Join(dir, "run.json")
	plan := strings.NewReplacer(":8087", fmt.Sprintf(":%d", freePort(t)), ":8088", fmt.Sprintf(":%d", freePort(t)),
		"[10, 50, 200]", "[10, 50]", "[10, 50, 100]", "[10, 100]", "warmup: 20s", "warmup: 4s", "measure: 30s", "measure: 3s").Replace(readFile(t, "../../scenarios/tomcat.yaml"))
	path := filepath.Join(dir, "tomcat.yaml")
	if err := os.WriteFile(path, []byte(plan), 0o600); err != nil {
		t.Fatal(err)
	}
	got := loadline(t, 4*time.Minute, "run", path, "--html", "", "--archive", archive, "--json", result)
	if got.code != 0 {
		t.Fatalf("exit %d\n%s\n%s", got.code, got.stdout, got.stderr)
	}
	t.Logf("the table:\n%s", got.stdout)
	for _, c := range readTomcat(t, result) {
		ceiling := float64(c.Setting.MaxThreads) / serviceTime
		if c.Rates.Success > ceiling*1.02 {
			t.Errorf("%d threads at %d users: %.0f/s, and 20 ms allow %.0f/s", c.Setting.MaxThreads, c.Load.Concurrency, c.Rates.Success, ceiling)
		}
		if c.Setting.MaxThreads == 10 && c.Load.Concurrency == 100 {
			if c.Rates.Success < 0.7*ceiling || len(c.Findings) == 0 || c.Findings[0].Code != "slot-ceiling" {
				t.Errorf("10 threads: %.0f/s of %.0f/s, findings %v: want its ceiling named first", c.Rates.Success, ceiling, c.Findings)
			}
		}
	}
	if d := loadline(t, time.Minute, "diagnose", "latest", "--archive", archive); !strings.Contains(d.stdout, "max_threads=10 at 100 users: binding limit: slots of tomcat/http-nio-") ||
		!strings.Contains(d.stdout, "-exec: ") {
		t.Errorf("no dump of Tomcat's threads, or no limit:\n%s\n%s", d.stdout, d.stderr)
	}
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// tomcatCell is a step of the Tomcat scenario.
type tomcatCell struct {
	Setting struct {
		MaxThreads int `json:"max_threads"`
	} `json:"setting"`
	Load struct {
		Concurrency int `json:"concurrency"`
	} `json:"load"`
	Rates struct {
		Success float64 `json:"success_per_s"`
	} `json:"rates"`
	Findings []coded `json:"findings"`
}

func readTomcat(t *testing.T, path string) []tomcatCell {
	t.Helper()
	var r struct {
		Cells []tomcatCell `json:"cells"`
	}
	if err := json.Unmarshal([]byte(readFile(t, path)), &r); err != nil || len(r.Cells) != 4 {
		t.Fatalf("%v, %d cells, want 4", err, len(r.Cells))
	}
	return r.Cells
}

// startJava starts the lab's Java service and waits until it answers.
func startJava(t *testing.T, args ...string) (url string, pid int) {
	t.Helper()
	port := freePort(t)
	cmd := exec.Command(program, append([]string{"lab", "jvm", fmt.Sprintf("--listen=127.0.0.1:%d", port)}, args...)...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	url = fmt.Sprintf("http://127.0.0.1:%d", port)
	waitFor(t, time.Minute, "the Java service to answer", func() bool {
		answer, err := http.Get(url + "/ready")
		if err != nil {
			return false
		}
		answer.Body.Close()
		return answer.StatusCode == http.StatusOK
	})
	return url, cmd.Process.Pid
}

// press keeps a number of users asking until the test is over.
func press(t *testing.T, url string, users int) {
	t.Helper()
	stop := make(chan struct{})
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: users}}
	var all sync.WaitGroup
	for range users {
		all.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if answer, err := client.Get(url); err == nil {
					answer.Body.Close()
				}
			}
		})
	}
	t.Cleanup(func() {
		close(stop)
		all.Wait()
		client.CloseIdleConnections()
	})
}

func TestALiveJVMIsDiagnosedByItsProcessAndMetrics(t *testing.T) {
	needJava(t)
	url, pid := startJava(t)
	press(t, url+"/format", 30)
	findings := filepath.Join(t.TempDir(), "f.json")
	got := loadline(t, time.Minute, "diagnose", "--pid", fmt.Sprint(pid), "--metrics", url+"/metrics", "--for", "3s", "--json", findings)
	if got.code != 0 {
		t.Fatalf("exit %d\n%s", got.code, got.stderr)
	}
	d := readDiagnosis(t, findings)
	if len(d.Findings) == 0 || d.Findings[0].Code != "lock-contention" || d.Binding == nil || !strings.Contains(*d.Binding, "lock") {
		t.Fatalf("want the formatter's lock first:\n%s\n%s", got.stdout, got.stderr)
	}
	if f := d.Findings[0].Evidence["formatter"]; f == nil || !strings.Contains(fmt.Sprint(f), "DateFormat") {
		t.Errorf("the formatter is not named: %v", d.Findings[0].Evidence)
	}
	for _, p := range d.Pools {
		if p.Name == "work" && (p.Threads == nil || *p.Threads != 20 || p.Waiting["lock"] < 10) {
			t.Errorf("pool work: %+v", p)
		}
	}
}

func TestAJVMsFanOutShowsItsLatches(t *testing.T) {
	needJava(t)
	url, pid := startJava(t, "--common=10", "--select=10")
	press(t, url+"/fanout", 20)
	findings := filepath.Join(t.TempDir(), "f.json")
	got := loadline(t, time.Minute, "diagnose", "--pid", fmt.Sprint(pid), "--metrics", url+"/metrics", "--for", "3s", "--json", findings)
	if got.code != 0 {
		t.Fatalf("exit %d\n%s", got.code, got.stderr)
	}
	latches := 0
	for _, p := range readDiagnosis(t, findings).Pools {
		if p.Name == "common" {
			latches = p.Waiting["latch"]
		}
	}
	if latches < 5 {
		t.Errorf("%d of 10 workers of common wait on latches:\n%s", latches, got.stdout)
	}
}
