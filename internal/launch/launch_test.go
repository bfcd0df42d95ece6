package launch_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/loadline-dev/loadline/internal/launch"
	"github.com/loadline-dev/loadline/internal/plan"
)

const patience = 10 * time.Second

// freeAddress is a loopback address where nothing listens.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func listens(address string) bool {
	conn, err := net.DialTimeout("tcp", address, time.Second)
	if err != nil {
		return false
	}
	conn.Close()
	return true
}

// eventually polls until a condition holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.After(patience); ; {
		if holds() {
			return
		}
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("after %v still not: %s", patience, what)
		}
	}
}

// role is a service played by the test binary.
func role(name string, args ...string) launch.Spec {
	return launch.Spec{
		Self: os.Args[0],
		Service: plan.Service{
			Name: name, Command: append([]string{"loadline"}, args...), Env: []plan.Header{{Name: "LAUNCH_TEST_ROLE", Value: name}},
			Stop: plan.Stop{Signal: "TERM", Grace: 5 * time.Second},
		},
	}
}

func start(t *testing.T, spec launch.Spec) *launch.Process {
	t.Helper()
	p, err := launch.Start(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Stop(context.Background()) })
	return p
}

func fetch(t *testing.T, url string) string {
	t.Helper()
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

func TestAServiceIsReadyWhenItsURLAnswersAndItsPortIsFreeAfterStop(t *testing.T) {
	address := freeAddress(t)
	spec := role("serve", address, "50ms")
	spec.Service.Ready.URL = "http://" + address + "/ready"
	spec.Service.Env = append(spec.Service.Env, plan.Header{Name: "COLOUR", Value: "teal"})
	p := start(t, spec)
	if got := fetch(t, "http://"+address+"/env"); got != "teal" {
		t.Errorf("COLOUR is %q in the service, want teal", got)
	}
	if pgid, err := syscall.Getpgid(p.PID()); err != nil || pgid != p.PID() {
		t.Errorf("group %d (%v), want one of its own, %d", pgid, err, p.PID())
	}
	if err := p.Stop(t.Context()); err != nil {
		t.Errorf("stop: %v", err)
	}
	if listens(address) {
		t.Errorf("%s is still taken", address)
	}
	if err := p.Err(); err != nil {
		t.Errorf("a stopped service reports %v", err)
	}
	if err := p.Stop(t.Context()); err != nil {
		t.Errorf("second stop: %v", err)
	}
}

func TestAServiceIsReadyWhenItsPortAccepts(t *testing.T) {
	address := freeAddress(t)
	spec := role("serve", address)
	spec.Service.Ready.TCP = address
	start(t, spec)
	if !listens(address) {
		t.Error("ready, but nothing listens")
	}
}

func TestAServiceKeepsToItsCPUs(t *testing.T) {
	address := freeAddress(t)
	spec := role("serve", address)
	spec.Service.Ready.TCP, spec.Service.CPUs = address, "0"
	start(t, spec)
	if got := fetch(t, "http://"+address+"/cpus"); got != "0 1" {
		t.Errorf("allowed CPUs and their number: %q, want 0 and 1", got)
	}
}

func TestASlowServiceIsNotReadyInTimeAndIsNotLeftRunning(t *testing.T) {
	address := freeAddress(t)
	spec := role("serve", address, "1h")
	spec.Service.Ready = plan.Ready{TCP: address, Timeout: 80 * time.Millisecond}
	_, err := launch.Start(t.Context(), spec)
	if !errors.Is(err, launch.ErrNotReady) || !strings.Contains(err.Error(), "not within 80ms") || !strings.Contains(err.Error(), address) {
		t.Errorf("found %v", err)
	}
}

func TestAServiceThatAnswersWronglyIsNotReady(t *testing.T) {
	address := freeAddress(t)
	spec := role("serve", address)
	spec.Service.Ready = plan.Ready{URL: "http://" + address + "/broken", Timeout: time.Second}
	_, err := launch.Start(t.Context(), spec)
	if !errors.Is(err, launch.ErrNotReady) || !strings.Contains(err.Error(), "418") {
		t.Errorf("found %v", err)
	}
	if listens(address) {
		t.Error("it was left running")
	}
}

func TestAServiceThatDiesBeforeItIsReadyShowsItsLastLines(t *testing.T) {
	spec := role("grumble")
	spec.Service.Ready = plan.Ready{TCP: freeAddress(t), Timeout: patience}
	_, err := launch.Start(t.Context(), spec)
	if !errors.Is(err, launch.ErrDied) {
		t.Fatalf("found %v", err)
	}
	text := err.Error()
	if !strings.Contains(text, "exit status 3") || !strings.HasSuffix(text, "grumble 28\n  grumble 29") || strings.Contains(text, "grumble 9\n") ||
		strings.Contains(text, "to stdout") {
		t.Errorf("found %s", text)
	}
}

func TestDeathInTheMiddleIsNoticed(t *testing.T) {
	address := freeAddress(t)
	spec := role("serve", address)
	spec.Service.Ready.TCP = address
	p := start(t, spec)
	if p.Err() != nil {
		t.Errorf("alive, but Err is %v", p.Err())
	}
	if err := syscall.Kill(p.PID(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	select {
	case <-p.Done():
	case <-time.After(patience):
		t.Fatal("nobody noticed")
	}
	if err := p.Err(); !errors.Is(err, launch.ErrDied) || !strings.Contains(err.Error(), "killed") {
		t.Errorf("found %v", err)
	}
	if err := p.Stop(t.Context()); err != nil || !errors.Is(p.Err(), launch.ErrDied) {
		t.Errorf("stop after death: %v, then Err %v", err, p.Err())
	}
}

func TestATakenPortIsRefusedBeforeTheStart(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	spec := role("serve", l.Addr().String())
	spec.Service.Ready.URL = "http://" + l.Addr().String() + "/ready"
	_, err = launch.Start(t.Context(), spec)
	if !errors.Is(err, launch.ErrPortInUse) || !strings.Contains(err.Error(), l.Addr().String()) {
		t.Errorf("found %v", err)
	}
}

func TestWhatCannotBeStartedIsThePlansFault(t *testing.T) {
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "plain"), []byte("no program"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		why     string
		service plan.Service
		says    string
	}{
		{"no such program", plan.Service{Command: []string{"no-such-program-anywhere"}}, "no-such-program-anywhere"},
		{"no such path", plan.Service{Command: []string{"./missing"}, Dir: "."}, "missing"},
		{"not executable", plan.Service{Command: []string{"./plain"}, Dir: "."}, "permission denied"},
		{"no such folder", plan.Service{Command: []string{"true"}, Dir: "nowhere"}, "nowhere"},
		{"no command", plan.Service{}, "command: found nothing"},
		{"loadline without itself", plan.Service{Command: []string{"loadline"}}, "self"},
		{"no such CPU", plan.Service{Command: []string{"true"}, CPUs: "1000"}, "cpus: found 1000"},
		{"one CPU too many", plan.Service{Command: []string{"true"}, CPUs: "0,1000"}, "CPU 1000 is not among them"},
		{"unknown signal", plan.Service{Command: []string{"true"}, Stop: plan.Stop{Signal: "SIGTERM"}}, "stop.signal"},
		{"log in no folder", plan.Service{Command: []string{"true"}, Log: "nowhere/log"}, "log:"},
	} {
		t.Run(c.why, func(t *testing.T) {
			c.service.Name = "wrong"
			_, err := launch.Start(t.Context(), launch.Spec{Service: c.service, Folder: folder})
			if !errors.Is(err, launch.ErrCommand) || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), "service wrong") {
				t.Errorf("found %v, want ErrCommand and %q", err, c.says)
			}
		})
	}
}

