package main_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// freePort finds a port of loopback that nobody listens on.
func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// planFile writes a plan for one test; PORT stands for a free port.
func planFile(t *testing.T, text string) (path string, port int) {
	t.Helper()
	port = freePort(t)
	path = filepath.Join(t.TempDir(), "plan.yaml")
	text = strings.ReplaceAll(text, "PORT", fmt.Sprint(port))
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path, port
}

const priceService = `
services:
  price: {command: [loadline, lab, price, --listen=127.0.0.1:PORT, --sleep=5ms], ready: {url: "http://127.0.0.1:PORT/ready", timeout: 5s}}
`

const priceTarget = `
name: faults
target: {request: {url: "http://127.0.0.1:PORT/circuit/price", timeout: 500ms}}
`

const shortLoad = `
load: {model: closed, concurrency: [4], warmup: 100ms, measure: 1s, rest: 0s}
`

// runFault runs a plan that must fail and checks code and words.
func runFault(t *testing.T, code int, plan string, words ...string) outcome {
	t.Helper()
	path, port := planFile(t, plan)
	got := loadline(t, time.Minute, "run", path, "--html", "", "--archive", filepath.Join(t.TempDir(), "a.db"))
	if got.code != code {
		t.Errorf("exit %d, want %d\n%s", got.code, code, got.stderr)
	}
	for _, w := range words {
		if !strings.Contains(got.stderr, w) {
			t.Errorf("stderr lacks %q:\n%s", w, got.stderr)
		}
	}
	if strings.Contains(got.stderr, "panic") || strings.Contains(got.stderr, "goroutine ") {
		t.Errorf("a panic reached the user:\n%s", got.stderr)
	}
	portIsFree(t, port)
	return got
}

// portIsFree holds that nothing was left running.
func portIsFree(t *testing.T, port int) {
	t.Helper()
	l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		t.Errorf("something still listens: %v", err)
		return
	}
	l.Close()
}

func TestAFaultyPlanIsRefusedByLineAndKey(t *testing.T) {
	for _, c := range []struct {
		name, plan string
		words      []string
	}{
		{"unknown key", priceTarget + "lod: {}\n" + shortLoad, []string{"plan.yaml:4", "lod", "load"}},
		{"wrong unit", priceTarget + "load: {model: closed, concurrency: [4], measure: 10}\n", []string{"plan.yaml:4", "load.measure", "10"}},
		{"unset value", strings.Replace(priceTarget, "price\"", "${sku}\"", 1) + shortLoad, []string{"plan.yaml:3", "${sku}"}},
		{"empty matrix", priceTarget + "vary: {settings: []}\n" + shortLoad, []string{"plan.yaml:4", "vary.settings"}},
		{"no load", priceTarget, []string{"load"}},
		{"not YAML", "name: [", []string{"plan.yaml:1"}},
	} {
		t.Run(c.name, func(t *testing.T) { runFault(t, 3, c.plan, c.words...) })
	}
}

func TestAPlanThatIsNotThereIsAUsageFault(t *testing.T) {
	if got := loadline(t, time.Minute, "run", "no-such-plan.yaml"); got.code != 2 || !strings.Contains(got.stderr, "no-such-plan.yaml") {
		t.Errorf("exit %d\n%s", got.code, got.stderr)
	}
}

func TestAPublicHostIsRefusedBeforeAnyNameIsResolved(t *testing.T) {
	plan := strings.Replace(priceTarget, "127.0.0.1:PORT", "shop.example.com", 1) + shortLoad
	path, _ := planFile(t, plan)
	started := time.Now()
	got := loadline(t, time.Minute, "run", path)
	if got.code != 2 || !strings.Contains(got.stderr, "shop.example.com") || !strings.Contains(got.stderr, "--allow-host") {
		t.Errorf("exit %d\n%s", got.code, got.stderr)
	}
	if took := time.Since(started); took > 5*time.Second {
		t.Errorf("refused after %v: a name was looked up", took)
	}
}

func TestACommandThatIsNotThereIsThePlansFault(t *testing.T) {
	runFault(t, 3, priceTarget+"services: {price: {command: [no-such-program]}}\n"+shortLoad, "no-such-program", "price")
}

func TestAServiceThatNeverBecomesReadyShowsItsLastLines(t *testing.T) {
	const service = `services: {price: {command: [sh, -c, "echo waiting for a database >&2; exec sleep 60"], ready: {url: "http://127.0.0.1:PORT/ready", timeout: 500ms}, stop: {grace: 1s}}}
`
	runFault(t, 4, priceTarget+service+shortLoad, "price", "waiting for a database")
}

