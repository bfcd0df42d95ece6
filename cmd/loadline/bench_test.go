package main_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// labService starts a service of the lab on a free port and waits until it answers.
func labService(t *testing.T, args ...string) (url string) {
	t.Helper()
	port := freePort(t)
	cmd := exec.Command(program, append([]string{"lab"}, append(args, fmt.Sprintf("--listen=127.0.0.1:%d", port))...)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait() // Ended by the signal.
	})
	url = fmt.Sprintf("http://127.0.0.1:%d", port)
	waitFor(t, 10*time.Second, "the lab service", func() bool {
		return loadline(t, time.Minute, "bench", url+"/ready", "-n", "1", "-c", "1", "-q").code == 0
	})
	return url
}

func TestBenchTellsTheTruthOfAKnownService(t *testing.T) {
	url := labService(t, "price", "--sleep=20ms")
	dir := t.TempDir()
	file := filepath.Join(dir, "bench.json")
	got := loadline(t, time.Minute, "bench", url+"/circuit/price", "-c", "20", "-d", "2s", "--json", file, "--csv", filepath.Join(dir, "s.csv"),
		"--hdr", filepath.Join(dir, "run.hlog"), "--ab", filepath.Join(dir, "ab.txt"))
	if got.code != 0 {
		t.Fatalf("exit %d\n%s%s", got.code, got.stdout, got.stderr)
	}
	r := readResult(t, file)
	c := r.Cells[0]
	checkSums(t, c)
	checkLittle(t, c)
	// 20 users of a service that takes at least 20 ms get at most 1000 answers a second.
	if c.Rates.Success > 1000*ceilingSlack || c.Rates.Success < 500 {
		t.Errorf("%v success/s", c.Rates.Success)
	}
	checkForms(t, dir, c)
}

// checkForms reads the other forms back by import and finds the same figures.
func checkForms(t *testing.T, dir string, c cell) {
	t.Helper()
	for format, name := range map[string]string{"ab": "ab.txt", "hdr": "run.hlog"} {
		file := filepath.Join(dir, name+".json")
		got := loadline(t, time.Minute, "import", format, filepath.Join(dir, name), "--json", file, "--archive", filepath.Join(dir, "a.db"))
		if got.code != 0 {
			t.Errorf("import %s: exit %d\n%s", format, got.code, got.stderr)
			continue
		}
		back := readResult(t, file).Cells[0]
		if off := back.Rates.Completed/c.Rates.Completed - 1; off > 0.05 || off < -0.05 {
			t.Errorf("%s: %v completed/s, measured %v", format, back.Rates.Completed, c.Rates.Completed)
		}
	}
	seconds, err := os.ReadFile(filepath.Join(dir, "s.csv"))
	if err != nil || len(strings.Split(strings.TrimSpace(string(seconds)), "\n")) < 11 {
		t.Errorf("rows of intervals: %v\n%s", err, seconds)
	}
}

func TestBenchEndsAfterTheRequestsAskedFor(t *testing.T) {
	url := labService(t, "price", "--sleep=5ms")
	got := loadline(t, time.Minute, "bench", url+"/circuit/price", "-c", "7", "-n", "321", "--json", "-")
	var r result
	if err := json.Unmarshal([]byte(got.stdout), &r); err != nil || got.code != 0 {
		t.Fatalf("exit %d, %v\n%s%s", got.code, err, got.stdout, got.stderr)
	}
	if n := r.Cells[0].Outcomes["success"]; n != 321 || r.Cells[0].Planned != 321 {
		t.Errorf("%d successes of %d planned, want 321", n, r.Cells[0].Planned)
	}
}

func TestBenchJudgesAnObjectiveByItsExitCode(t *testing.T) {
	url := labService(t, "price", "--sleep=20ms")
	for _, c := range []struct {
		objective string
		code      int
		args      []string
	}{
		{"success>50%", 0, []string{"-d", "2s"}},
		{"rejected<1%,success>90%", 0, []string{"-d", "2s"}},
		{"success>99.9%", 6, []string{"-n", "20"}}, // 20 requests prove no 99.9 %.
	} {
		got := loadline(t, time.Minute, append([]string{"bench", url + "/circuit/price", "-c", "10", "--slo", c.objective}, c.args...)...)
		// On a crowded machine the generator may be at its limit, which withholds every verdict.
		if got.code != c.code && !(got.code == 6 && strings.Contains(got.stdout, "NOT VALID")) {
			t.Errorf("%s: exit %d, want %d\n%s%s", c.objective, got.code, c.code, got.stdout, got.stderr)
		}
	}
	// No price comes before 20 ms, whatever the machine does: this objective is missed, or withheld.
	got := loadline(t, time.Minute, "bench", url+"/circuit/price", "-c", "10", "-d", "2s", "--slo", "p50<10ms")
	if got.code != 5 && got.code != 6 {
		t.Errorf("p50<10ms of a 20 ms service: exit %d\n%s", got.code, got.stdout)
	}
}

func TestBenchSaysWhatIsWrong(t *testing.T) {
	dead := fmt.Sprintf("http://127.0.0.1:%d/", freePort(t))
	for _, c := range []struct {
		args []string
		code int
		word string
	}{
		{[]string{dead, "-d", "1s"}, 4, "refused"},
		{[]string{"http://shop.example.com/", "-d", "1s"}, 2, "--allow-host"},
		{[]string{dead, "-c", "0"}, 2, "-c: found 0"},
		{[]string{dead, "-n", "5", "-d", "1s"}, 2, "-n and -d"},
		{[]string{dead, "--slo", "p99"}, 2, "--slo"},
		{[]string{dead, "--json", "-", "--csv", "-"}, 2, "stdout"},
		{[]string{"ftp://127.0.0.1/"}, 2, "http"},
		{[]string{dead, "-H", "nothing"}, 2, "'Name: value'"},
		{[]string{dead, "-p", "no-such-file"}, 2, "no-such-file"},
		{[]string{dead, "--hdr", "/no/such/folder/run.hlog"}, 2, "--hdr"},
	} {
		got := loadline(t, time.Minute, append([]string{"bench"}, c.args...)...)
		if got.code != c.code || !strings.Contains(got.stderr, c.word) {
			t.Errorf("%v: exit %d, want %d with %q\n%s", c.args, got.code, c.code, c.word, got.stderr)
		}
	}
}