func TestAStubbornServiceIsKilledAfterItsGrace(t *testing.T) {
	address := freeAddress(t)
	spec := role("stubborn", address)
	spec.Service.Ready.TCP, spec.Service.Stop.Grace = address, 50*time.Millisecond
	p := start(t, spec)
	if err := p.Stop(t.Context()); !errors.Is(err, launch.ErrKilled) {
		t.Errorf("stop: found %v, want ErrKilled", err)
	}
	if listens(address) {
		t.Error("it is still there")
	}
}

func TestAnEndedContextCutsTheGraceShort(t *testing.T) {
	address := freeAddress(t)
	spec := role("stubborn", address)
	spec.Service.Ready.TCP, spec.Service.Stop.Grace = address, time.Hour
	p := start(t, spec)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.Stop(ctx); !errors.Is(err, launch.ErrKilled) || !errors.Is(err, context.Canceled) {
		t.Errorf("stop: found %v", err)
	}
}

func TestTheWholeGroupEndsWithItsLeader(t *testing.T) {
	for _, end := range []string{"stop", "death"} {
		t.Run(end, func(t *testing.T) {
			address := freeAddress(t)
			spec := role("parent", address)
			spec.Service.Ready.TCP, spec.Service.Stop.Grace = address, 50*time.Millisecond
			p := start(t, spec)
			var want error
			if end == "stop" {
				want = launch.ErrKilled // The child in the group ignores the signal.
			}
			if end == "death" {
				if err := syscall.Kill(p.PID(), syscall.SIGKILL); err != nil {
					t.Fatal(err)
				}
				<-p.Done()
			}
			if err := p.Stop(t.Context()); !errors.Is(err, want) {
				t.Errorf("stop: found %v, want %v", err, want)
			}
			if listens(address) {
				t.Error("the leader's child still listens")
			}
		})
	}
}