func TestAServiceThatDiesAtOnceShowsItsLastLines(t *testing.T) {
	const service = `services: {price: {command: [sh, -c, "echo no space left >&2; exit 3"], ready: {url: "http://127.0.0.1:PORT/ready", timeout: 5s}}}
`
	runFault(t, 4, priceTarget+service+shortLoad, "price", "no space left")
}

func TestAServiceThatDiesInTheMiddleEndsTheRunWithItsLastLines(t *testing.T) {
	plan := priceTarget + priceService + `  mortal: {command: [sh, -c, "sleep 1.5; echo out of memory >&2; exit 9"]}
load: {model: closed, concurrency: [4], warmup: 100ms, measure: 20s, rest: 0s}
`
	got := runFault(t, 4, plan, "mortal", "out of memory")
	if !strings.Contains(got.stdout, "5") {
		t.Errorf("what was measured is not shown:\n%s", got.stdout)
	}
}

func TestAPortInUseIsNamed(t *testing.T) {
	path, port := planFile(t, priceTarget+priceService+shortLoad)
	l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	got := loadline(t, time.Minute, "run", path, "--html", "", "--archive", filepath.Join(t.TempDir(), "a.db"))
	if got.code != 4 || !strings.Contains(got.stderr, fmt.Sprint(port)) || !strings.Contains(got.stderr, "in use") {
		t.Errorf("exit %d\n%s", got.code, got.stderr)
	}
}

func TestATargetThatDoesNotListenIsUnreachable(t *testing.T) {
	runFault(t, 4, priceTarget+shortLoad, "127.0.0.1:", "refused")
}

func TestATargetThatNeverAnswersIsUnreachable(t *testing.T) {
	path, port := planFile(t, priceTarget+shortLoad)
	l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port)) // Connects, and nobody ever accepts.
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	got := loadline(t, time.Minute, "run", path, "--html", "", "--archive", filepath.Join(t.TempDir(), "a.db"))
	if got.code != 4 || !strings.Contains(got.stderr, "no answer within its timeout of 500ms") {
		t.Errorf("exit %d\n%s", got.code, got.stderr)
	}
}

func TestATargetThatClosesInTheMiddleOfAnAnswerIsUnreachableAndSaysSo(t *testing.T) {
	path, port := planFile(t, priceTarget+shortLoad)
	l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return // Closed with the test.
			}
			request := make([]byte, 4096)
			if _, err := conn.Read(request); err == nil {
				fmt.Fprint(conn, "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nthat is all")
			}
			conn.Close()
		}
	}()
	got := loadline(t, time.Minute, "run", path, "--html", "", "--archive", filepath.Join(t.TempDir(), "a.db"))
	if got.code != 4 || !strings.Contains(got.stderr, "ended as reset") || strings.Contains(got.stderr, "timeout of") {
		t.Errorf("exit %d\n%s", got.code, got.stderr)
	}
}

func TestASettingThatCannotBeAppliedIsToldWithAdvice(t *testing.T) {
	runFault(t, 4, priceTarget+priceService+`apply: {command: [sh, -c, "echo no such pool >&2; exit 3"]}`+shortLoad, "apply[0]", "no such pool", "Try: ")
}

func TestAFileThatIsMissingIsThePlansFault(t *testing.T) {
	plan := strings.Replace(priceTarget, "timeout: 500ms", "body_file: nowhere.json", 1) + priceService + shortLoad
	got := runFault(t, 3, plan, "target.request.body_file", "nowhere.json")
	if strings.Contains(got.stderr, "run 20") {
		t.Errorf("a run was begun all the same:\n%s", got.stderr)
	}
}

func TestAResultThatCannotBeWrittenIsToldBeforeTheRun(t *testing.T) {
	path, _ := planFile(t, priceTarget+priceService+shortLoad)
	folder := t.TempDir()
	for _, form := range [][]string{{"--json", filepath.Join(folder, "nowhere", "r.json")}, {"--html", folder}, {"--csv", filepath.Join(folder, "nowhere", "r.csv")}} {
		archive := filepath.Join(t.TempDir(), "a.db")
		got := loadline(t, time.Minute, append([]string{"run", path, "--archive", archive}, form...)...)
		if got.code != 2 || !strings.Contains(got.stderr, form[0]) || !strings.Contains(got.stderr, form[1]) || !strings.Contains(got.stderr, "Try: ") {
			t.Errorf("%v: exit %d\n%s", form, got.code, got.stderr)
		}
		if _, err := os.Stat(archive); err == nil {
			t.Errorf("%v: the run was begun all the same", form)
		}
	}
	left, err := os.ReadDir(folder)
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestAnArchiveThatCannotGrowEndsTheRunAndIsToldOnce(t *testing.T) {
	path, port := planFile(t, priceTarget+priceService+"load: {concurrency: {from: 1, to: 100, step: 1}, warmup: 0s, measure: 300ms, rest: 0s}\n")
	archive := filepath.Join(t.TempDir(), "a.db")
	// The limit of file sizes stands in for a full disk: 200 blocks of 1024 bytes hold the tables and some cells.
	cmd := exec.Command("bash", "-c", `ulimit -f 200; exec "$@"`, "bash", program, "run", path, "--html", "", "--archive", archive)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	_ = cmd.Run() // The exit code is what is looked at.
	_, message, _ := strings.Cut(stderr.String(), "Error: ")
	if code := cmd.ProcessState.ExitCode(); code != 8 || strings.Count(message, archive) != 1 || !strings.Contains(message, "cannot be recorded any further") ||
		!strings.Contains(message, "Try: ") {
		t.Errorf("exit %d\n%s", code, stderr.String())
	}
	portIsFree(t, port)
	if got := loadline(t, time.Minute, "runs", "latest", "--archive", archive); got.code != 0 || !strings.Contains(got.stdout, "partial") {
		t.Errorf("what was recorded until then: exit %d\n%s%s", got.code, got.stdout, got.stderr)
	}
}

func TestARunsNameTakesOneLineOfTheList(t *testing.T) {
	dir := t.TempDir()
	archive, log := filepath.Join(dir, "a.db"), filepath.Join(dir, "wrk.txt")
	const wrk = "Running 1s test @ http://127.0.0.1:1/\n  1 threads and 1 connections\n  Thread Stats   Avg      Stdev     Max   +/- Stdev\n" +
		"    Latency     1.00ms    1.00ms   5.00ms   90.00%\n    Req/Sec     1.00k     0.10k     1.10k    90.00%\n  1000 requests in 1.00s, 1.00MB read\nRequests/sec:   1000.00\n"
	if err := os.WriteFile(log, []byte(wrk), 0o600); err != nil {
		t.Fatal(err)
	}
	name := "\x1b[31mred\nline " + strings.Repeat("x", 500)
	if got := loadline(t, time.Minute, "import", "wrk", log, "--name", name, "--archive", archive); got.code != 0 {
		t.Fatalf("exit %d\n%s", got.code, got.stderr)
	}
	got := loadline(t, time.Minute, "runs", "--archive", archive)
	if lines := strings.Split(strings.TrimSpace(got.stdout), "\n"); len(lines) != 2 || strings.Contains(got.stdout, "\x1b") || len(lines[1]) > 150 ||
		!strings.Contains(lines[1], "red line") {
		t.Errorf("%q", got.stdout)
	}
}

func TestATableWithoutRowsOrEndIsNoEvidence(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "head.csv")
	if err := os.WriteFile(empty, []byte("scenario,concurrency,tps\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{empty, "/dev/zero"} {
		if got := loadline(t, time.Minute, "audit", file); got.code != 3 || !strings.Contains(got.stderr, file) || got.stdout != "" {
			t.Errorf("%s: exit %d\n%s%s", file, got.code, got.stdout, got.stderr)
		}
	}
}

// begun starts a long run and waits until its first cell is under way.
func begun(t *testing.T, archive, result string) (cmd *exec.Cmd, stderr *bytes.Buffer, port int) {
	t.Helper()
	path, port := planFile(t, priceTarget+priceService+"load: {model: closed, concurrency: [4, 8], warmup: 100ms, measure: 60s, rest: 0s}\n")
	cmd = exec.Command(program, "run", path, "--html", "", "--archive", archive, "--json", result)
	stderr = &bytes.Buffer{}
	cmd.Stderr = stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	waitFor(t, 20*time.Second, "three measured seconds in the archive", func() bool {
		return measuredSeconds(t, archive) >= 3
	})
	return cmd, stderr, port
}

// measuredSeconds reads from the archive how much of the first cell's window is there; 0 before the run or its cell has begun.
func measuredSeconds(t *testing.T, archive string) float64 {
	t.Helper()
	got := loadline(t, time.Minute, "runs", "latest", "--archive", archive, "--json", "-")
	if got.code != 0 {
		return 0
	}
	var r result
	if err := json.Unmarshal([]byte(got.stdout), &r); err != nil {
		t.Fatalf("%v in:\n%s", err, got.stdout)
	}
	if len(r.Cells) == 0 {
		return 0
	}
	return r.Cells[0].Window.Seconds
}

func waitFor(t *testing.T, limit time.Duration, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(limit)
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within %v", what, limit)
		}
		<-tick.C
	}
}