func TestACancelledStartLeavesNothing(t *testing.T) {
	address := freeAddress(t)
	spec := role("serve", address, "1h")
	spec.Service.Ready.TCP = address
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := launch.Start(ctx, spec); !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, launch.ErrNotReady) {
		t.Errorf("found %v", err)
	}
}

func TestTheLogHoldsAllOutput(t *testing.T) {
	folder := t.TempDir()
	spec := role("grumble")
	spec.Folder, spec.Service.Log = folder, "service.log"
	p := start(t, spec)
	<-p.Done()
	if err := p.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	data, err := os.ReadFile(filepath.Join(folder, "service.log"))
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Count(string(data), "\n"); got != 31 || !strings.Contains(string(data), "to stdout\n") {
		t.Errorf("%d lines, want 31 with stdout's:\n%s", got, data)
	}
}

// loadline plays Loadline itself: it starts a service with a child of its own, says so, and hangs.
func loadline() {
	spec := role("parent", os.Args[1])
	spec.Service.Ready.TCP = os.Args[1]
	p, err := launch.Start(context.Background(), spec)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println("up", p.PID())
	select {}
}

func TestNothingOutlivesAKilledLoadline(t *testing.T) {
	address := freeAddress(t)
	cmd := exec.Command(os.Args[0], address)
	cmd.Env = append(os.Environ(), "LAUNCH_TEST_ROLE=loadline")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || !strings.HasPrefix(line, "up ") || !listens(address) {
		t.Fatalf("%q, %v", line, err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	eventually(t, "the service's child is gone", func() bool { return !listens(address) })
}

func TestLastLinesCannotSteerATerminal(t *testing.T) {
	for _, c := range []struct{ why, script, want string }{
		{"colours go", `printf 'a \033[1;31mERROR\033[0m b\n' >&2; exit 1`, "a ERROR b"},
		{"a title and a cleared screen go", `printf '\033]0;owned\007\033[2Jx\033(B\n' >&2; exit 1`, "x"},
		{"bytes that are no text are marked", `printf 'a\377\000\010b\n' >&2; exit 1`, "a\ufffd\ufffd\ufffdb"},
		{"Windows line ends go, tabs are spaces", `printf 'a\tb\r\n' >&2; exit 1`, "a b"},
	} {
		t.Run(c.why, func(t *testing.T) {
			spec := launch.Spec{Service: plan.Service{Name: "loud", Command: []string{"sh", "-c", c.script}, Ready: plan.Ready{TCP: freeAddress(t), Timeout: patience}}}
			_, err := launch.Start(t.Context(), spec)
			var told *launch.Error
			if !errors.As(err, &told) || len(told.Tail) != 1 || told.Tail[0] != c.want {
				t.Errorf("found %q, want the line %q", err, c.want)
			}
		})
	}
}

func TestAServiceThatGoesIntoTheBackgroundIsToldToStay(t *testing.T) {
	spec := launch.Spec{Service: plan.Service{Name: "daemon", Command: []string{"true"}, Ready: plan.Ready{TCP: freeAddress(t), Timeout: patience}}}
	_, err := launch.Start(t.Context(), spec)
	var told *launch.Error
	if !errors.As(err, &told) {
		t.Fatalf("found %v", err)
	}
	if !errors.Is(told, launch.ErrDied) || !strings.Contains(told.Hint(), "foreground") {
		t.Errorf("found %v, advice %q", told, told.Hint())
	}
}