func TestAnInterruptKeepsWhatWasMeasuredAndMarksItPartial(t *testing.T) {
	dir := t.TempDir()
	archive, file := filepath.Join(dir, "a.db"), filepath.Join(dir, "run.json")
	cmd, stderr, port := begun(t, archive, file)
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // The exit code is what is looked at.
	if code := cmd.ProcessState.ExitCode(); code != 7 {
		t.Errorf("exit %d, want 7\n%s", code, stderr)
	}
	r := readResult(t, file)
	if !r.Partial || r.Cells[0].Window.Seconds < 2 || r.Cells[0].Outcomes["success"] == 0 {
		t.Errorf("partial %v, cell %+v", r.Partial, r.Cells[0])
	}
	portIsFree(t, port)
}

func TestAKillLeavesAReadableArchiveAndNoProcess(t *testing.T) {
	dir := t.TempDir()
	archive := filepath.Join(dir, "a.db")
	cmd, _, port := begun(t, archive, filepath.Join(dir, "run.json"))
	before := measuredSeconds(t, archive)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	after := filepath.Join(dir, "after.json")
	if got := loadline(t, time.Minute, "runs", "latest", "--archive", archive, "--json", after); got.code != 0 {
		t.Fatalf("exit %d\n%s", got.code, got.stderr)
	}
	r := readResult(t, after)
	if !r.Partial || r.Cells[0].Window.Seconds < before {
		t.Errorf("partial %v, %v s of at least %v s", r.Partial, r.Cells[0].Window.Seconds, before)
	}
	waitFor(t, 10*time.Second, "the service to end with its parent", func() bool {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			return false
		}
		l.Close()
		return true
	})
}

func TestWrongUseIsAUsageFaultWithAdvice(t *testing.T) {
	for _, args := range [][]string{{"rnu"}, {"run"}, {"run", "a", "b"}, {"run", "--nope"}, {"audit"}, {"lab", "nothing"}, {"runs", "--html", "x"}, {"runs", "--baseline", "x"},
		{"runs", "latest", "--delete", "x"}, {"runs", "--delete", "x", "--json", "-"}, {"lab", "order", "--timeout", "0s"}} {
		got := loadline(t, time.Minute, args...)
		if got.code != 2 || !strings.Contains(got.stderr, "Error: ") || !strings.Contains(got.stderr, "Try: ") || got.stdout != "" {
			t.Errorf("%v: exit %d\nstdout: %s\nstderr: %s", args, got.code, got.stdout, got.stderr)
		}
	}
}

func TestABaselinesNameThatCannotBeIsAUsageFault(t *testing.T) {
	path, _ := planFile(t, priceTarget+priceService+shortLoad)
	archive := filepath.Join(t.TempDir(), "a.db")
	if got := loadline(t, time.Minute, "run", path, "--html", "", "--archive", archive); got.code != 0 {
		t.Fatalf("exit %d\n%s", got.code, got.stderr)
	}
	for _, name := range []string{"", "latest"} {
		got := loadline(t, time.Minute, "runs", "latest", "--baseline", name, "--archive", archive)
		if got.code != 2 || !strings.Contains(got.stderr, "not a name for a baseline") || got.stdout != "" {
			t.Errorf("%q: exit %d\n%s%s", name, got.code, got.stdout, got.stderr)
		}
	}
}

func TestTheProgramTellsItsVersion(t *testing.T) {
	if got := loadline(t, time.Minute, "--version"); got.code != 0 || !strings.HasPrefix(got.stdout, "loadline version ") {
		t.Errorf("exit %d\n%s%s", got.code, got.stdout, got.stderr)
	}
}

func TestEveryVerbHelpsWithExamples(t *testing.T) {
	top := loadline(t, time.Minute, "--help")
	if top.code != 0 || top.stderr != "" {
		t.Fatalf("exit %d\n%s", top.code, top.stderr)
	}
	_, list, _ := strings.Cut(top.stdout, "Available Commands:")
	list, _, _ = strings.Cut(list, "\n\n")
	seen := 0
	for line := range strings.Lines(list) {
		fields := strings.Fields(line)
		if len(fields) == 0 || fields[0] == "help" {
			continue
		}
		seen++
		got := loadline(t, time.Minute, fields[0], "--help")
		if got.code != 0 || !strings.Contains(got.stdout, "Examples:") {
			t.Errorf("%s --help: exit %d, examples: %v", fields[0], got.code, strings.Contains(got.stdout, "Examples:"))
		}
	}
	if seen < 4 {
		t.Errorf("only %d verbs in:\n%s", seen, top.stdout)
	}
}
